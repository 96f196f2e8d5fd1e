// Numeric options are checked as in torch's and scikit-learn's constructors: each range at its ends and just beyond, NaN and Infinity.
import { Classifier, nn, pipeline, redact, Tensor, Word2Vec } from 'wattn';
import { Trainer, type TrainerOptions } from 'wattn/train';
import { readOptions, type Rules } from '../../web/core/options.js';
import { failure, tiny } from './support.js';

/** A call with one option, and the range of its numbers as the message says it. ok, bad: beside NaN, and Infinity where it is bad. */
interface Case {
  name: string;
  call: (value: number) => unknown;
  expected: string;
  ok: number[];
  bad: number[];
}

const trainer = (name: keyof TrainerOptions, expected: string, ok: number[], bad: number[]): Case => ({
  name: `Trainer ${name}`,
  // A wrong value is refused before the model, which is not there, is asked for.
  call: (value) => Trainer.from_pretrained({ 'config.json': new Uint8Array(1) }, { task: 'feature-extraction', [name]: value }),
  expected,
  ok,
  bad,
});
const vectors = new Tensor('float32', [1, 0, 0, 1, 1, 0, 0, 1], [4, 2]);
const classifier = (name: string, expected: string, ok: number[], bad: number[], more = {}): Case => ({
  name: `Classifier.fit ${name}`,
  call: (value) => Classifier.fit(null as never, vectors, ['a', 'b', 'a', 'b'], { [name]: value, epochs: 1, ...more }),
  expected,
  ok,
  bad,
});
const word2vec = (name: string, expected: string, ok: number[], bad: number[]): Case => ({
  name: `Word2Vec.train ${name}`,
  call: (value) => Word2Vec.train(['a b', 'a b'], { min_count: 1, vector_size: 2, epochs: 1, [name]: value }),
  expected,
  ok,
  bad,
});
const optimizer = (kind: 'SGD' | 'Adam' | 'AdamW', name: string, expected: string, ok: number[], bad: number[]): Case => ({
  name: `nn.optim.${kind} ${name}`,
  call: (value) =>
    new nn.optim[kind]([new nn.Parameter(nn.ones(1))], name.startsWith('beta') ? { betas: name === 'beta1' ? [value, 0.9] : [0.9, value] } : { [name]: value }), // prettier-ignore
  expected,
  ok,
  bad,
});

const [kFromZero, kAboveZero, kBelowOne] = [
  'a number from 0 on',
  'a number above 0',
  /a number from 0 to below 1|numbers from 0 to below 1/.source,
];
const kCases: Case[] = [
  trainer('learning_rate', kFromZero, [0, 1e-300], [-1e-300, -1]),
  trainer('weight_decay', kFromZero, [0], [-0.1]),
  trainer('adam_epsilon', kFromZero, [0], [-1e-8]),
  trainer('adam_beta1', kBelowOne, [0, 0.999], [-0.1, 1]),
  trainer('adam_beta2', kBelowOne, [0, 0.999], [-0.1, 1]),
  trainer('max_grad_norm', kFromZero, [0, Infinity], [-1]),
  trainer('lora_dropout', kBelowOne, [0, 0.99], [-0.1, 1]),
  trainer('lora_alpha', kAboveZero, [0.1], [0, -1]),
  trainer('scale', kAboveZero, [0.1], [0, -1]),
  trainer('temperature', kAboveZero, [0.1], [0, -1]),
  trainer('margin', 'a finite number', [-1, 0], [-Infinity]),
  trainer('epochs', kAboveZero, [0.1], [0, -1]),
  trainer('r', 'a whole number from 1 on', [1], [0, -1, 1.5, 2 ** 31]),
  trainer('batch_size', 'a whole number from 1 on', [1], [0, -1, 1.5]),
  trainer('gradient_accumulation_steps', 'a whole number from 1 on', [1], [0, -1, 1.5]),
  trainer('label_smoothing_factor', 'a number from 0 to 1', [0, 1], [-0.1, 1.1]),
  trainer('warmup_steps', 'a whole number from 0 on', [0], [-1, 0.5]),
  classifier('C', kAboveZero, [1], [0, -1]),
  classifier('tolerance', kAboveZero, [1e-3], [0, -1]),
  classifier('learning_rate', kAboveZero, [1e-3], [0, -1], { kind: 'mlp' }),
  classifier('weight_decay', kFromZero, [0], [-1], { kind: 'mlp' }),
  classifier('hidden_size', 'expected (a whole number from 1 on|at most 1048576)', [1], [0, 2 ** 20 + 1], { kind: 'mlp' }),
  word2vec('alpha', kFromZero, [0], [-1]),
  word2vec('min_alpha', kFromZero, [0], [-1]),
  word2vec('sample', kFromZero, [0], [-1]),
  word2vec('ns_exponent', 'a finite number', [-1, 0], [-Infinity]),
  optimizer('SGD', 'lr', kFromZero, [0], [-1e-300]),
  optimizer('SGD', 'momentum', kFromZero, [0], [-0.1]),
  optimizer('SGD', 'weight_decay', kFromZero, [0], [-0.1]),
  optimizer('SGD', 'dampening', 'a finite number', [-1], [-Infinity]),
  ...(['Adam', 'AdamW'] as const).flatMap((kind) => [
    optimizer(kind, 'lr', kFromZero, [0], [-1]),
    optimizer(kind, 'eps', kFromZero, [0], [-1]),
    optimizer(kind, 'weight_decay', kFromZero, [0], [-1]),
    optimizer(kind, 'beta1', kBelowOne, [0], [-0.1, 1]),
    optimizer(kind, 'beta2', kBelowOne, [0], [-0.1, 1]),
  ]),
  {
    name: 'nn.utils.clip_grad_norm_',
    call: (value) => nn.utils.clip_grad_norm_([new nn.Parameter(nn.ones(1))], value),
    expected: kFromZero,
    ok: [0, Infinity],
    bad: [-1],
  },
];

beforeAll(() => nn.ready());

describe('a number outside its range is an InputError that names option and range', () => {
  it.each(kCases)('$name', async ({ call, expected, ok, bad }) => {
    for (const value of [NaN, ...bad, ...(ok.includes(Infinity) ? [] : [Infinity])]) {
      const { name, message } = await failure(async () => call(value));
      expect({ value, name, message }).toEqual({ value, name: 'InputError', message: expect.stringMatching(expected) });
    }
    for (const value of ok) {
      const { message } = await failure(async () => {
        await call(value);
        throw new Error('taken');
      });
      expect({ value, message }).not.toEqual({ value, message: expect.stringMatching(expected) });
    }
  });

  it('of redact, too', async () => {
    const ner = await pipeline('feature-extraction', tiny); // whatever it is: the threshold is checked first
    for (const threshold of [NaN, -0.1, 1.1]) {
      expect((await failure(redact(ner as never, 'a', { threshold }))).message).toMatch(
        /'threshold': expected a number from 0 to 1/,
      );
    }
    await ner.dispose();
  });
});

describe('readOptions', () => {
  const rules: Rules = {
    half: '[0,1)',
    open: '(0,1]',
    number: 'number',
    finite: '(-Infinity,Infinity)',
  };
  it.each([
    [{ half: 0, open: 1, number: Infinity, finite: -1e308 }, undefined],
    [{ half: 1 }, "f: option 'half': expected a number from 0 to below 1, found 1"],
    [{ half: '0.5' }, "f: option 'half': expected a number from 0 to below 1, found '0.5'"],
    [{ open: 0 }, "f: option 'open': expected a number above 0 to 1, found 0"],
    [{ number: NaN }, "f: option 'number': expected a number, found NaN"],
    [{ finite: Infinity }, "f: option 'finite': expected a finite number, found Infinity"],
    [{ half: 1n }, "f: option 'half': expected a number from 0 to below 1, found 1"],
  ])('%p', (options, message) => {
    if (message === undefined) expect(() => readOptions('f', options, rules)).not.toThrow();
    else expect(() => readOptions('f', options, rules)).toThrow(message);
  });
});
