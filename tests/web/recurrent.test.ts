// A decoder whose layers have a recurrent state (Qwen3.5): generation, scores, embeddings, and what its state does not allow.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModelForCausalLM, pipeline } from 'wattn';
import { Trainer } from 'wattn/train';
import { changed, floats } from './safetensors.js';
import { expectError, filesOf, goldens, readJson } from './support.js';

const folder = join(goldens, 'variants/decoders/qwen3-5');
const prompts = ['the river', 'a', 'The old boat waits, and 42 birds sing in the cold morning. It is late now.', 'the river'];
const kShort = { max_new_tokens: 12, return_full_text: false } as const;
const load = (options = {}) => pipeline('text-generation', folder, { threads: 1, ...options });
const tokensOf = (rows: any): number[][] =>
  rows.map((row: any) => (Array.isArray(row) ? row : [row]).map((one: any) => one.tokens));

describe('a decoder with a recurrent state', () => {
  it('generates the tokens of Python, greedily and with beams', async () => {
    const model = await AutoModelForCausalLM.from_pretrained(folder, { dtype: 'f32' });
    const { searches } = readJson('variants/decoders/qwen3-5/expected.json');
    for (const { input_ids, options, tokens } of searches) {
      const made = await model.generate({ input_ids: [input_ids], max_new_tokens: 24, ...options });
      expect([...made.data].map(Number).slice(input_ids.length)).toEqual(tokens[0]);
    }
    await model.dispose();
  });

  it.each(['groups', 'mtp', 'wide'])("reads llama.cpp's file '%s'", async (name) => {
    const { prompts: ids, runs, decoders } = readJson('gguf-gated-delta/expected.json');
    const model = await AutoModelForCausalLM.from_pretrained(join(goldens, `gguf-gated-delta/${name}.gguf`));
    for (const [i, prompt] of ids.entries()) {
      const made = await model.generate({ input_ids: [prompt], ...runs.greedy, eos_token_id: 1, pad_token_id: 0 });
      expect([...made.data].map(Number).slice(prompt.length)).toEqual(decoders[name].greedy[i]);
    }
    await model.dispose();
  });

  it.each(['f32', 'f16', 'q16', 'q8', 'q4'] as const)(
    'in %s generates the same alone, in a batch and in a worker',
    async (dtype) => {
      const generate = await load({ dtype });
      const away = await load({ dtype, worker: true });
      for (const options of [{}, { num_beams: 3, num_return_sequences: 2 }]) {
        const together = tokensOf(await generate(prompts, { ...kShort, ...options }));
        for (const [i, prompt] of prompts.entries())
          expect(tokensOf(await generate([prompt], { ...kShort, ...options }))).toEqual([together[i]]);
        expect(tokensOf(await away(prompts, { ...kShort, ...options }))).toEqual(together);
      }
      await generate.dispose();
      await away.dispose();
    },
  );

  it('generates the same where tokens are proposed, constrained or drafted, and in the second turn of a chat', async () => {
    const generate = await load();
    const small = await load({ prefix_cache_bytes: 0 });
    const [plain] = tokensOf(await generate([prompts[2]!], kShort));
    for (const options of [{ prompt_lookup_num_tokens: 4 }, { assistant_model: small }])
      expect(tokensOf(await generate([prompts[2]!], { ...kShort, ...options }))).toEqual([plain]);
    const [first] = await generate('the river', kShort);
    const longer = `the river${first.generated_text} and`;
    const [again] = await generate(longer, kShort);
    expect(again.cached_tokens).toBe(first.prompt_tokens + first.tokens.length - 1);
    const [anew] = await small(longer, kShort);
    expect(anew.cached_tokens).toBe(0);
    expect(again.tokens).toEqual(anew.tokens);
    // The same prompt with another answer: from states before its end. One that differs earlier is read again.
    const prompt = 'a bird sings and the old boat waits for us in the cold morning';
    const [whole] = await generate(prompt, kShort);
    const [same] = await generate(prompt, { ...kShort, do_sample: true, seed: 3 });
    expect([same.cached_tokens, same.cached_tokens! % 32]).toEqual([Math.floor((whole.prompt_tokens - 8) / 32) * 32, 0]);
    expect(same.cached_tokens).toBeGreaterThan(0);
    expect((await generate(`the${prompt}`, kShort))[0].cached_tokens).toBe(0);
    const [chosen] = await generate('the river', {
      ...kShort,
      response_format: { type: 'regex', regex: 'ab+(cd|ef)' },
      max_new_tokens: 8,
    });
    expect(chosen.generated_text).toMatch(/^ab+((cd|ef)$|$|c$|e$)/);
    await generate.dispose();
    await small.dispose();
  });

  it('scores several texts after one prompt as it scores each alone', async () => {
    const generate = await load();
    const texts = [' boat', ' and the old birds', ' b'];
    const together = await generate.score('the river', texts);
    expect(generate.info().prefixes!.reused).toBeGreaterThan(0);
    for (const [i, text] of texts.entries()) expect(await generate.score('the river', [text])).toEqual([together[i]]);
    await generate.dispose();
  });

  it('continues from a saved prefix with the same bits', async () => {
    const [generate, other] = [await load(), await load()];
    const prompt = 'the old boat waits below the bridge';
    const bytes = await generate.save_prefix(prompt);
    const { tokens } = await other.load_prefix(bytes);
    const [made] = await other(`${prompt} and`, kShort);
    expect(made.cached_tokens).toBe(tokens);
    expect(made.tokens).toEqual((await generate(`${prompt} and`, kShort))[0].tokens);
    const damaged = Uint8Array.from(bytes);
    damaged[damaged.length - 100]! ^= 1;
    await expectError(other.load_prefix(damaged), 'ModelFormatError', /SHA-256/);
    await generate.dispose();
    await other.dispose();
  });

  it('computes the same embeddings alone and in a batch', async () => {
    const embed = await pipeline('feature-extraction', folder, { threads: 1 });
    const options = { pooling: 'mean', normalize: true } as const;
    const together = (await embed(prompts, options)).tolist();
    for (const [i, prompt] of prompts.entries()) expect((await embed([prompt], options)).tolist()).toEqual([together[i]]);
    await embed.dispose();
  });

  it('ignores the layers that predict several tokens', async () => {
    const files = filesOf(folder);
    const weights = changed(readFileSync(join(folder, 'model.safetensors')), (tensors) => {
      for (const name of ['mtp.fc.weight', 'mtp.layers.0.self_attn.q_proj.weight'])
        tensors.set(
          name,
          floats([2, 3], () => 1),
        );
    });
    const plain = await load();
    const more = await pipeline('text-generation', files.set('model.safetensors', weights), { threads: 1 });
    expect(tokensOf(await more(prompts, kShort))).toEqual(tokensOf(await plain(prompts, kShort)));
    await plain.dispose();
    await more.dispose();
  });

  it('refuses what its state does not allow, by name', async () => {
    const trainer = await Trainer.from_pretrained(folder, { task: 'text-generation', method: 'lora' });
    const trained = trainer.fit([{ text: 'the river' }]).then();
    await expectError(trained, 'UnsupportedError', /method: expected 'head'.*Gated DeltaNet/);
    await trainer.dispose();
  });
});
