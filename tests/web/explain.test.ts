// pipe.explain() and `wattn doctor`: how a pipeline reads a text.
import { join } from 'node:path';
import { pipeline, type ExplainedText } from 'wattn';
import { linesOf, wattn } from './cli_support.js';
import { expectError, goldens, headFiles } from './support.js';

const tiny = join(goldens, 'bert-tiny/model');
const kText = 'the cat sat';

describe('explain', () => {
  it('gives the tokens that the model reads, and where they are', async () => {
    const embed = await pipeline('feature-extraction', tiny);
    const found = await embed.explain(kText);
    expect(found.tokens.map(({ id }) => id)).toEqual(embed.tokenizer.encode(kText));
    expect(found.tokens.map(({ token }) => token)).toEqual(embed.tokenizer.convert_ids_to_tokens(embed.tokenizer.encode(kText)));
    const own = found.tokens.filter(({ part }) => part === 'text');
    expect(found.tokens.map(({ part }) => part)).toEqual(['special', ...own.map(() => 'text'), 'special']);
    expect(own[0]).toMatchObject({ start: 0 });
    expect(own.at(-1)).toMatchObject({ end: kText.length });
    expect(found).toMatchObject({ task: 'feature-extraction', left_out: '', prompt: '', dtype: 'f32' });
    expect(found.tokens_untruncated).toBe(found.tokens.length);
    expect(found.tokenizer).toEqual(embed.tokenizer.info());
    await embed.dispose();
  });

  it('says what is cut off, unknown or special, and nothing else', async () => {
    const embed = await pipeline('feature-extraction', tiny);
    const notesOf = async (text: string, options = {}) => (await embed.explain(text, options)).notes;
    const usual = await notesOf(kText);
    const more = async (text: string, options = {}) => (await notesOf(text, options)).filter((note) => !usual.includes(note));
    expect(await more('cat sat')).toEqual([]);
    const cut = await embed.explain('the cat sat on the mat', { max_length: 5 });
    expect(cut.tokens.length).toBe(5);
    expect('the cat sat on the mat'.endsWith(cut.left_out)).toBe(true);
    expect(cut.left_out.length).toBeGreaterThan(0);
    expect(cut.notes[0]).toMatch(
      new RegExp(`has ${cut.tokens_untruncated} tokens, and the model reads 5: its last ${cut.left_out.length} characters`),
    );
    const unknown = await embed.explain('the \u{1f40d}');
    expect(unknown.unknown).toBeGreaterThan(0);
    expect(unknown.tokens.filter((token) => token.unknown).length).toBe(1);
    expect(unknown.notes.some((note) => /% of the tokens are unknown/.test(note))).toBe(true);
    expect(unknown.notes.some((note) => /special tokens/.test(note))).toBe(false);
    expect(await more('')).toEqual([expect.stringMatching(/^The text is empty/)]);
    expect(await more('the [SEP] cat')).toEqual([expect.stringMatching(/^The text holds \[SEP\]/)]);
    expect(await more('the [SEP] cat', { split_special_tokens: true })).not.toContainEqual(expect.stringMatching(/holds/));
    await embed.dispose();
  });

  it('puts the prompt before the text, in its own part', async () => {
    const files = { 'config_sentence_transformers.json': JSON.stringify({ prompts: { query: 'the ', document: '' } }) };
    const { readFileSync } = await import('node:fs');
    const own = [
      'config.json',
      'tokenizer.json',
      'tokenizer_config.json',
      'model.safetensors',
      'modules.json',
      '1_Pooling/config.json',
    ];
    const read = own.flatMap((name) => {
      try {
        return [[name, readFileSync(join(tiny, name))] as const];
      } catch {
        return [];
      }
    });
    const encoder = new TextEncoder();
    const model = {
      ...Object.fromEntries(read),
      ...Object.fromEntries(Object.entries(files).map(([name, text]) => [name, encoder.encode(text)])),
    };
    const embed = await pipeline('feature-extraction', model);
    const without = await embed.explain('cat');
    expect(without.notes).toContainEqual(expect.stringMatching(/trained with prompts \(query\)/));
    const found = await embed.explain('cat', { prompt_name: 'query' });
    expect(found.prompt).toBe('the ');
    expect(found.tokens.find(({ part }) => part === 'prompt')).toMatchObject({ token: 'the', start: 0, end: 3 });
    expect(found.tokens.find(({ part }) => part === 'text')).toMatchObject({ start: 0 });
    await expectError(
      embed.explain('cat', { prompt_name: 'other' }),
      'InputError',
      /expected one of document, query, found 'other'/,
    );
    await expectError(embed.explain('cat', { prompt_name: 'query', prompt: 'x' }), 'InputError', /found both/);
    await embed.dispose();
  });

  it('is the same from a worker, and is there for other tasks', async () => {
    const explained = async (options: object): Promise<ExplainedText> => {
      const embed = await pipeline('feature-extraction', tiny, options);
      const found = await embed.explain(kText);
      await embed.dispose();
      return found;
    };
    expect(await explained({ worker: true })).toEqual(await explained({}));
    expect((await explained({ dtype: 'q8' })).notes).toContainEqual(expect.stringMatching(/^Weights are held in q8/));
    const classify = await pipeline('text-classification', headFiles('sequence'));
    const pair = await classify.explain(kText, { text_pair: 'the mat' });
    expect(new Set(pair.tokens.map(({ part }) => part))).toEqual(new Set(['special', 'text', 'text_pair']));
    expect(pair).toMatchObject({ pooling: null, normalize: null, python: "pipeline('text-classification', 'MODEL')(text)" });
    await expectError(classify.explain(kText, { prompt: 'x' }), 'InputError', /expected 'feature-extraction'/);
    await expectError(classify.explain(5 as never), 'InputError', /explain: expected a text, found 5/);
    await expectError(classify.explain(kText, { lenght: 5 } as never), 'InputError', /unknown option 'lenght'/);
    await classify.dispose();
  });
});

describe('wattn doctor', () => {
  it('shows the machine, the model, the text and what may surprise', async () => {
    const { out, code } = await wattn(['doctor', '--model', tiny, kText]);
    expect(code).toBe(0);
    for (const line of [
      /^wattn +\d+\.\d+\.\d+, build /m,
      /^model .*bert, /m,
      /^read as .*\[CLS\] the /m,
      /^ok +all numbers are finite: yes$/m,
    ])
      expect(out).toMatch(line);
    expect(out).not.toMatch(/WRONG/);
  });

  it('writes JSON, for the task that the files are for', async () => {
    const [all] = linesOf(await wattn(['doctor', '--model', tiny, '--json', kText]));
    expect(all).toMatchObject({ text: kText, explained: { task: 'feature-extraction' }, checks: [{ ok: true }, { ok: true }] });
    const [decoder] = linesOf(await wattn(['doctor', '--model', join(goldens, 'decoders/llama'), '--json', 'a']));
    expect(decoder).toMatchObject({ explained: { task: 'text-generation' }, checks: [{ ok: true }] });
    const [held] = linesOf(await wattn(['doctor', '--model', tiny, '--json', '--dtype', 'q8', '--threads', '1', kText]));
    expect(held).toMatchObject({
      info: { dtype: 'q8', threads: 1 },
      notes: expect.arrayContaining([expect.stringMatching(/^Weights are held in q8/)]),
    });
    for (const [set, task] of [
      ['spans', 'zero-shot-ner'],
      ['schemas', 'zero-shot-ner'],
      ['labels', 'zero-shot-classification'],
    ] as const) {
      const [labelled] = linesOf(await wattn(['doctor', '--model', join(goldens, set, 'bert'), '--json', kText]));
      expect(labelled).toMatchObject({ explained: { task }, checks: [{ ok: true }] });
    }
    const asked = ['doctor', '--model', join(goldens, 'schemas/bert'), '--task', 'information-extraction', '--json', kText];
    expect(linesOf(await wattn(asked))[0]).toMatchObject({ explained: { task: 'information-extraction' }, checks: [{ ok: true }] });
    const bad = await wattn(['doctor', '--model', tiny, '--task', 'nope']);
    expect([bad.code, bad.error]).toEqual([2, expect.stringMatching(/--task: expected one of feature-extraction, /)]);
    expect((await wattn(['doctor', 'one', 'two'])).error).toMatch(/expected one text, also found 'two'/);
  });
});
