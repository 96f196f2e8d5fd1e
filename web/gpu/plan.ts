// The plan of a model (src/plan/plan.h) as it crosses, and what of it the kernels here can run.
import type { DevicePlanAnswer } from '../host/seam.js';

/** A value of a section: where it lies, and its width in floats. */
export interface Value {
  width: number;
  /** It goes from layer to layer. */
  inStream: boolean;
  /** Why it cannot be used; '' if it can. */
  rare: string;
}

/** One op. x, other and out number values of the section, weight a weight of the layer, attention a row of constants; -1: none. */
export interface Step {
  /** In the whole plan. */
  number: number;
  op: string;
  variant: string;
  x: number;
  other: number;
  out: number;
  weight: number;
  attention: number;
  factor: number;
}

/** The constants of attention. */
export interface AttentionConstants {
  heads: number;
  kvHeads: number;
  keyWidth: number;
  valueWidth: number;
  /** Tokens before and after a query that it attends to; -1: all. */
  before: number;
  after: number;
  cross: boolean;
  scale: number;
  softcap: number;
}

/** A section with the weights of one layer. */
export interface Use {
  section: number;
  values: Value[];
  steps: Step[];
  firstWeight: number;
  scoreDivisor: number;
}

export interface Plan {
  /** The embeddings, each layer, and the final norm if there is one. */
  uses: Use[];
  /** The head over the vocabulary, over rows of the last states. */
  head: Use | undefined;
  attentions: AttentionConstants[];
  /** For each weight the first one that has the same memory. */
  weights: Int32Array;
  hidden: number;
  positions: number;
}

/** The place of the logits. */
const kLogits = 3;

/** rows of `width` numbers. */
const rowsOf = (all: Int32Array, width: number): number[][] =>
  Array.from({ length: all.length / width }, (_, i) => [...all.subarray(i * width, (i + 1) * width)]);

export function readPlan(answer: DevicePlanAnswer): Plan {
  const values = rowsOf(answer.values, 4).map(([width, place, of, rows]): Value => ({
    width: width!,
    inStream: place === 1,
    rare:
      rows !== 0
        ? 'values that are not of tokens'
        : of! >= 0
          ? 'a step that reads some columns'
          : place! > 1 && place !== kLogits
            ? 'a place of its own'
            : '',
  }));
  const steps = rowsOf(answer.steps, 5).map(([x, other, out, weight, attention], number): Step => ({
    number,
    op: answer.ops[number]!,
    variant: answer.variants[number]!,
    x: x!,
    other: other!,
    out: out!,
    weight: weight!,
    attention: attention!,
    factor: answer.factors[number]!,
  }));
  const sections = rowsOf(answer.sections, 4).map(([value, count, step, number]) => ({
    values: values.slice(value, value! + count!),
    steps: steps.slice(step, step! + number!),
  }));
  const uses = rowsOf(answer.uses, 2).map(([section, firstWeight], i) => ({
    section: section!,
    ...(sections[section!] ?? { values: [], steps: [] }),
    firstWeight: firstWeight!,
    scoreDivisor: answer.score_divisors[i - 1] ?? 1,
  }));
  const [head] = uses.splice(-1).filter(({ section }) => section >= 0);
  const attentions = rowsOf(answer.attentions, 8).map(
    ([heads, kvHeads, keyWidth, valueWidth, before, after, causal, cross], i): AttentionConstants => ({
      heads: heads!,
      kvHeads: kvHeads!,
      keyWidth: keyWidth!,
      valueWidth: valueWidth!,
      before: before!,
      after: causal ? 0 : after!,
      cross: cross !== 0,
      scale: answer.attention_factors[2 * i]!,
      softcap: answer.attention_factors[2 * i + 1]!,
    }),
  );
  const { weights, hidden, positions } = answer;
  return { uses: uses.filter(({ section }) => section >= 0), head, attentions, weights, hidden, positions };
}

/** The activations of shaders/activations.ts. */
const kActivations = ['', 'gelu', 'relu', 'tanh', 'gelu_tanh', 'silu', 'sigmoid', 'relu2'];
const kOps = 'words add_rows scale norm head_norm rotate linear activate gate add attention softcap'.split(' ');

/** What of a plan no kernel here does; undefined: all of it can be run. cached: sequences go on in slots. */
export function unsupportedIn({ uses, head, attentions }: Plan, cached: boolean): string | undefined {
  if (cached !== (head !== undefined)) return head ? 'a head over the vocabulary' : 'no head over the vocabulary';
  for (const { values, steps } of head ? [...uses, head] : uses) {
    for (const { op, variant, x, other, out, attention } of steps) {
      if (!kOps.includes(op)) return `the op '${op}'`;
      if (['linear', 'activate', 'gate'].includes(op) && !kActivations.includes(variant)) return `the activation '${variant}'`;
      const rare = [x, other, out].map((value) => values[value]?.rare).find(Boolean);
      if (rare) return rare;
      if (cached && variant === 'positions after padding') return variant;
      if (op !== 'attention') continue;
      const { cross, after, keyWidth, valueWidth } = attentions[attention]!;
      if (cached && after !== 0) return 'attention to what follows';
      if (cross) return 'cross attention';
      if (other >= 0) return 'relative positions of queries and keys';
      if (keyWidth + valueWidth > 1024) return `heads of width ${keyWidth}`;
    }
  }
  return undefined;
}

/**
 * How far rows of sums may be from another machine's, as a share of their length. terms: the numbers in a sum; of sums of sums, in all of them.
 * A sum of K numbers like each other has partial sums that grow as the root of their count. Each is rounded, by an error that is uniform within 2^-24 of it and so
 * has a third of that, squared, as its variance. Together they are K^2 / 6 such squares, which is K / 6 over the square of the result. Two machines
 * that round differently differ by twice that. Errors of sums over sums are independent, and residuals and norms keep them as shares, so that
 * variances add up. All are times 4: trained matrices cancel some of what they add, and the bound is for the worst row.
 */
export const roundingsOfSums = (terms: number): number => 4 * 2 ** -24 * Math.sqrt(terms / 3);

/** In terms of a sum, what a device's exp(), division or root adds: WGSL allows some 9 units of 2^-24 where results matter. */
const kFunction = 3 * 9 ** 2;

/**
 * How far rows that some uses compute may be from the processor's, from the same input. A score of attention becomes a share by exp(), whose relative error is the
 * score's absolute one: scores are about 4, which is 16 in the square.
 */
export function roundingsOf({ attentions }: Plan, uses: readonly Use[]): number {
  let terms = 0;
  for (const { steps, values } of uses) {
    for (const { op, variant, x, attention } of steps) {
      if (op === 'linear') terms += values[x]!.width + (variant ? kFunction : 0);
      else if (op === 'norm') terms += values[x]!.width + kFunction;
      else if (op === 'head_norm') terms += attentions[attention]!.keyWidth + kFunction;
      else if (op === 'attention') terms += 16 * attentions[attention]!.keyWidth + kFunction;
      else terms += ['activate', 'gate', 'softcap'].includes(op) ? kFunction : 3;
    }
  }
  return roundingsOfSums(terms);
}

/**
 * How far rows may be if products are in f16. An activation is rounded to f16, by an error that is uniform within 2^-11 of it. So is each partial sum of a chain of
 * 16, which adds 136 / 16 such squares for each product. Together they are 9.5 / 3 squares of 2^-11, and products of independent errors add up. Times 4, as above.
 */
export function roundingsOfHalves(uses: readonly Use[]): number {
  const products = uses.reduce((sum, { steps }) => sum + steps.filter(({ op }) => op === 'linear').length, 0);
  return 4 * 2 ** -11 * Math.sqrt((products * 9.5) / 3);
}

/**
 * How far a row may be in q8 if it attends to rows with activations that were rounded to another step. One of 32 keys has a value that differs by a
 * step, which is 6 / 192 of a standard deviation, in one of `width` numbers. Four such keys are twice that.
 */
export const fewSteps = (width: number): number => (2 * (6 / 192)) / 32 / Math.sqrt(width);

/**
 * How far a row may be in q8 if some of its activations were rounded to another step of the 192 of their group's range. A range is about 6 standard deviations,
 * the difference of two roundings has a variance of a sixth of a step's square, and products of independent steps add up.
 */
export function stepsOf(uses: readonly Use[]): number {
  const products = uses.reduce((sum, { steps }) => sum + steps.filter(({ op }) => op === 'linear').length, 0);
  return (6 / 192) * Math.sqrt(products / 6);
}
