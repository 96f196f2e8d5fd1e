// Cross-encoders as sentence-transformers 6 saves them, from tests/goldens/rerankers: decoders with LogitScore, chat templates, activations.
import { pipeline, type RankedDocument, type TextRankingOptions } from 'wattn';
import { expectError, filesOf, goldens, readJson, type Files } from './support.js';

interface Call {
  options: TextRankingOptions;
  f32_diff: number;
  ranked: [id: number, score: number][];
}

const { query, documents, cases, plain, activations } = readJson('rerankers/expected.json');
const encoded = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const kScore = '1_LogitScore/config.json';
const kSettings = 'config_sentence_transformers.json';
const kTransformer = 'sentence_bert_config.json';

const folder = (model: string): Files => filesOf(`${goldens}/rerankers/${model}`);
const saved = ({ model, files }: any, change: Record<string, object | string | null> = {}): Files => {
  const out = folder(model);
  for (const [name, value] of Object.entries(files)) out.set(name, encoded(value));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) out.delete(name);
    else out.set(name, encoded(typeof value === 'string' || Array.isArray(value) ? value : { ...files[name], ...value }));
  }
  return out;
};
const ofName = (name: string) => cases.find((one: any) => one.name === name);
const load = (files: Files, options = {}) => pipeline('text-ranking', files, { threads: 1, ...options });

/** The same scores, and the same order but for documents whose scores are one. */
function expectRanked(got: RankedDocument[], { ranked, f32_diff }: Call): void {
  const scores = new Map(ranked);
  const most = Math.max(...ranked.map(([, score]) => Math.abs(score)));
  const bound = 4 * Math.max(f32_diff, most * 2 ** -23);
  expect(got.map(({ corpus_id }) => corpus_id).sort()).toEqual([...scores.keys()].sort());
  got.forEach(({ corpus_id, score }, i) => {
    expect(Math.abs(score - (scores.get(corpus_id) as number))).toBeLessThanOrEqual(bound);
    expect(Math.abs(score - (ranked[i] as [number, number])[1])).toBeLessThanOrEqual(bound);
  });
}

describe('text-ranking', () => {
  it.each(cases.map((one: any) => one.name) as string[])("ranks as sentence-transformers' CrossEncoder: %s", async (name) => {
    const one = ofName(name);
    const rank = await load(saved(one));
    for (const call of one.calls as Call[]) expectRanked(await rank(query, documents, call.options), call);
    await rank.dispose();
  });

  it('has the same bits alone, in a batch, with threads and in workers', async () => {
    for (const name of ['flat', 'pairs', 'cut, the end is kept', 'a cap on logits']) {
      const files = saved(ofName(name));
      const rank = await load(files);
      const all = new Map((await rank(query, documents)).map(({ corpus_id, ...rest }) => [corpus_id, rest]));
      for (const [i, document] of documents.entries()) {
        const [{ corpus_id: _, ...alone }] = (await rank(query, [document])) as [RankedDocument];
        expect(alone).toEqual(all.get(i));
      }
      for (const options of [{ threads: 2 }, { worker: true }]) {
        const other = await load(files, options);
        expect(new Map((await other(query, documents)).map(({ corpus_id, ...rest }) => [corpus_id, rest]))).toEqual(all);
        await other.dispose();
      }
      await rank.dispose();
    }
  });

  it("keeps a template's end where a text is cut, and says that it was", async () => {
    const rank = await load(saved(ofName('cut, the end is kept')));
    const cut = (await rank(query, documents)).filter(({ truncated }) => truncated).map(({ corpus_id }) => corpus_id);
    expect(cut.sort()).toEqual([4, 5, 6]);
    await expectError(rank(query, documents, { on_overflow: 'error' }), 'InputError', /text 4: expected at most 150 tokens, found/);
    const other = await load(saved(ofName('flat')));
    const shorter = await other(query, documents, { max_length: 150 });
    expect(shorter).toEqual(await rank(query, documents));
    await Promise.all([rank, other].map((one) => one.dispose()));
  });

  it('reads a decoder that nobody saved as a cross-encoder by the options that name its tokens and template', async () => {
    const rank = await load(folder('qwen3'));
    const own = { true_token: 'yes', false_token: 'no', chat_template: plain.template };
    for (const call of plain.calls as Call[]) expectRanked(await rank(query, documents, { ...own, ...call.options }), call);
    const failing = (options: TextRankingOptions, message: RegExp) =>
      expectError(rank(query, documents, options), 'InputError', message);
    await failing(
      { chat_template: plain.template },
      /option 'true_token'. Qwen3-Reranker takes \{ true_token: 'yes', false_token: 'no' \}/,
    );
    await failing({ ...own, chat_template: plain.drops }, /the text of the query and of the document does not reach the prompt/);
    await failing({ ...own, chat_template: '{{ messages[0].content }}' }, /the text of the document does not reach/);
    await failing({ ...own, chat_template: '{% raise %}' }, /cannot carry a query and a document \(chat template: /);
    await failing({ ...own, true_token: 'perhaps' }, /option 'true_token': expected a token of the vocabulary, found 'perhaps'/);
    await failing({ false_token: 'no' }, /option 'false_token': expected true_token with it/);
    const pairs = await load(saved(ofName('pairs')));
    const { true_token, false_token } = own;
    expect(await rank(query, documents, { true_token, false_token, chat_template: '', max_length: 120 })).toEqual(
      await pairs(query, documents, { prompt: '' }),
    );
    expect(await pairs(query, documents, { true_token: 'yes', false_token: 'no' })).toEqual(await pairs(query, documents));
    await Promise.all([rank, pairs].map((one) => one.dispose()));
  });

  it('asks for a template before it ranks with a decoder whose own drops the texts', async () => {
    const files = folder('qwen3-sequence').set('chat_template.jinja', encoded(plain.drops));
    const rank = await load(files);
    await expectError(rank(query, documents), 'InputError', /cannot carry a query and a document.*option 'chat_template'/);
    const bare = await load(folder('qwen3-sequence'));
    expect(await rank(query, documents, { chat_template: '' })).toEqual(await bare(query, documents));
    await expectError(bare(query, documents, { true_token: 'yes' }), 'InputError', /this model has a head with labels/);
    await Promise.all([rank, bare].map((one) => one.dispose()));
  });

  it("runs torch's activations without arguments, and refuses the others by name", async () => {
    const one = ofName('an encoder, a prompt');
    const withActivation = (activation_fn: string) =>
      saved(one, { [kSettings]: { activation_fn, prompts: {}, default_prompt_name: null } });
    expect(Object.values(activations).filter((answer) => answer).length).toBeGreaterThan(20);
    for (const [path, answer] of Object.entries(activations)) {
      if (!answer) {
        await expectError(load(withActivation(path)), 'UnsupportedError', new RegExp(`activation_fn: .*found ${path}`));
        continue;
      }
      const rank = await load(withActivation(path));
      expectRanked(await rank(query, documents), answer as Call);
      await rank.dispose();
    }
  });

  const kRefused: [what: string, name: string, change: Parameters<typeof saved>[1], kind: string, message: RegExp][] = [
    ['another task of its transformer', 'flat', { [kTransformer]: { transformer_task: 'any-to-any' } }, 'UnsupportedError', /transformer_task: expected 'text-generation', found 'any-to-any'/],
    ['labels of a decoder', 'labels, pairs', { [kTransformer]: { transformer_task: 'text-generation' } }, 'UnsupportedError', /transformer_task: expected 'sequence-classification'/],
    ['another output', 'flat', { [kScore]: { module_input_name: 'logits' } }, 'UnsupportedError', /1_LogitScore\/config.json: module_input_name: expected 'causal_logits'/],
    ['no token', 'flat', { [kScore]: { true_token_id: null } }, 'ModelFormatError', /true_token_id: expected the id of a token, found null/],
    ['a token without an id', 'flat', { [kScore]: { false_token_id: -1 } }, 'ModelFormatError', /false_token_id: expected the id/],
    ['no settings of the score', 'flat', { [kScore]: null }, 'ModelFormatError', /1_LogitScore\/config.json: expected this file/],
    ['no score', 'flat', { 'modules.json': [{ type: 'x.Transformer', path: '' }] }, 'UnsupportedError', /expected LogitScore after the Transformer of a decoder/],
    ['another module', 'flat', { 'modules.json': [{ type: 'x.Transformer', path: '' }, { type: 'x.Dropout', path: '1_Dropout' }] }, 'UnsupportedError', /expected Transformer, followed in a decoder by LogitScore, found 'Dropout'/],
    ['a folder of its own', 'flat', { 'modules.json': [{ type: 'x.Transformer', path: '0_Transformer' }] }, 'UnsupportedError', /modules.json: path/],
    ['no list of modules', 'flat', { 'modules.json': '{}' }, 'ModelFormatError', /modules.json: expected/],
    ['no JSON', 'flat', { 'modules.json': '{' }, 'ModelFormatError', /modules.json/],
    ['right padding', 'flat', { [kTransformer]: { processing_kwargs: { text: { padding_side: 'right' } } } }, 'UnsupportedError', /padding_side: expected 'left'/],
    ['no truncation', 'flat', { [kTransformer]: { processing_kwargs: { text: { truncation: false } } } }, 'UnsupportedError', /truncation/],
    ['other arguments', 'flat', { [kTransformer]: { processing_kwargs: { text: { stride: 8 } } } }, 'UnsupportedError', /processing_kwargs: stride/],
    ['arguments that are no object', 'flat', { [kTransformer]: { processing_kwargs: 7 } }, 'ModelFormatError', /processing_kwargs: expected an object/],
    ['another method', 'flat', { [kTransformer]: { modality_config: { message: { method: 'x' } } } }, 'UnsupportedError', /method: expected 'forward'/],
    ['lower case', 'flat', { [kTransformer]: { do_lower_case: true } }, 'UnsupportedError', /do_lower_case/],
  ]; // prettier-ignore
  it.each(kRefused)('refuses by name: %s', async (_what, name, change, kind, message) => {
    await expectError(load(saved(ofName(name), change)), kind, message);
  });

  it('refuses a token beyond the vocabulary', async () => {
    const rank = await load(saved(ofName('flat'), { [kScore]: { true_token_id: 9999 } }));
    await expectError(
      rank(query, documents),
      'InputError',
      /expected ids of tokens below \d+ \(config.json: vocab_size\), found 9999/,
    );
    await rank.dispose();
  });
});
