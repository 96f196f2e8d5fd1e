// Model calls into WebAssembly (web/host/model_calls.ts): results are read from memory correctly, also after it has grown.
import { AutoModel, pipeline } from 'wattn';
import { expectError, madeMemories, tiny } from './support.js';

const made = madeMemories();
const long = 'the small boat '.repeat(6000);

describe.each([1, 2])('a model with %d threads', (threads) => {
  it('answers the same after its memory has grown, in results of their own', async () => {
    const embed = await pipeline('feature-extraction', tiny, { threads });
    const memory = made.at(-1) as WebAssembly.Memory;
    const texts = ['a small boat', '', 'Brücke 橋 🚢'];
    const first = await embed(texts, { pooling: 'mean' });
    const kept = first.tolist();
    memory.grow(1);
    const again = await embed(texts, { pooling: 'mean' });
    expect(again.tolist()).toEqual(kept);
    expect([again.tokens, again.truncated, again.unknown]).toEqual([first.tokens, first.truncated, first.unknown]);
    const before = memory.buffer.byteLength;
    // Texts that fit into the room, and an answer that does not fit into the memory.
    const one = (await embed('!!!!', { pooling: 'none' })).data;
    const { data } = await embed(new Array(4096).fill('!!!!'), { pooling: 'none' });
    expect(memory.buffer.byteLength).toBeGreaterThan(before);
    expect(data.length).toBe(4096 * one.length);
    for (let at = 0; at < data.length; at += 400 * one.length) expect(data.slice(at, at + one.length)).toEqual(one);
    expect(data.slice(-one.length)).toEqual(one);
    const many = await embed(
      Array.from({ length: 400 }, (_, i) => `${long.slice(0, 900)} ${i}`),
      { pooling: 'mean' },
    );
    expect(many.dims[0]).toBe(400);
    expect(first.tolist()).toEqual(kept);
    expect(first.data.buffer.byteLength).toBe(first.data.byteLength);
    expect(Object.prototype.toString.call(first.data.buffer)).toBe('[object ArrayBuffer]');
    expect((await embed(texts, { pooling: 'mean' })).tolist()).toEqual(kept);
    await embed.dispose();
    await expectError(embed('a'), 'StateError', /this model was disposed/);
  });
});

describe('embed', () => {
  it('reads the options of each call, and none of one that was refused', async () => {
    const embed = await pipeline('feature-extraction', tiny);
    const own = (await embed('a small boat')).tolist();
    const cls = (await embed('a small boat', { pooling: 'cls' })).tolist();
    expect(cls).not.toEqual(own);
    await expectError(embed('a small boat', { prompt_name: 'none such' }), 'InputError', /none such/);
    expect((await embed('a small boat', { pooling: 'cls' })).tolist()).toEqual(cls);
    expect((await embed('a small boat')).tolist()).toEqual(own);
    await expectError(embed('a small boat', { prompt_name: 'none such' }), 'InputError', /none such/);
    await embed.dispose();
  });

  it.each([false, true])('names a text by its index in the list, beyond the first job (in a worker: %p)', async (worker) => {
    const embed = await pipeline('feature-extraction', tiny, { worker });
    const texts = Array.from({ length: 5000 }, () => 'a');
    texts[4500] = long;
    await expectError(embed(texts, { on_overflow: 'error' }), 'InputError', /text 4500\b/);
    await embed.dispose();
  });
});

describe('a forward pass', () => {
  it.each([1, 2])('answers the same after its memory has grown, with %d threads', async (threads) => {
    const model = await AutoModel.from_pretrained(tiny, { threads });
    const memory = made.at(-1) as WebAssembly.Memory;
    const seen = async (ids: number[]) => {
      const { last_hidden_state, attentions } = (await model({ input_ids: [ids] } as any, { output_attentions: true })) as any;
      return [last_hidden_state, ...attentions].map((tensor) => Array.from(tensor.data as Float32Array));
    };
    const ids = Array.from({ length: 40 }, (_, i) => 5 + (i % 20));
    const first = await seen(ids);
    memory.grow(1);
    expect(await seen(ids)).toEqual(first);
    await model.dispose();
  });
});
