// Decoders and encoder-decoders in the tasks of encoders: embeddings, heads, bare models. The expected numbers come from sentence-transformers and
// transformers; the native tests have derived bounds for every tensor.
import { join } from 'node:path';
import { AutoModel, AutoModelForSequenceClassification, describeModel, pipeline, type EmbedOptions } from 'wattn';
import { expectError, expectNear, goldens, readJson } from './support.js';

const folder = (name: string) => join(goldens, name);

describe.each(['qwen3', 'sentence-t5', 'embeddinggemma'])('embeddings of %s', (name) => {
  const { texts, cases } = readJson('embedders', name, 'expected.json');

  it('equal those of sentence-transformers, texts together as alone', async () => {
    const embed = await pipeline('feature-extraction', folder(`embedders/${name}/model`));
    for (const { how, options, vectors, shape, f32_diff } of cases) {
      // normalize_embeddings: false, Python's default, leaves the repository's own Normalize on.
      const { normalize_embeddings: _default, ...given } = options;
      const call = { encode: embed, encode_query: embed.encode_query, encode_document: embed.encode_document }[how as 'encode'];
      const out = await call(texts, given as EmbedOptions);
      expect(out.dims).toEqual(shape);
      expectNear(out.data, vectors, 8 * Math.max(f32_diff, 2 ** -23));
      if (how !== 'encode' || Object.keys(options).length > 0) continue;
      for (const i of [0, 3, texts.length - 1]) expect((await embed(texts[i])).data).toEqual(out.get(i).data);
    }
    await embed.dispose();
  });
});

describe('heads of decoders and encoder-decoders', () => {
  it.each(['bart-sequence', 'qwen3-sequence', 'llama-sequence'])('%s classifies as transformers does', async (name) => {
    const { logits } = readJson('decoder-heads', name, 'expected.json');
    const classify = await pipeline('text-classification', folder(`decoder-heads/${name}`));
    const { id2label } = readJson('decoder-heads', name, 'config.json');
    for (const { texts, logits: expected, f32_diff } of logits.filter((one: any) => one.texts?.length === 1)) {
      const [scores] = await classify(texts as string[], { top_k: null, function_to_apply: 'none' });
      const got = (expected as number[]).map(
        (_, i) => scores?.find(({ label }) => label === (id2label?.[i] ?? `LABEL_${i}`))?.score as number,
      );
      expectNear(got, expected, 8 * Math.max(f32_diff, 2 ** -23) * Math.max(1, ...expected.map(Math.abs)));
    }
    await classify.dispose();
  });

  it.each(['bart-sequence', 'qwen3-sequence'])('%s gives AutoModelForSequenceClassification its logits', async (name) => {
    const model = await AutoModelForSequenceClassification.from_pretrained(folder(`decoder-heads/${name}`));
    for (const { texts, input_ids, logits, f32_diff } of readJson('decoder-heads', name, 'expected.json').logits) {
      if (texts?.length !== 1 || input_ids.length > 130) continue;
      const out = await model({ input_ids: [input_ids] });
      expect(out.logits?.dims).toEqual([1, logits.length]);
      expectNear(out.logits!.data, logits, 8 * Math.max(f32_diff, 2 ** -23) * Math.max(1, ...logits.map(Math.abs)));
    }
    await model.dispose();
  });
});

describe('AutoModel of a decoder', () => {
  it('shows grouped heads, and rows behind padding with the bits they have in any batch', async () => {
    const model = await AutoModel.from_pretrained(folder('embedders/qwen3/model'));
    const { num_attention_heads: heads, num_key_value_heads: groups, head_dim, kind, head } = model.info();
    expect([kind, head]).toEqual(['decoder', 'none']);
    expect(groups).toBeLessThan(heads);
    const ids = [3, 1, 4, 1, 5, 9];
    const both = await model({ input_ids: [ids, [...ids.slice(0, 4), 0, 0]], attention_mask: [Array(6).fill(1), [1, 1, 1, 1, 0, 0]] }, { output_qkv: true }); // prettier-ignore
    expect(both.queries?.[0]?.dims).toEqual([2, heads, 6, head_dim]);
    expect(both.keys?.[0]?.dims).toEqual([2, groups, 6, head_dim]);
    const alone = await model({ input_ids: [ids.slice(0, 4)] });
    const hidden = both.last_hidden_state.dims[2] as number;
    expect(both.last_hidden_state.data.slice(6 * hidden, 10 * hidden)).toEqual(alone.last_hidden_state.data);
    await model.dispose();
  });
});

describe('describeModel', () => {
  it('says what a model is from its files, without its weights', async () => {
    expect(await describeModel()).toMatchObject({ model_type: 'bert', kind: 'encoder' });
    expect(await describeModel(folder('long/decoders/llama'))).toEqual({
      model_type: 'llama',
      kind: 'decoder',
      heads: ['causal_lm'], // as config.json's `architectures` says
    });
    const config = new Map([['config.json', new TextEncoder().encode('{"model_type": "t5", "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2, "vocab_size": 9}')]]); // prettier-ignore
    expect(await describeModel(config)).toMatchObject({ model_type: 't5', kind: 'encoder-decoder' });
    await expectError(describeModel(new Map([['config.json', new TextEncoder().encode('{"model_type": "squid"}')]])), 'UnsupportedError', /found "squid"/); // prettier-ignore
  });
});
