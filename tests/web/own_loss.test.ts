// A custom loss on a loaded model: nn computes it, and its gradient is propagated into the model. Also the weights of a batch's parts.
import { join } from 'node:path';
import { nn } from 'wattn';
import { Trainer, type OwnLoss, type TrainerOptions, type TrainingReport } from 'wattn/train';
import { expectError, filesOf, goldens, largestDifference, tiny } from './support.js';

const { cosine_similarity, cross_entropy, mse_loss } = nn.functional;
const kSentences = [
  'the river',
  'a boat on the river',
  'small birds sing',
  'the wind and birds',
  'the dark home',
  'an old bridge',
  'home',
];
const kScored = kSentences.map((sentence1, i) => ({
  sentence1,
  sentence2: kSentences[(i + 2) % kSentences.length] as string,
  score: (i % 4) / 3,
}));
const kLabelled = kSentences.map((text, i) => ({ text, label: ['water', 'sky', 'land'][i >> 1] ?? 'land' }));
const kTagged = kSentences.map((text) => {
  const tokens = text.split(' ');
  return { tokens, ner_tags: tokens.map((word) => (/river|boat|birds/.test(word) ? 'B-THING' : 'O')) };
});
const kTold = ['abc abc abc cab cab', 'cab', 'bca bca', 'a', 'cab cab abc'].map((text) => ({ text }));
const decoder = () => filesOf(join(goldens, 'decoders/llama'));

const load = (options: Partial<TrainerOptions> = {}, model: Parameters<typeof Trainer.from_pretrained>[0] = tiny) =>
  Trainer.from_pretrained(model, {
    task: 'feature-extraction',
    threads: 1,
    method: 'full',
    learning_rate: 0.01,
    batch_size: 7,
    max_steps: 3,
    ...options,
  });

/** Losses and norms of gradients. */
async function numbersOf(options: Partial<TrainerOptions>, rows: readonly any[], model?: Parameters<typeof load>[1]) {
  const trainer = await load(options, model);
  const out: number[] = [];
  for await (const { loss, grad_norm } of trainer.fit(rows)) out.push(loss, grad_norm);
  await trainer.dispose();
  return out;
}

/** The same numbers but for the roundings of another order. */
function expectClose(found: readonly number[], expected: readonly number[]): void {
  const relative = found.map((x, i) => x / (expected[i] as number));
  expect([found.length, largestDifference(relative, Array(expected.length).fill(1))]).toEqual([
    expected.length,
    expect.any(Number),
  ]);
  expect(largestDifference(relative, Array(expected.length).fill(1))).toBeLessThan(2e-5);
}

const byCosine: OwnLoss = ({ embeddings: [a, b] }, rows) =>
  mse_loss(cosine_similarity(a as nn.Tensor, b as nn.Tensor), nn.tensor(rows.map(({ score }) => score)));
const ids = (rows: readonly any[]) => rows.map(({ label }) => ['land', 'sky', 'water'].indexOf(label));
const int32 = (values: number[]) => nn.tensor(values).to('int32');

beforeAll(() => nn.ready());

describe("a loss of one's own", () => {
  it('is the loss of that name, over sentence vectors, in parts, and in a worker to the bit', async () => {
    const expected = await numbersOf({ loss: 'CosineSimilarityLoss' }, kScored);
    const own = await numbersOf({ loss: byCosine }, kScored);
    expectClose(own, expected);
    expect(await numbersOf({ loss: byCosine, worker: true }, kScored)).toEqual(own);
    for (const parts of [2, 3])
      expectClose(await numbersOf({ loss: byCosine, gradient_accumulation_steps: parts }, kScored), expected);
  });

  it('is the loss of that name, over logits', async () => {
    const trainer = await load({ task: 'text-classification', loss: 'CrossEntropyLoss' });
    await trainer.fit(kLabelled);
    const files = await trainer.save(); // has a head now
    await trainer.dispose();
    const own: OwnLoss = ({ logits }, rows) => cross_entropy(logits as nn.Tensor, int32(ids(rows)));
    const options = { task: 'text-classification', loss: own } as const;
    expectClose(
      await numbersOf(options, kLabelled, files),
      await numbersOf({ ...options, loss: 'CrossEntropyLoss' }, kLabelled, files),
    );
  });

  it('is the loss of that name, over tokens', async () => {
    const own: OwnLoss = ({ logits, labels }) => cross_entropy(logits as nn.Tensor, labels as never, { label_smoothing: 0.1 });
    for (const [task, rows, model] of [
      ['token-classification', kTagged, tiny],
      ['text-generation', kTold, decoder()],
    ] as const) {
      const options = { task, loss: own, batch_size: rows.length };
      const expected = await numbersOf({ ...options, loss: 'CrossEntropyLoss', label_smoothing_factor: 0.1 }, rows, model);
      expect(await numbersOf({ ...options, loss: 'CrossEntropyLoss' }, rows, model)).not.toEqual(expected);
      expectClose(await numbersOf(options, rows, model), expected);
    }
  });

  it('reads rows as they are, which may have nothing but texts, and judges a validation set', async () => {
    const rows = kSentences.map((text, i) => ({ text, teacher: Array.from({ length: 4 }, (_, k) => Math.sin(i + k)) }));
    const project = new nn.Linear(32, 4);
    const adam = new nn.optim.AdamW(project.parameters(), { lr: 0.02 });
    const loss: OwnLoss = ({ embeddings: [x] }, given) =>
      mse_loss(project.forward(x as nn.Tensor) as nn.Tensor, nn.tensor(given.map(({ teacher }) => teacher)));
    const trainer = await load({ loss, max_steps: 20, gradient_accumulation_steps: 2 });
    const reports: TrainingReport[] = [];
    const before = project.get_parameter('weight').tolist();
    for await (const report of trainer.fit(rows, { validation: rows, eval_steps: 10 })) {
      adam.step();
      adam.zero_grad();
      reports.push(report);
    }
    expect(project.get_parameter('weight').tolist()).not.toEqual(before);
    expect(reports.at(-1)?.loss).toBeLessThan(0.5 * (reports[0]?.loss as number));
    const judged = reports.flatMap(({ evaluation }) => (evaluation ? [evaluation.loss as number] : []));
    expect(judged.length).toBe(2);
    expect(judged[1]).toBeLessThan(judged[0] as number);
    await trainer.dispose();
  });

  it('gives its modules the gradient of the whole batch, whatever the parts', async () => {
    const gradientOf = async (parts: number) => {
      nn.manual_seed(1);
      const project = new nn.Linear(32, 1);
      const weight = project.get_parameter('weight'); // records from now on
      const loss: OwnLoss = ({ embeddings: [x] }) => (project.forward(x as nn.Tensor) as nn.Tensor).pow(2).mean();
      const trainer = await load({ loss, max_steps: 1, gradient_accumulation_steps: parts });
      await trainer.fit(kSentences.map((text) => ({ text })));
      await trainer.dispose();
      return [...(weight.grad as nn.Tensor).data];
    };
    const whole = await gradientOf(1);
    for (const parts of [2, 3]) expect(largestDifference(await gradientOf(parts), whole)).toBeLessThan(1e-6);
  });

  it.each<[string, OwnLoss, RegExp]>([
    ['a number', (() => 1) as never, /option 'loss': expected it to return an nn.Tensor with one number, found 1/],
    ['several numbers', ({ embeddings: [x] }) => x as nn.Tensor, /expected it to return an nn.Tensor with one number/],
    ['what does not depend on the model', () => nn.tensor([1]).sum(), /expected a loss that depends on the outputs/],
    ['NaN', ({ embeddings: [x] }) => (x as nn.Tensor).sum().mul(NaN), /expected a finite loss/],
  ])('is refused if it gives %s, and the model stays as it was', async (_, loss, message) => {
    let fails = true;
    const trainer = await load({
      loss: (outputs, rows) => (fails ? loss : byCosine)(outputs, rows),
      gradient_accumulation_steps: 2,
    });
    const before = [...(await trainer.embed(kSentences)).data];
    await expectError(() => trainer.fit(kScored), 'InputError', message);
    expect([...(await trainer.embed(kSentences)).data]).toEqual(before);
    fails = false;
    const { grad_norm } = (await trainer.fit(kScored)) as TrainingReport;
    expect(grad_norm).toBeGreaterThan(0);
    await trainer.dispose();
  });

  it('may throw: nothing of its batch is learned', async () => {
    let calls = 0;
    const throws: OwnLoss = (outputs, rows) => {
      if (++calls === 2) throw new RangeError('mine');
      return byCosine(outputs, rows);
    };
    const trainer = await load({ loss: throws, gradient_accumulation_steps: 3, max_steps: 1 });
    await expect(trainer.fit(kScored)).rejects.toThrow(new RangeError('mine'));
    const { loss, grad_norm } = (await trainer.fit(kScored)) as TrainingReport;
    expectClose([loss, grad_norm], await numbersOf({ loss: byCosine, gradient_accumulation_steps: 3, max_steps: 1 }, kScored));
    await trainer.dispose();
  });

  it('is a function or a name', async () => {
    await expectError(
      load({ loss: 'FooLoss' as never }),
      'InputError',
      /option 'loss': expected one of .* or a function, found 'FooLoss'/,
    );
    const smoothed = await load({ label_smoothing_factor: 0.1 });
    await expectError(
      () => smoothed.fit(kScored),
      'InputError',
      /'label_smoothing_factor': expected CrossEntropyLoss with it, found CoSENTLoss/,
    );
    await smoothed.dispose();
  });
});

describe('parts of a batch', () => {
  // When 7 rows are divided, 2 parts have 4 and 3, 3 parts 3, 3 and 1; their tokens differ more.
  const cases: [string, Partial<TrainerOptions>, readonly object[]][] = [
    ['labels', { task: 'text-classification', loss: 'CrossEntropyLoss' }, kLabelled],
    ['numbers', { task: 'text-classification' }, kSentences.map((text, i) => ({ text, label: i / 3 }))],
    ['several labels', { task: 'text-classification' }, kLabelled.map(({ text, label }) => ({ text, labels: [label, 'all'] }))],
    ['tags', { task: 'token-classification' }, kTagged],
    ['scores', { loss: 'CosineSimilarityLoss' }, kScored],
    ['language', { task: 'text-generation' }, kTold],
  ];
  it.each(cases)('weigh what they hold: %s', async (_, options, rows) => {
    const given = { ...options, batch_size: rows.length };
    const model = options.task === 'text-generation' ? decoder() : tiny;
    const whole = await numbersOf(given, rows, model);
    for (const parts of [2, 3]) expectClose(await numbersOf({ ...given, gradient_accumulation_steps: parts }, rows, model), whole);
  });
});
