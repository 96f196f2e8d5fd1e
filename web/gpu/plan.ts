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
  attentions: AttentionConstants[];
  /** For each weight the first one that has the same memory. */
  weights: Int32Array;
  hidden: number;
  positions: number;
}

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
          : place! > 1
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
  return { uses: uses.filter(({ section }) => section >= 0), attentions, weights, hidden, positions };
}

/** The activations of shaders/activations.ts. */
const kActivations = ['', 'gelu', 'relu', 'tanh', 'gelu_tanh', 'silu', 'sigmoid'];
const kOps = 'words add_rows scale norm head_norm rotate linear activate gate add attention softcap'.split(' ');

/** What of a plan no kernel here does; undefined: all of it can be run. */
export function unsupportedIn({ uses, attentions }: Plan): string | undefined {
  for (const { values, steps } of uses) {
    for (const { op, variant, x, other, out, attention } of steps) {
      if (!kOps.includes(op)) return `the op '${op}'`;
      if (['linear', 'activate', 'gate'].includes(op) && !kActivations.includes(variant)) return `the activation '${variant}'`;
      const rare = [x, other, out].map((value) => values[value]?.rare).find(Boolean);
      if (rare) return rare;
      if (op !== 'attention') continue;
      const { cross, keyWidth, valueWidth } = attentions[attention]!;
      if (cross) return 'cross attention';
      if (other >= 0) return 'relative positions of queries and keys';
      if (keyWidth % 4 !== 0 || valueWidth % 4 !== 0) return `heads of width ${keyWidth} and ${valueWidth}`;
      if (keyWidth + valueWidth > 1024) return `heads of width ${keyWidth}`;
    }
  }
  return undefined;
}

/**
 * How far a result may be from the processor's: the length of the difference over the length of the processor's. Both round each sum of K
 * products to about sqrt(K) units of 2^-24, and norms keep what layers add of the size of their input, so errors of all products and sums add up; 4 is
 * the room for the functions that a GPU has for exp, division and roots, which WGSL allows a few units more.
 * In q8 a difference may move an activation to the next of 192 steps of its group's range, which is at most about 6 of its standard deviations: the row
 * then differs by 6 / 192 of the root of its width. Later products add to it, as such steps are independent.
 */
export function boundOf({ uses, attentions, hidden }: Plan, q8: boolean): number {
  let roundings = 0;
  let products = 0;
  for (const { steps, values } of uses) {
    for (const { op, x, attention } of steps) {
      const terms =
        op === 'linear' || op === 'norm' ? values[x]!.width : op === 'attention' ? 4 * attentions[attention]!.keyWidth : 1;
      roundings += Math.sqrt(terms);
      if (op === 'linear') ++products;
    }
  }
  const f32 = 4 * roundings * 2 ** -24;
  return q8 ? f32 + (6 / 192) * Math.sqrt(products / hidden) : f32;
}
