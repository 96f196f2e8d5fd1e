// Shows that a device reads and writes tokens as the processor does. It tries each part of the plan over many tokens, few and one, and the head over
// the vocabulary. Then it tries a text that is read in part and goes on token by token. What is wrong is a DeviceError.
import { sequencesOf } from './batch.js';
import type { Plan } from './plan.js';
import type { Program } from './program.js';
import { checkPart, checkWhole, distances, idsOf, kProbes, partsOf, referenceOf, type Proof, type Reference } from './proof.js';
import { kFew } from './steps.js';
import type { Call } from './weights.js';

/** Tokens of the text: more than a tile of keys and a block of queries have. */
const kTokens = 45;
/** Tokens that are read one by one. */
const kOneByOne = 4;

export interface TokenReference extends Reference {
  ids: Int32Array;
  /** Those of the first tokens, kFew at most: [tokens, vocab]. */
  logits: Float32Array;
}

/** The first tokens of the longest probe text, again and again if it has fewer. vocab: ids of it in place of a text. */
export function probeIds(call: Call, count: number, vocab?: number): Int32Array {
  if (vocab) return idsOf(vocab, count);
  const { ids } = call((handle) => handle.encode([kProbes[kProbes.length - 1]!], undefined, {}));
  return Int32Array.from({ length: count }, (_, i) => ids[i % Math.max(ids.length, 1)] ?? 0);
}

/** What the processor computes. It ends a generation: later devices are proven with the same. */
export function tokenReferenceOf(plan: Plan, q8: boolean, call: Call, vocab?: number): TokenReference {
  const ids = probeIds(call, Math.min(kTokens, plan.positions), vocab);
  const reference = referenceOf(plan, q8, call, sequencesOf([{ slot: 0, position: 0, ids }]));
  const first = sequencesOf([{ slot: 0, position: 0, ids: ids.subarray(0, kFew) }]);
  const positions = Int32Array.from(first.ids, (_, i) => i);
  const { logits } = call((handle) =>
    handle.forward(first.ids, first.typeIds, positions, first.starts, null, null, null, null, [], [], { logits: true }),
  );
  return { ...reference, ids, logits };
}

export async function proveTokens(program: Program, plan: Plan, reference: TokenReference): Promise<Proof> {
  const { ids, states, right, moved, logits } = reference;
  const { hidden } = plan;
  const q8 = moved !== undefined;
  const count = ids.length;
  await program.reserve(1, count);
  const piece = (begin: number, end: number) => sequencesOf([{ slot: 0, position: begin, ids: ids.subarray(begin, end) }]);
  const rowsOf = (all: Float32Array, begin: number, end: number) => all.subarray(begin * hidden, end * hidden);
  for (const { from, to, name } of partsOf(plan, reference)) {
    const uses = plan.uses.slice(from, to);
    const off = async (begin: number, end: number) => {
      const before = from > 0 ? rowsOf(states[from - 1]!, begin, end) : undefined;
      return distances(await program.part(piece(begin, end), from, to, before), rowsOf(states[from]!, begin, end), hidden);
    };
    checkPart(name, await off(0, count), plan, uses, q8);
    checkPart(`${name} (few tokens)`, await off(Math.max(count - kFew, 0), count), plan, uses, q8);
    const alone: number[] = [];
    for (let i = Math.max(count - kOneByOne, 0); i < count; ++i) alone.push(...(await off(i, i + 1)));
    checkPart(`${name} (one token)`, alone, plan, uses, q8);
  }
  const rows = Math.min(kFew, count);
  const vocab = logits.length / rows;
  checkPart('logits', distances(await program.logitsOf(rowsOf(right, 0, rows), rows), logits, vocab), plan, [plan.head!], q8);
  const alone: number[] = [];
  for (let i = 0; i < Math.min(kOneByOne, rows); ++i) {
    const own = await program.logitsOf(rowsOf(right, i, i + 1), 1);
    alone.push(...distances(own, logits.subarray(i * vocab, (i + 1) * vocab), vocab));
  }
  checkPart('logits (one token)', alone, plan, [plan.head!], q8);
  const whole = new Float32Array(count * hidden);
  for (let begin = 0; begin < count;) {
    const end = begin < count - kFew ? Math.max(count - kFew, 1) : begin + 1;
    whole.set(await program.part(piece(begin, end), 0, plan.uses.length), begin * hidden);
    begin = end;
  }
  return checkWhole(whole, plan, reference);
}
