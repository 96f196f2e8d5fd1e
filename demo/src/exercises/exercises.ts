// The exercises: each asks for a number or a choice, and its answer is computed from what the page's model did with the sentence.
import { cos_sim, type EmbedOptions, type FeatureExtractionPipeline } from 'wattn';
import { nn, Tensor } from 'wattn/nn';
import { firstToken, kindOf, kKinds, linkToTell } from '../attention/kinds.js';
import { stepsOf } from '../attention/head_steps.js';
import type { Inside } from '../attention/use_inside.js';
import { move } from '../positions/attend.js';
import { plainToken } from '../ui/words.js';
import type { ExerciseId } from './list.js';

/** Rows of numbers to work with, each with a name. */
export interface Given {
  name: string;
  numbers: readonly string[];
}

export interface Exercise {
  id: ExerciseId;
  /** What to know first, in a sentence or two. */
  rule: string;
  asks: string;
  given: Given[];
  /** What heads the numbers of each row. */
  columns?: readonly string[];
  /** The right answer: a number and how far off one may be, or one of the choices. */
  answer: { number: number; within: number; unit?: string } | { choice: number; choices: readonly string[] };
  hint: string;
  /** How one gets there. */
  because: string;
  /** What the model itself says. */
  model: string;
  /** Where to see it: a panel's address, and what that is called. */
  see: readonly [address: string, name: string];
}

export interface Material {
  inside: Inside;
  embed: FeatureExtractionPipeline;
  options: EmbedOptions;
}

const kNumbers = 4; // of a vector, to multiply by hand
const kScores = 3; // to put through softmax
const kTokens = 6; // to choose from
const kNear = 1e-5; // of float32 sums in another order

const sign = (text: string) => text.replace('-', '−');
const short = (value: number, digits = 1) => sign((Math.round(value * 10 ** digits) / 10 ** digits + 0).toFixed(digits));
const rounded = (value: number, digits = 1) => Number(value.toFixed(digits));
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** The head and the token that the first exercises are about. */
function scene(inside: Inside) {
  const from = firstToken(inside);
  const { layer, head } = linkToTell(inside, from) ?? { layer: 0, head: 0 };
  const part = (all: Float32Array[][]) => all[layer]?.[head] ?? new Float32Array();
  const steps = stepsOf(from, inside.headDim, {
    queries: part(inside.queries),
    keys: part(inside.keys),
    values: part(inside.values),
    attention: part(inside.attentions),
  });
  const words = inside.tokens.map(plainToken);
  /** The tokens that get the most attention, most first. */
  const best = steps.weights.map((_, i) => i).sort((a, b) => (steps.weights[b] as number) - (steps.weights[a] as number));
  return { from, layer, head, steps, words, best, where: `layer ${layer + 1}, head ${head + 1}` };
}

function dotExercise({ inside }: Material): Exercise {
  const { from, steps, words, best, where } = scene(inside);
  const to = best.find((i) => i !== from) ?? 0;
  const [query, key] = [steps.query, steps.keys[to] as Float32Array].map((all) => Array.from(all.slice(0, kNumbers), (x) => rounded(x))) as [number[], number[]]; // prettier-ignore
  const products = query.map((x, i) => x * (key[i] as number));
  return {
    id: 'dot',
    rule: 'A dot product multiplies two vectors number by number and adds up the products. It is large when both vectors point the same way.',
    asks: `Here are the first ${kNumbers} numbers of the query of “${words[from]}” and of the key of “${words[to]}”. What is their dot product?`,
    given: [
      { name: `q of “${words[from]}”`, numbers: query.map((x) => short(x)) },
      { name: `k of “${words[to]}”`, numbers: key.map((x) => short(x)) },
    ],
    answer: { number: sum(products), within: 0.06 },
    hint: 'Multiply the two numbers in each column, then add the products. Two minus signs make a plus.',
    because: `${products.map((x) => (x < 0 ? `(${short(x, 2)})` : short(x, 2))).join(' + ')} = ${short(sum(products), 2)}`,
    model: `With all ${inside.headDim} numbers, not rounded, the model gets ${short(steps.scores[to] as number, 2)} (${where}).`,
    see: ['#attention?view=steps', 'Attention, step by step'],
  };
}

function softmaxExercise({ inside }: Material): Exercise {
  const { steps, words, best, from, where } = scene(inside);
  const chosen = best.slice(0, kScores);
  const scores = chosen.map((i) => rounded(steps.scaled[i] as number));
  const exps = scores.map(Math.exp);
  const share = (exps[0] as number) / sum(exps);
  return {
    id: 'softmax',
    rule: 'Softmax turns scores into percentages: exp of each score, divided by the sum of all of them. The percentages add up to 100.',
    asks: `These are the scores of “${words[from]}” for ${chosen.length} tokens. Counting only these, what percentage does “${words[chosen[0] as number]}” get?`,
    given: [{ name: 'score', numbers: scores.map((x) => short(x)) }],
    columns: chosen.map((i) => words[i] as string),
    answer: { number: 100 * share, within: 1.5, unit: '%' },
    hint: 'First compute e to the power of each score (a calculator helps). Only differences count, so you may subtract the largest score from all of them.',
    because: `exp gives ${exps.map((x) => short(x, 2)).join(', ')}, together ${short(sum(exps), 2)}; the first is ${percent(share)} of that.`,
    model: `Among all ${words.length} tokens, the model gives it ${percent(steps.weights[chosen[0] as number] as number)} (${where}).`,
    see: ['#attention?view=steps', 'Attention, step by step'],
  };
}

function queryExercise({ inside }: Material): Exercise {
  const { steps, words, best, from, where } = scene(inside);
  const shown = best.slice(0, kTokens).sort((a, b) => a - b);
  const right = best[0] as number;
  return {
    id: 'query',
    rule: 'A token looks with its query q, and every token is found by its key k. The score is q · k, divided by the square root of their length.',
    asks: `These are the dot products q · k of “${words[from]}” with ${shown.length} tokens, before they are divided by √${inside.headDim}. Which token does it attend to most?`,
    given: [{ name: 'q · k', numbers: shown.map((i) => short(steps.scores[i] as number)) }],
    columns: shown.map((i) => words[i] as string),
    answer: { choice: shown.indexOf(right), choices: shown.map((i) => `${words[i]} (token ${i + 1})`) },
    hint: 'Dividing all scores by the same number does not change their order, and neither does softmax.',
    because: `${short(steps.scores[right] as number)} is the largest score, so it also gets the most attention.`,
    model: `The model's attention: ${shown.map((i) => `“${words[i]}” ${percent(steps.weights[i] as number)}`).join(', ')} (${where}).`,
    see: ['#whole', 'The whole model'],
  };
}

/** How much each head looks at the token before: the mean share over tokens. */
function backShares({ tokens, attentions }: Inside): { layer: number; head: number; share: number }[] {
  const seq = tokens.length;
  return attentions.flatMap((heads, layer) =>
    heads.map((weights, head) => {
      let share = 0;
      for (let i = 1; i < seq; ++i) share += (weights[i * seq + i - 1] as number) / (seq - 1);
      return { layer, head, share };
    }),
  );
}

function headsExercise({ inside }: Material): Exercise {
  const seq = inside.tokens.length;
  const words = inside.tokens.map(plainToken);
  const sorted = backShares(inside).sort((a, b) => b.share - a.share);
  const spread = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)].filter((one, i, all) => one && all.indexOf(one) === i) as typeof sorted; // prettier-ignore
  const shown = spread.sort((a, b) => a.layer - b.layer || a.head - b.head);
  const right = shown.indexOf(sorted[0] as (typeof sorted)[number]);
  const asked = words.map((_, i) => i).slice(1, 1 + kTokens);
  const weightsOf = ({ layer, head }: (typeof shown)[number]) => inside.attentions[layer]?.[head] as Float32Array;
  const strongest = (weights: Float32Array, i: number) => {
    const row = weights.subarray(i * seq, (i + 1) * seq);
    return words[row.indexOf(Math.max(...row))] as string;
  };
  const nameOf = (i: number) => `Head ${'ABC'[i]}`;
  return {
    id: 'heads',
    rule: 'Each head has its own queries and keys, so each looks for something different. Some look at the previous token, some at the first and last token, some at words.',
    asks: 'For three heads, the table shows the token that each token looks at most. Which head looks back at the previous token?',
    given: shown.map((one, i) => ({ name: nameOf(i), numbers: asked.map((token) => strongest(weightsOf(one), token)) })),
    columns: asked.map((i) => words[i] as string),
    answer: { choice: right, choices: shown.map((_, i) => nameOf(i)) },
    hint: 'Read each row from left to right. In the head that looks back, each entry is the token one column to the left.',
    because: `In ${nameOf(right)}, most tokens look at their left neighbour.`,
    model: `Attention to the previous token: ${shown.map(({ layer, head, share }, i) => `${nameOf(i)} (layer ${layer + 1}, head ${head + 1}; it looks at ${kKinds[kindOf(inside, weightsOf({ layer, head, share }))]}) ${percent(share)}`).join(', ')}.`,
    see: ['#attention', 'Attention'],
  };
}

const kOrders = ['the dog bites the man', 'the man bites the dog'] as const;

async function positionsExercise({ embed, options }: Material): Promise<Exercise> {
  const words = kOrders[0].split(' ');
  const { change } = move(words, [0, 4, 2, 3, 1], 'none');
  const [one, other] = (await embed([...kOrders], options)).tolist() as [number[], number[]];
  const cosine = cos_sim(one, other);
  const same = [change <= kNear, 1 - cosine <= kNear];
  return {
    id: 'positions',
    rule: 'Attention compares every token with every other, regardless of their order. Word order enters only through positions.',
    asks: `“${kOrders[0]}” and “${kOrders[1]}”: which of these gives both sentences the same vector?`,
    given: [],
    answer: {
      choice: same[0] ? (same[1] ? 2 : 0) : same[1] ? 1 : 3,
      choices: ['Attention without positions', 'This model', 'Both', 'Neither'],
    },
    hint: 'Without positions, a sentence is a bag of words. Was this model trained with them?',
    because: 'Both sentences have the same words. Without positions, each word sees the same other words, so nothing changes.',
    model: `Without positions, the words' vectors differ by ${change <= kNear ? '0' : change.toFixed(3)}. This model's vectors of the two sentences have a cosine of ${cosine.toFixed(3)}.`,
    see: ['#positions', 'Positions'],
  };
}

const kRanges = ['It is replaced: below 0.3', 'It is mixed: 0.3 to 0.8', 'It is mostly unchanged: above 0.8'] as const;

function blockExercise({ inside }: Material): Exercise {
  const from = firstToken(inside);
  const { hiddenSize: size, inputs, tokens } = inside;
  const states = inputs.map((all) => all.subarray(from * size, (from + 1) * size));
  const cosines = states.slice(1).map((state, i) => cos_sim(states[i] as Float32Array, state));
  const first = cosines[0] ?? 1;
  const word = plainToken(tokens[from] as string);
  return {
    id: 'block',
    rule: 'A block is attention followed by a feed-forward network. The output of each is added to the vector (a residual connection), and a norm rescales it.',
    asks: `How much of “${word}” is left after the first block? Guess the cosine of its vector before and after.`,
    given: [
      { name: 'before', numbers: Array.from((states[0] as Float32Array).slice(0, kTokens), (x) => short(x, 2)) },
      { name: 'after', numbers: Array.from((states[1] ?? (states[0] as Float32Array)).slice(0, kTokens), (x) => short(x, 2)) },
    ],
    answer: { choice: first < 0.3 ? 0 : first <= 0.8 ? 1 : 2, choices: kRanges },
    hint: 'Compare the two rows column by column: do large numbers stay large, and do signs stay the same?',
    because: `The block adds to the vector instead of replacing it. The cosine is ${short(first, 2)}.`,
    model: `From block to block, the model's cosines for “${word}” are ${cosines.map((one) => short(one, 2)).join(', ')}.`,
    see: ['#whole', 'The whole model'],
  };
}

const kStep = { weight: 2, input: 3, target: 4, rate: 0.05 } as const;

/** One step of gradient descent, by the library. */
async function trainingExercise(): Promise<Exercise> {
  await nn.ready();
  const { weight, input, target, rate } = kStep;
  const learned = new nn.Linear(1, 1, { bias: false });
  learned.load_state_dict({ weight: new Tensor('float32', [weight], [1, 1]) });
  const [x, y] = [input, target].map((value) => new Tensor('float32', [value], [1, 1])) as [Tensor<'float32'>, Tensor<'float32'>];
  const lossNow = () => nn.functional.mse_loss(learned.forward(x), y);
  const optimizer = new nn.optim.SGD(learned.parameters(), { lr: rate });
  optimizer.zero_grad();
  const before = lossNow();
  before.backward();
  const gradient = learned.parameters()[0]?.grad?.data[0] as number;
  optimizer.step();
  const after = learned.state_dict().weight?.data[0] as number;
  const loss = nn.no_grad(lossNow);
  return {
    id: 'training',
    rule: 'Training moves each weight against its gradient: w becomes w − rate × gradient. For the loss (w·x − y)², the gradient is 2 · (w·x − y) · x.',
    asks: `With w = ${weight}, x = ${input}, y = ${target} and a rate of ${rate}: what is w after one step?`,
    given: [],
    answer: { number: after, within: 0.011 },
    hint: `w·x − y is ${weight * input - target}. Twice that, times x, is the gradient.`,
    because: `The gradient is 2 · ${weight * input - target} · ${input} = ${gradient}, so w = ${weight} − ${rate} · ${gradient} = ${short(after, 2)}.`,
    model: `wattn's optimizer gives ${short(after, 4)}, and the loss falls from ${short(before.item(), 2)} to ${short(loss.item(), 2)}.`,
    see: ['#lessons', 'Experiments that train'],
  };
}

/** All of them, in their order. */
export async function makeExercises(material: Material): Promise<Exercise[]> {
  await nn.ready();
  return [
    dotExercise(material),
    softmaxExercise(material),
    queryExercise(material),
    headsExercise(material),
    await positionsExercise(material),
    blockExercise(material),
    await trainingExercise(),
  ];
}

/** What a person typed, as a number; both signs for minus and both for a decimal point. */
export function readNumber(text: string): number | undefined {
  const plain = text.trim().replace(/[−–]/g, '-').replace(',', '.').replace(/\s*%$/, '');
  return plain !== '' && Number.isFinite(Number(plain)) ? Number(plain) : undefined;
}

export function isRight({ answer }: Exercise, given: number): boolean {
  return 'choice' in answer ? given === answer.choice : Math.abs(given - answer.number) <= answer.within;
}

/** The right answer in words. */
export const rightAnswer = ({ answer }: Exercise): string =>
  'choice' in answer
    ? (answer.choices[answer.choice] as string)
    : `${short(answer.number, answer.unit ? 1 : 2)}${answer.unit ? ` ${answer.unit}` : ''}`;
