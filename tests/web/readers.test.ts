// Files that once caused an untyped error, a hang or gigabytes of memory, found by tests/fuzz/readers_fuzz.ts.
import { join } from 'node:path';
import { AutoTokenizer, Classifier, packModel, pipeline, WordVectors } from 'wattn';
import { readAdapter } from '../../web/source/peft.js';
import { openRetrieval } from '../../web/source/retrieval_files.js';
import { bytesSource } from '../../web/source/bytes_source.js';
import { Progress } from '../../web/source/model_files.js';
import { edited, failure, filesOf, goldens, tinyFiles } from './support.js';

const deep = '['.repeat(100_000) + ']'.repeat(100_000);
const bytes = (text: string) => new TextEncoder().encode(text);

const adapter = (change: Record<string, unknown> | string) => {
  const files = filesOf(join(goldens, 'peft/bert'));
  const config = JSON.parse(new TextDecoder().decode(files.get('adapter_config.json')));
  const text = typeof change === 'string' ? change : JSON.stringify({ ...config, ...change });
  return () => readAdapter([['adapter_config.json', bytes(text)], ['adapter_model.safetensors', files.get('adapter_model.safetensors') as Uint8Array]]); // prettier-ignore
};
const modules = (text: string) => () => {
  const source = bytesSource([['modules.json', bytes(text)]]);
  return openRetrieval(source, new Progress(source, undefined), new AbortController().signal, true);
};

const kCases: Record<string, () => unknown> = {
  'a configuration of 100,000 levels': () => AutoTokenizer.from_pretrained(tinyFiles({ 'tokenizer_config.json': deep })),
  'an adapter of 100,000 levels': adapter(`{"peft_type":${deep}}`),
  'a folder that is no expression': adapter({
    target_modules: ['query', 'value'],
    layers_to_transform: [0],
    layers_pattern: ['['],
  }),
  'a classifier of 100,000 levels': () => Classifier.load((() => []) as never, { 'classifier.json': bytes(`{"kind":${deep}}`), 'classifier.safetensors': bytes('x') }), // prettier-ignore
  'a module that is packed, and none': () => packModel(tinyFiles({ 'modules.json': '[null]' }), { dtype: 'q8' }),
  'an id that is packed, and none': () => packModel(tinyFiles({ 'tokenizer.json': edited('tokenizer.json', { added_tokens: [{ id: -1, content: '[X]', special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }] }) }), { dtype: 'q8' }), // prettier-ignore
  ...Object.fromEntries(
    [
      { model: null },
      { model: { type: 'WordPiece', vocab: null } },
      { model: { vocab: [null] } },
      { added_tokens: [null] },
      { post_processor: { type: 'Sequence' } },
      { pre_tokenizer: 3 },
      {
        normalizer: {
          type: 'BertNormalizer',
          clean_text: true,
          handle_chinese_chars: true,
          strip_accents: { content: [] },
          lowercase: true,
        },
      },
    ].map(
      (change) => [`a tokenizer that is packed with ${JSON.stringify(change)}`, () => packModel(tinyFiles({ 'tokenizer.json': edited('tokenizer.json', change) }), { dtype: 'q8' })], // prettier-ignore
    ),
  ),
  'word vectors with more numbers than characters': () => WordVectors.load('1 999999999999\na 1\n'),
  'word vectors of gigabytes': () => WordVectors.load('3 100000000\na 1\nb 1\nc 1\n'),
};

describe('a reader', () => {
  it.each(Object.keys(kCases))('ends with a typed error: %s', async (name) => {
    const error = await failure(async () => (kCases[name] as () => unknown)());
    expect([name, error, error.message]).toEqual([name, expect.objectContaining({ code: expect.stringMatching(/^(model_format|unsupported|input)$/) }), error.message]); // prettier-ignore
  });

  it('takes folders of modules whose type is 100,000 levels deep for none', async () => {
    await modules(`[{"type":${deep},"path":""}]`)();
  });
});

it("reads Python's NaN and Infinity, and refuses them where it needs a number", async () => {
  const load = async (change: string) => {
    const text = new TextDecoder().decode(tinyFiles().get('config.json') as Uint8Array);
    const embed = await pipeline('feature-extraction', tinyFiles({ 'config.json': text.replace('{', `{ ${change},`) }));
    return (await embed('the river')).tolist();
  };
  expect(await load('"time_step_limit": [0.0, Infinity, -Infinity, NaN]')).toEqual(await load('"time_step_limit": null'));
  const config = edited('config.json', { layer_norm_eps: 'eps' }).replace('"eps"', 'Infinity');
  const said = await failure(() => pipeline('feature-extraction', tinyFiles({ 'config.json': config })));
  expect(said).toMatchObject({
    name: 'ModelFormatError',
    message: expect.stringMatching(/layer_norm_eps: expected a number.*found Infinity/),
  });
});
