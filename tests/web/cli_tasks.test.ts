import { mkdirSync, mkdtempSync, rmSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { evaluate, pipeline, redact } from 'wattn';
import { linesOf, wattn } from './cli_support.js';
import { goldens, headFiles } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'wattn-cli-tasks-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function modelFolder(kind: string): string {
  for (const [name, bytes] of headFiles(kind)) {
    mkdirSync(dirname(join(folder, kind, name)), { recursive: true });
    writeFileSync(join(folder, kind, name), bytes);
  }
  return join(folder, kind);
}

describe('wattn classify', () => {
  it('writes the labels of texts and pairs, the very numbers of the library', async () => {
    const model = modelFolder('sequence');
    const classify = await pipeline('text-classification', model);
    const input = '{"id": 1, "text": "the river", "text_pair": "a bridge"}\nthe bird\n';
    const [pair, bird] = linesOf(await wattn(['classify', '--model', model], input));
    const inputs = [{ text: 'the river', text_pair: 'a bridge' }, 'the bird'];
    const all = await classify(inputs, { top_k: null });
    expect(pair).toEqual({ id: 1, text: 'the river', text_pair: 'a bridge', labels: all[0] });
    expect(bird.labels).toEqual(all[1]);
    const [best] = linesOf(await wattn(['classify', '--model', model, '--top-k', '1', '--function', 'none', 'the bird']));
    expect(best.labels).toEqual([...(await classify('the bird', { function_to_apply: 'none' }))]);
    const [cut] = linesOf(await wattn(['classify', '--model', model, 'the '.repeat(99)]));
    expect([cut.truncated, cut.tokens]).toEqual([true, 48]);
    await classify.dispose();
  });

  it('takes labels of the caller', async () => {
    const model = modelFolder('sequence');
    const classify = await pipeline('zero-shot-classification', model);
    const options = ['--labels', 'birds, boats', '--multi-label', '--hypothesis', 'It is of {}.'];
    const [line] = linesOf(await wattn(['classify', '--model', model, ...options, 'the river']));
    const { labels, scores } = await classify('the river', ['birds', 'boats'], {
      multi_label: true,
      hypothesis_template: 'It is of {}.',
    });
    expect(line.labels).toEqual(labels.map((label, i) => ({ label, score: scores[i] })));
    await classify.dispose();
  });

  it('ends with one line and status 2 on what is wrong', async () => {
    const model = modelFolder('sequence');
    const wrong: [string[], string | undefined, RegExp][] = [
      [['classify', '--model', modelFolder('token'), 'a'], undefined, /expected a model that ends in ForSequenceClassification/],
      [['classify', '--model', model], '{"text": "a", "text_pair": 3}', /"text_pair"/],
      [['classify', '--model', model, '--function', 'x', 'a'], undefined, /--function: expected softmax or sigmoid or none/],
      [['rank', '--model', model, 'a'], undefined, /--query/],
      [['rank', '--model', model, '--query', 'q', 'a'], undefined, /one label/],
      [['run', '--model', model, 'a'], undefined, /--task: expected one of/],
      [['run', '--model', model, '--task', 'ner', '--options', '{', 'a'], undefined, /--options/],
    ];
    for (const [args, input, message] of wrong) {
      const { code, out, error } = await wattn(args, input);
      expect([args, code, out]).toEqual([args, 2, '']);
      expect(error).toMatch(message);
      expect(error.trimEnd().split('\n')).toHaveLength(1);
    }
  });
});

describe('wattn with models for retrieval', () => {
  it('ranks by late interaction', async () => {
    const model = `${goldens}/late-interaction/bert`;
    const documents = ['The birds sing.', 'An old boat waits.', 'one'];
    const colbert = await pipeline('late-interaction', model);
    const expected = await colbert('who sings?', documents);
    const args = ['rank', '--late-interaction', '--model', model, '--query', 'who sings?', ...documents];
    const lines = linesOf(await wattn(args));
    expect(lines.map(({ corpus_id, score }: any) => [corpus_id, score])).toEqual(
      expected.map(({ corpus_id, score }) => [corpus_id, score]),
    );
    await colbert.dispose();
  });

  it('writes the words of sparse vectors', async () => {
    const model = `${goldens}/sparse/splade`;
    const encode = await pipeline('sparse-encoding', model);
    const words = await encode.decode(await encode(['Who sings?'], { max_active_dims: 3 }));
    const args = ['run', '--task', 'sparse-encoding', '--model', model, '--options', '{"max_active_dims": 3}', 'Who sings?'];
    expect(linesOf(await wattn(args))).toEqual([{ text: 'Who sings?', result: words[0] }]);
    await encode.dispose();
  });
});

describe('wattn rank', () => {
  it('writes the best documents first, or each as it comes', async () => {
    const model = modelFolder('ranker');
    const documents = ['the river', 'a boat', 'birds sing', 'an old bridge'];
    const rank = await pipeline('text-ranking', model);
    const expected = await rank('Who sings?', documents);
    const query = ['--model', model, '--query', 'Who sings?'];
    const lines = linesOf(await wattn(['rank', ...query, '--top-k', '3'], documents.join('\n')));
    expect(lines).toEqual(expected.slice(0, 3).map(({ corpus_id, score }) => ({ text: documents[corpus_id], corpus_id, score })));
    const stream = linesOf(await wattn(['rank', ...query, '--stream', ...documents]));
    expect(stream.map(({ text }) => text)).toEqual(documents);
    await rank.dispose();
  });
});

describe('wattn run', () => {
  it('writes what a pipeline gives', async () => {
    const find = await pipeline('ner', modelFolder('token'));
    const options = { aggregation_strategy: 'first', ignore_labels: [] } as const;
    const text = 'the bird reads 42 letters';
    const args = ['run', '--task', 'ner', '--model', modelFolder('token'), '--options', JSON.stringify(options), text];
    expect(linesOf(await wattn(args))).toEqual([{ text, result: [...(await find(text, options))] }]);
    await find.dispose();
    const answer = await pipeline('question-answering', modelFolder('answer'));
    const line = '{"text": "the birds sing", "question": "Who?"}';
    const [said] = linesOf(await wattn(['run', '--task', 'question-answering', '--model', modelFolder('answer')], line));
    expect(said.result).toEqual(await answer('Who?', 'the birds sing'));
    await answer.dispose();
  });
});

describe('wattn redact', () => {
  const gliner = join(goldens, 'spans/deberta');

  it('replaces entities by placeholders that are the same in later runs, and puts them back', async () => {
    const map = join(folder, 'map.json');
    const options = ['--model', gliner, '--labels', 'person, boat', '--threshold', '0.3', '--patterns', 'email', '--map', map];
    const lines = ['Ada saw the old boat.', 'mail ada@example.org', ''];
    const first = linesOf(await wattn(['redact', ...options], lines.join('\n')));
    const ner = await pipeline('zero-shot-ner', gliner);
    const [ada] = await redact(ner, lines.slice(0, 1), { labels: ['person', 'boat'], threshold: 0.3 });
    expect(first[0].text).toBe(ada?.text);
    expect(first[0].entities).toEqual(ada?.entities.map(({ label, placeholder, score }) => ({ label, placeholder, score })));
    expect(first[1].entities).toContainEqual({ label: 'email', placeholder: '[EMAIL_1]' });
    const [again] = linesOf(await wattn(['redact', ...options, 'mail ada@example.org']));
    expect(again.text).toBe(first[1].text);
    const back = linesOf(await wattn(['redact', '--restore', '--map', map], first.map(({ text }) => text).join('\n')));
    expect(back.map(({ text }) => text)).toEqual(lines.slice(0, first.length));
    await ner.dispose();
    const [plain] = linesOf(await wattn(['redact', '--patterns', 'phone', 'call +49 30 901820']));
    expect(plain).toEqual({ text: 'call [PHONE_1]', entities: [{ label: 'phone', placeholder: '[PHONE_1]' }] });
  });

  it('finds by rules without a model, and keeps formats', async () => {
    const [line] = linesOf(await wattn(['redact', 'pay DE89370400440532013000']));
    expect(line.text).toBe('pay [IBAN_1]');
    const audit = join(folder, 'audit.jsonl');
    const { out } = await wattn(['redact', '--format', 'json', '--audit', audit], '{"a": "mail b@c.de"}');
    expect(JSON.parse(out)).toEqual({ a: 'mail [EMAIL_1]' });
    expect(readFileSync(audit, 'utf8')).toMatch(/^\{"file":"standard input","label":"email","start":12,/);
  });

  it('runs zero-shot-ner by itself', async () => {
    const [line] = linesOf(await wattn(['run', '--task', 'zero-shot-ner', '--model', gliner, '--labels', 'person', 'Ada saw']));
    const ner = await pipeline('zero-shot-ner', gliner);
    expect(line.result).toEqual([...(await ner('Ada saw', 'person'))]);
    await ner.dispose();
  });

  it('runs information-extraction by a schema in a file', async () => {
    const file = join(folder, 'extraction.json');
    const schema = { structures: { boat: ['owner::str', 'kind::[old|new]'] }, entities: ['person'] };
    writeFileSync(file, JSON.stringify(schema));
    const model = join(goldens, 'schemas/bert');
    const options = ['run', '--task', 'information-extraction', '--model', model, '--schema', file];
    const shown = ['--options', '{"include_confidence": true}'];
    const lines = linesOf(await wattn([...options, ...shown, 'Ada saw the boat.', 'a']));
    const extract = await pipeline('information-extraction', model);
    const found = await extract(['Ada saw the boat.', 'a'], schema, { include_confidence: true });
    expect(lines.map(({ result }) => result)).toEqual(found.map((each) => JSON.parse(JSON.stringify(each))));
    await extract.dispose();
    const { code, error } = await wattn(options.slice(0, 5).concat('a'));
    expect([code, error]).toEqual([
      2,
      expect.stringMatching(/^wattn: information-extraction: schema: expected an object, found undefined/),
    ]);
  });

  it('ends with one line and status 2 on what is wrong', async () => {
    for (const [args, message] of [
      [['--audit', 'x', 'a'], 'wattn: --audit: expected --format with it, found none'],
      [['--restore', 'a'], 'wattn: --restore: expected --map FILE with it, found none'],
      [['--restore', '--map', join(folder, 'none'), 'a'], `wattn: --map: cannot read ${join(folder, 'none')}: ENOENT`],
      [
        ['--patterns', 'names', 'a'],
        /^wattn: redact: option 'patterns': names: expected a RegExp, or true for one of email, phone, card/,
      ],
      [['--model', gliner, 'a'], /^wattn: zero-shot-ner: labels: /],
    ] as [string[], string | RegExp][]) {
      const { code, out, error } = await wattn(['redact', ...args]);
      expect([code, out]).toEqual([2, '']);
      expect(error.trimEnd()).toMatch(message);
    }
  });
});

describe('wattn evaluate', () => {
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const run = async (...args: string[]) => linesOf(await wattn(['evaluate', ...args]))[0];
  const jsonl = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const rows = [
    { sentence1: 'fresh bread', sentence2: 'a loaf of bread', score: 4 },
    { sentence1: 'fresh bread', sentence2: 'heavy rain', score: 0 },
    { sentence1: 'say "hello"', sentence2: 'greet them', score: 3.5 },
  ];

  it('writes the measures of the library, whatever the layout of the rows', async () => {
    const embed = await pipeline('feature-extraction');
    const expected = await evaluate(embed, 'sts', rows);
    await embed.dispose();
    expect(await run('--task', 'sts', '--data', file('sts.jsonl', jsonl(rows)))).toEqual(expected);
    const plain = rows.map((row) => `x\t${row.score}\t${row.sentence1}\t${row.sentence2}\tmore\n`).join('\r');
    const columns = ['--columns', 'id,score,sentence1,sentence2'];
    expect(await run('--task', 'sts', '--data', file('sts.csv', plain), ...columns)).toEqual(expected);
  });

  it('reads test collections in the layout of BEIR, labels and numbers', async () => {
    mkdirSync(join(folder, 'beir/qrels'), { recursive: true });
    file('beir/corpus.jsonl', jsonl([{ _id: 'a', title: 'Bread', text: 'how to bake' }, { _id: 'b', text: 'rain and wind' }])); // prettier-ignore
    file('beir/queries.jsonl', jsonl([{ _id: 'q', text: 'baking a loaf' }, { _id: 'r', text: 'not judged' }])); // prettier-ignore
    file('beir/qrels/test.tsv', 'query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t0\n');
    const found = await run('--task', 'retrieval', '--data', join(folder, 'beir'), '--similarity', 'dot');
    expect(found).toMatchObject({ 'dot_ndcg@10': 1, 'dot_accuracy@1': 1, 'dot_precision@10': 0.1, queries: 1, documents: 2 });
    const films = file('films.tsv', 'sentence\tlabel\na wonderful film\t1\na terrible film\t0\n');
    const names = ['--labels', 'NEGATIVE,POSITIVE'];
    expect(await run('--task', 'classification', '--data', films, ...names)).toEqual({ accuracy: 1, macro_f1: 1, texts: 2 });
    const train = file('train.tsv', 'text\tlabel\ngreat\t1\nlovely\t1\nawful\t0\nbad\t0\n');
    expect(await run('--task', 'classification', '--data', films, '--train', train)).toMatchObject({ accuracy: 1 });
    expect(await run('--task', 'clustering', '--data', films)).toMatchObject({ v_measure: 1, clusters: 2 });
  });

  it('ends with one line and status 2 on what is wrong', async () => {
    const films = file('films.csv', 'a wonderful film,1\na terrible film,0\n');
    const wrong: [string[], RegExp][] = [
      [['--data', films], /--task: expected sts, retrieval/],
      [['--task', 'sts'], /--data: expected the file or folder/],
      [['--task', 'retrieval', '--data', films], /--data: expected a folder/],
      [['--task', 'retrieval', '--data', folder], /qrels.test.tsv or qrels.tsv, found neither/],
      [['--task', 'clustering', '--data', films], /line 2: expected a field 'label', found .*--columns/],
      [['--task', 'sts', '--data', films, '--columns', 'score,sentence1,sentence2'], /line 1: expected at least 3 fields separated by tabs, found 1/],
    ]; // prettier-ignore
    for (const [args, message] of wrong) {
      const { code, error } = await wattn(['evaluate', ...args]);
      expect([code, error.trimEnd().split('\n').length]).toEqual([2, 1]);
      expect(error).toMatch(message);
    }
  });
});
