// The tasks against transformers' pipelines, over tiny models (tests/goldens/README.md, tasks/).
import { join } from 'node:path';
import { packModel, pipeline, type ModelSpecifier } from 'wattn';
import { expectError, goldens, headFiles, mixedTexts, readJson } from './support.js';

const cases = readJson('tasks', 'cases.json');

interface Case {
  args: any[];
  options: Record<string, any>;
  f32_diff: number;
  answer: any;
}

/**
 * Equal but for scores. A golden's scores are of a float64 run, and f32_diff is how far torch's own float32 run is from them. Ours may
 * be as far; 4 is the room that the native tests give too, and 2^-22 two units in the last place of a score near 1.
 */
function expectAnswer(got: any, expected: any, bound: number, path: string): void {
  if (typeof expected === 'number' && !Number.isInteger(expected)) {
    if (!(Math.abs(got - expected) <= bound)) throw new Error(`${path}: expected ${expected} within ${bound}, found ${got}`);
  } else if (typeof expected === 'object' && expected !== null) {
    if (Array.isArray(expected)) expect([path, got?.length]).toEqual([path, expected.length]);
    for (const [key, value] of Object.entries(expected)) expectAnswer(got?.[key], value, bound, `${path}.${key}`);
  } else if (!path.endsWith('.score')) {
    expect([path, got]).toEqual([path, expected]);
  }
}

const bound = ({ f32_diff }: { f32_diff: number }) => 4 * Math.max(f32_diff, 2 ** -22);

/** Python's offsets count code points, ours UTF-16 units. */
function toUtf16(text: string, answer: any): any {
  const at = (index: number) => [...text].slice(0, index).join('').length;
  if (Array.isArray(answer)) return answer.map((one) => toUtf16(text, one));
  return { ...answer, start: at(answer.start), end: at(answer.end) };
}

const jsOptions = ({ truncation: _, ...options }: Record<string, any>) => options;

describe('text-classification', () => {
  it.each([
    ['text-classification', {}],
    ['text-classification multi_label_classification', { problem_type: 'multi_label_classification' }],
    ['text-classification regression', { problem_type: 'regression' }],
    ['text-classification single_label_classification', { problem_type: 'single_label_classification' }],
  ])('equals Python: %s', async (name, config) => {
    const classify = await pipeline('text-classification', headFiles('sequence', config));
    for (const one of cases[name] as Case[]) {
      const got = await classify(one.args[0], jsOptions(one.options));
      expectAnswer(got, one.answer, bound(one), JSON.stringify(one.args));
    }
    await classify.dispose();
  });

  it('gives one label by a sigmoid', async () => {
    const classify = await pipeline('sentiment-analysis', headFiles('ranker'));
    expect(classify.task).toBe('text-classification');
    for (const one of cases['one label'] as Case[]) {
      expectAnswer(await classify(one.args[0]), [one.answer].flat(), bound(one), JSON.stringify(one.args));
    }
    await classify.dispose();
  });

  it('has the shapes of transformers.js, and the same bits alone, in a batch and in workers', async () => {
    const files = headFiles('sequence');
    const texts = mixedTexts(70);
    const classify = await pipeline('text-classification', files);
    const remote = await pipeline('text-classification', files, { worker: 2 });
    const all = await classify(texts, { top_k: null });
    expect(all).toHaveLength(texts.length);
    expect(all[0]).toHaveLength(3);
    expect(all.truncated).toEqual(all.tokens.map((count: number) => count === 48));
    expect(await remote(texts, { top_k: null })).toEqual(all);
    const best = await classify(texts);
    expect(best.map(({ score }) => score)).toEqual(all.map(([first]: any) => first.score));
    for (const i of [0, 17, 69]) expect([...(await classify(texts[i] as string, { top_k: null }))]).toEqual(all[i]);
    expect([...(await classify([]))]).toEqual([]);
    await Promise.all([classify.dispose(), remote.dispose()]);
  });

  it('says what is wrong', async () => {
    const classify = await pipeline('text-classification', headFiles('sequence'));
    await expectError(classify(3 as never), 'InputError', /expected a string or \{ text, text_pair \} at index 0, found 3/);
    await expectError(classify('a', { top_k: 0 }), 'InputError', /top_k/);
    await expectError(classify('a', { functions: 'softmax' } as never), 'InputError', /unknown option 'functions'/);
    await expectError(classify('a', { max_length: 99 }), 'InputError', /max_length: expected a whole number from 1 to 64/);
    await expectError(
      classify(['a', 'the '.repeat(90)], { on_overflow: 'error' }),
      'InputError',
      /text 1: expected at most 48 tokens, found 92/,
    );
    await expectError(classify('a', { signal: AbortSignal.abort() }), 'AbortError');
    await classify.dispose();
    await expectError(classify('a'), 'StateError', /disposed/);
    const bare = headFiles('sequence');
    const { post_processor: _, ...tokenizer } = JSON.parse(new TextDecoder().decode(bare.get('tokenizer.json')));
    bare.set('tokenizer.json', new TextEncoder().encode(JSON.stringify({ ...tokenizer, post_processor: null })));
    bare.set('tokenizer_config.json', new TextEncoder().encode('{"tokenizer_class":"PreTrainedTokenizerFast"}'));
    const unmarked = await pipeline('text-classification', bare); // it adds no [CLS]
    await expectError(unmarked(['the river', '']), 'InputError', /text 1: expected at least one token, found none/);
    expect(await unmarked(['the river'])).toHaveLength(1);
    await unmarked.dispose();
  });
});

describe('a checkpoint without the head that a task needs', () => {
  it('is refused by name', async () => {
    const load = (files: Map<string, Uint8Array>) => pipeline('text-classification', files);
    await expectError(
      load(headFiles('token')),
      'UnsupportedError',
      /architectures: expected a model that ends in ForSequenceClassification/,
    );
    await expectError(
      load(headFiles('sequence', { architectures: null }, 'token')),
      'ModelFormatError',
      /'classifier\.bias': expected shape \[3\], found \[6\]/,
    );
    await expectError(load(headFiles('sequence', {}, null)), 'ModelFormatError', /classifier\.weight/);
    await expectError(load(headFiles('sequence', { id2label: {} })), 'ModelFormatError', /id2label/);
  });

  it('still embeds', async () => {
    const embed = await pipeline('feature-extraction', headFiles('sequence'));
    expect((await embed('the river')).dims).toEqual([1, 3 + 1, 32]);
    await embed.dispose();
  });
});

describe('models that are not encoders', () => {
  it.each(['bart-sequence', 'qwen3-sequence', 'llama-sequence'])('classify texts as in Python: %s', async (name) => {
    const classify = await pipeline('text-classification', join(goldens, 'decoder-heads', name));
    const answers = readJson('decoder-heads', name, 'expected.json')['text-classification'] as Case[];
    for (const one of answers) {
      expectAnswer(await classify(one.args[0], one.options), one.answer, bound(one), JSON.stringify(one.args));
    }
    await classify.dispose();
  });

  it('classify by labels given in the call as in Python', async () => {
    const classify = await pipeline('zero-shot-classification', join(goldens, 'decoder-heads/bart-sequence'));
    for (const one of readJson('decoder-heads/bart-sequence/expected.json')['zero-shot-classification'] as Case[]) {
      expectAnswer(await classify(one.args[0], one.args[1], one.options), one.answer, bound(one), JSON.stringify(one));
    }
    await classify.dispose();
  });
});

describe('a Longformer, whose first token or question is global', () => {
  const folder = join(goldens, 'longformer');
  const answers = readJson('longformer/cases.json');

  it('classifies texts and labels as in Python', async () => {
    const classify = await pipeline('text-classification', folder);
    for (const one of answers['text-classification'] as Case[]) {
      expectAnswer(await classify(one.args[0], one.options), one.answer, bound(one), JSON.stringify(one.args));
    }
    await classify.dispose();
    const byLabels = await pipeline('zero-shot-classification', folder);
    for (const one of answers['zero-shot-classification'] as Case[]) {
      expectAnswer(await byLabels(one.args[0], one.args[1], one.options), one.answer, bound(one), JSON.stringify(one));
    }
    await byLabels.dispose();
  });

  it('answers with the span of the highest logits', async () => {
    const answer = await pipeline('question-answering', folder);
    for (const { texts, input_ids, logits } of readJson('longformer/expected.json').answer) {
      const [question, context] = texts as [string, string];
      const first = input_ids.length - 1 - context.length; // each character is a token
      let best = { sum: -Infinity, start: 0, end: 0 };
      for (let start = 0; start < context.length; ++start) {
        for (let end = start; end < Math.min(context.length, start + 15); ++end) {
          const sum = logits[2 * (first + start)] + logits[2 * (first + end) + 1];
          if (sum > best.sum) best = { sum, start, end: end + 1 };
        }
      }
      const found = await answer(question, context, { max_answer_len: 15, align_to_words: false });
      expect(found).toMatchObject({ start: best.start, end: best.end, answer: context.slice(best.start, best.end) });
    }
    await answer.dispose();
  });

  it.each(['q16', 'q8', 'q4'] as const)('is near in %s', async (dtype) => {
    const [exact, rounded] = [
      await pipeline('text-classification', folder),
      await pipeline('text-classification', folder, { dtype }),
    ];
    const text = 'The old boat waits below the bridge. '.repeat(6);
    const scores = async (pipe: typeof exact) =>
      Object.fromEntries((await pipe(text, { top_k: null })).map(({ label, score }) => [label, score]));
    const [a, b] = [await scores(exact), await scores(rounded)];
    // As in architectures_test.cpp, a share of typical values; scores are at most 1.
    const most = { q16: 0.0015, q8: 0.1, q4: 0.5 }[dtype];
    for (const [label, score] of Object.entries(a)) expect(Math.abs(b[label]! - score)).toBeLessThan(most);
    await exact.dispose();
    await rounded.dispose();
  });
});

describe('zero-shot-classification', () => {
  it('is refused by a model whose labels are others', async () => {
    const classify = await pipeline('zero-shot-classification', headFiles('sequence', { label2id: { bad: 0, fair: 1, good: 2 } }));
    const expected = /begins with 'entail', found bad, fair, good; a sentence encoder compares texts with the names of labels/;
    await expectError(classify('a film', ['sport', 'cinema']), 'UnsupportedError', expected);
    await classify.dispose();
  });

  it('is refused by a sentence encoder, as a checkpoint, as GGUF and in the package, with what to do in its place', async () => {
    const load = (model?: ModelSpecifier) => pipeline('zero-shot-classification', model);
    const instead =
      '; a sentence encoder compares texts with the names of labels: feature-extraction and cos_sim, see docs/tasks\\.md$';
    await expectError(
      load(join(goldens, 'bert-tiny/model')),
      'UnsupportedError',
      new RegExp(`ForSequenceClassification.*${instead}`),
    );
    await expectError(load('./models/base/wattn-base.gguf'), 'ModelFormatError', new RegExp(`pooler.*${instead}`));
  });

  it('equals Python', async () => {
    const classify = await pipeline('zero-shot-classification', headFiles('sequence'));
    for (const one of cases['zero-shot-classification'] as Case[]) {
      const got = await classify(one.args[0], one.args[1], one.options);
      expectAnswer(got, one.answer, bound(one), JSON.stringify(one));
    }
    await expectError(classify('a', []), 'InputError', /candidate_labels/);
    await expectError(classify('a', 'b', { hypothesis_template: 'no place' }), 'InputError', /with \{\} once/);
    await classify.dispose();
  });
});

describe('token-classification', () => {
  it('equals Python in every aggregation, with windows and without', async () => {
    const find = await pipeline('ner', headFiles('token'));
    for (const one of cases['token-classification'] as Case[]) {
      const [text] = one.args;
      expectAnswer(await find(text, one.options), toUtf16(text, one.answer), bound(one), JSON.stringify([text, one.options]));
    }
    await find.dispose();
  });

  it('finds an entity at token 5,000, and every span slices to its text', async () => {
    const find = await pipeline('token-classification', headFiles('token'));
    const long = 'the river runs under the bridge. '.repeat(720);
    const entities = await find(long, { aggregation_strategy: 'simple', stride: 8, ignore_labels: [] });
    expect(entities[entities.length - 1]?.end).toBe(long.length - 1);
    expect(entities.truncated).toBe(false);
    for (const text of mixedTexts(60)) {
      for (const aggregation_strategy of ['none', 'first'] as const) {
        let before = 0;
        for (const { start, end } of await find(text, { aggregation_strategy, ignore_labels: [] })) {
          expect(start).toBeGreaterThanOrEqual(before);
          expect(end).toBeLessThanOrEqual(text.length);
          expect(text.slice(start, end).trim()).not.toBe('');
          before = start;
        }
      }
    }
    await expectError(find('a', { stride: 3 }), 'InputError', /aggregation_strategy/);
    await expectError(find('a', { stride: 46, aggregation_strategy: 'max' }), 'InputError');
    await find.dispose();
  });
});

describe('question-answering', () => {
  it('gives the probability of no answer by [CLS]', async () => {
    const answer = await pipeline('question-answering', headFiles('answer'));
    const options = { handle_impossible_answer: true, top_k: 9 };
    const answers = (await answer({ question: 'what is here?', context: 'boat' }, options)) as { answer: string; score: number }[];
    // The probabilities of two allowed tokens, as the start and as the end, add up to 1, so both products together are at most 1.
    const [none, one] = ['', 'boat'].map((text) => answers.find((each) => each.answer === text)?.score as number) as [
      number,
      number,
    ];
    expect(none).toBeGreaterThan(0.01);
    expect(Math.sqrt(none) + Math.sqrt(one)).toBeLessThanOrEqual(1 + 1e-6); // by Cauchy and Schwarz
    await answer.dispose();
  });

  it('equals Python on short and long contexts', async () => {
    const answer = await pipeline('question-answering', headFiles('answer'));
    for (const { question, context, options, ...one } of readJson('tasks', 'answers.json').cases) {
      const got: any = await answer(question, context, options);
      expectAnswer(got, toUtf16(context, one.answer), bound(one), JSON.stringify([question, context, options]));
      for (const { start, end, answer: text } of [got].flat()) expect(context.slice(start, end)).toBe(text);
    }
    const both = await answer(
      [
        { question: 'Who?', context: 'The birds.' },
        { question: 'What?', context: '' },
      ],
      { top_k: 2 },
    );
    expect(both[1]).toEqual([]);
    expect(await answer('What?', '')).toBe(null);
    expect(await answer([] as string[], 'The birds.')).toEqual([]);
    expect(await answer([])).toEqual([]);
    await expectError(answer('Who?' as never), 'InputError', /expected a question and a context/);
    await expectError(answer({ question: 'Who?', context: 'The birds.' }, 'x' as never), 'InputError', /options, found 'x'/);
    await answer.dispose();
  });
});

describe('fill-mask', () => {
  it('equals Python, with several masks and with targets', async () => {
    const fill = await pipeline('fill-mask', headFiles('masked_lm'));
    for (const one of cases['fill-mask'] as Case[]) {
      expectAnswer(await fill(one.args[0], one.options), one.answer, bound(one), JSON.stringify([one.args, one.options]));
    }
    await expectError(fill(['a [MASK]', 'no mask']), 'InputError', /text 1: expected the mask token \[MASK\]/);
    await expectError(
      fill(`${'the '.repeat(90)}[MASK]`),
      'InputError',
      /\[MASK\] in its first 48 tokens, which the model reads, found none/,
    );
    await fill.dispose();
  });
});

describe('text-ranking', () => {
  const kind = { model_type: 'CrossEncoder' };
  const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const kModules = [{ idx: 0, name: '0', path: '', type: 'sentence_transformers.base.modules.transformer.Transformer' }];
  const rankerWith = (settings: object, config = {}, modules: object | null = kModules) => {
    const files = headFiles('ranker', config).set('config_sentence_transformers.json', json(settings));
    files.set('sentence_bert_config.json', json({ transformer_task: 'sequence-classification', module_output_name: 'scores' }));
    return modules ? files.set('modules.json', json(modules)) : files;
  };
  const { documents, cases } = readJson('ranking', 'ranking.json');
  const names = [...new Set<string>(cases.map((one: any) => one.name))];
  it.each(names)("ranks as sentence-transformers' CrossEncoder: %s", async (name) => {
    const ofName = cases.filter((one: any) => one.name === name);
    const { config, settings } = ofName[0];
    const rank = await pipeline('text-ranking', settings ? rankerWith(settings, config) : headFiles('ranker', config));
    for (const one of ofName) {
      const ranked = await rank(one.query, documents);
      expect(ranked.map(({ corpus_id }) => corpus_id)).toEqual(one.ranked.map(([id]: [number]) => id));
      const most = Math.max(...one.ranked.map(([, score]: [number, number]) => Math.abs(score)));
      // As in the native tests: four times what torch's own float32 is off, at least one unit in the last place of the largest.
      const bound = 4 * Math.max(one.f32_diff, most * 2 ** -23);
      ranked.forEach(({ score }, i) => expect(Math.abs(score - one.ranked[i][1])).toBeLessThanOrEqual(bound));
    }
    await rank.dispose();
  });

  it('keeps its activation in a packed file', async () => {
    const files = rankerWith({ ...kind, activation_fn: 'torch.nn.modules.activation.Tanh' });
    const packed = { 'model.gguf': await packModel(files, { dtype: 'f32' }) };
    const [rank, again] = await Promise.all([files, packed].map((model) => pipeline('text-ranking', model)));
    const [expected, found] = await Promise.all([rank, again].map((one) => one?.('Who sings?', documents)));
    expect(found).toEqual(expected);
    await Promise.all([rank, again].map((one) => one?.dispose()));
  });

  it('has no activation of a file that Python does not read', async () => {
    const settings = { ...kind, activation_fn: 'torch.nn.modules.linear.Identity' };
    const others = [rankerWith(settings, {}, null), rankerWith({ ...settings, model_type: 'SentenceTransformer' })];
    const [plain, ...ranked] = await Promise.all(
      [headFiles('ranker'), ...others].map(async (files) => (await pipeline('text-ranking', files))('Who sings?', documents)),
    );
    for (const one of ranked) expect(one).toEqual(plain);
  });

  it('refuses what a repository asks of a cross-encoder and wattn does not do, by name', async () => {
    const rank = async (settings: object) => (await pipeline('text-ranking', rankerWith({ ...kind, ...settings })))('a', ['b']);
    const glu = { activation_fn: 'torch.nn.modules.activation.GLU' };
    await expectError(rank(glu), 'UnsupportedError', /config_sentence_transformers.json: activation_fn: .*GLU/);
  });

  it('orders documents as the one-label model scores them', async () => {
    const rank = await pipeline('text-ranking', headFiles('ranker'));
    const classify = await pipeline('text-classification', headFiles('ranker'));
    const documents = mixedTexts(20);
    const ranked = await rank('Who sings?', documents, { return_documents: true });
    const scores = (await classify(documents.map((text_pair) => ({ text: 'Who sings?', text_pair })))).map(({ score }) => score);
    expect(ranked.map(({ score }) => score)).toEqual([...scores].sort((a, b) => b - a));
    for (const { corpus_id, score, text } of ranked) expect([scores[corpus_id], documents[corpus_id]]).toEqual([score, text]);
    expect(await rank('Who sings?', documents, { top_k: 3 })).toHaveLength(3);
    const raw = await pipeline(
      'text-ranking',
      headFiles('ranker', { sentence_transformers: { activation_fn: 'torch.nn.modules.linear.Identity' } }),
    );
    const [best] = await raw('Who sings?', documents);
    expect(1 / (1 + Math.exp(-(best?.score as number)))).toBeCloseTo(ranked[0]?.score as number, 12);
    const other = await pipeline('text-ranking', headFiles('sequence'));
    await expectError(other('a', ['b']), 'UnsupportedError', /one label/);
    await Promise.all([rank, classify, raw, other].map((one) => one.dispose()));
  });
});
