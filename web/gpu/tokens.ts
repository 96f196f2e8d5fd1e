// Generations on a GPU, which reads tokens into slots of its own cache and gives logits. All that is done with logits is the processor's. It notes which tokens each
// slot has: so a device that was lost, or the processor in its place, reads them again.
import { abortable, Pace, throwIfAborted } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { DeviceTokensAnswer, ForwardResult, JobAnswer } from '../host/seam.js';
import { Accelerator, best, type How, type Owner } from './accelerator.js';
import { sequencesOf, type Piece } from './batch.js';
import type { Pass } from './forward.js';
import type { Program } from './program.js';
import type { Proof } from './proof.js';
import { probeIds, proveTokens, tokenReferenceOf, type TokenReference } from './proof_tokens.js';
import type { GpuFacts } from './types.js';

/** Tokens of a timing with `device: 'auto'`: of a prompt, and then one by one. */
const kTimedPrompt = 64;
const kTimedSteps = 8;

/** Milliseconds of a piece of a prompt, so that what draws the page gets its turn. */
const kPieceMs = 30;
const kLeastTokens = 32;
/** Milliseconds and most tokens of a piece that the processor reads. */
const kHereMs = 100;
const kHereTokens = 512;

/** Tokens that are read together, and those of them whose logits are wanted. */
interface Run {
  pieces: Piece[];
  tokens: number;
  wanted: number[];
}

/** How many first tokens are the same. */
function common(a: readonly number[], b: readonly number[]): number {
  let count = 0;
  while (count < a.length && count < b.length && a[count] === b[count]) ++count;
  return count;
}

export class TokenAccelerator extends Accelerator {
  private reference: TokenReference | undefined;
  /** The tokens that the slots of the generation `job` have. */
  private job = 0;
  private slots = new Map<number, number[]>();
  /** The tokens that the cache of `holder` has in each slot; of a generation that ended, too. */
  private held: number[][] = [];
  private holder: Program | undefined;
  /** The generation that the processor took over. */
  private here = 0;
  private tokens = kLeastTokens;

  constructor(owner: Owner, how: How) {
    super(owner, how, true);
  }

  protected prove(program: Program, q8: boolean): Promise<Proof> {
    this.reference ??= tokenReferenceOf(this.plan, q8, (run) => this.owner.call(run), this.ids);
    return proveTokens(program, this.plan, this.reference);
  }

  /** The size of the vocabulary if probes are ids of it. */
  private get ids(): number | undefined {
    return this.how.idsOnly ? this.how.vocab : undefined;
  }

  protected async time(program: Program): Promise<Required<GpuFacts>['timing']> {
    const { owner, plan } = this;
    const steps = Math.min(kTimedSteps, plan.positions >> 2);
    const prompt = probeIds((run) => owner.call(run), Math.min(kTimedPrompt, plan.positions - steps), this.ids);
    const first = prompt.subarray(0, 1);
    await program.reserve(1, prompt.length + steps);
    const there = (position: number, ids: Int32Array) =>
      program.extend(sequencesOf([{ slot: 0, position, ids }]), [ids.length - 1]);
    const here = (ids: Int32Array, logits: boolean) => {
      const positions = ids.map((_, i) => i);
      const types = new Int32Array(ids.length);
      owner.call((handle) =>
        handle.forward(ids, types, positions, Int32Array.of(0, ids.length), null, null, null, null, [], [], { logits }),
      );
    };
    const few = await best(() => there(prompt.length, first));
    const many = await best(async () => {
      await there(0, prompt);
      for (let i = 0; i < steps; ++i) await there(prompt.length + i, first);
    });
    const processor = await best(() => {
      here(prompt, false);
      for (let i = 0; i < steps; ++i) here(first, true);
    });
    return { tokens: prompt.length + steps, few, many, processor };
  }

  private get suits(): boolean {
    const { timing } = this.gpu;
    return !this.isTimed || timing!.many < timing!.processor;
  }

  async step(job: number, signal: AbortSignalLike | undefined): Promise<JobAnswer | undefined> {
    if (job === this.here || (job !== this.job && (this.off !== undefined || !this.suits))) return undefined;
    const { owner } = this;
    const batch = owner.call((handle) => handle.device_tokens(job));
    if (batch.here) return undefined;
    this.gpu.processor_bytes = batch.reserved;
    if (job !== this.job) this.slots.clear();
    this.job = job;
    const logits = await this.logits(batch, signal);
    if (logits) return owner.call((handle) => handle.device_logits(job, logits));
    await this.takeOver(job, signal);
    return undefined;
  }

  /** The logits that a step wants; undefined if the processor is to take over. */
  private async logits(batch: DeviceTokensAnswer, signal: AbortSignalLike | undefined): Promise<Float32Array | undefined> {
    const copies = copiesOf(batch);
    for (const { from, to, count } of copies) this.slots.set(to, this.slots.get(from)!.slice(0, count));
    const sequences = sequencesIn(batch, this.slots);
    const logits = await this.onDevice(async (program) => {
      const [slots, length] = batch.capacity as unknown as [number, number];
      if (!program.cache!.fits(slots, length)) return undefined;
      await abortable(this.makeRoom(program, slots, length), signal);
      for (const { from, to, count } of copies.splice(0)) this.copy(program, from, to, count);
      return this.read(program, sequences, signal);
    }, signal);
    if (logits) for (const { slot, tokens } of sequences) this.slots.set(slot, tokens);
    return logits;
  }

  /** One sequence, which is read anew, as all of its states are wanted. */
  protected async pass(pass: Pass, signal: AbortSignalLike | undefined): Promise<ForwardResult | undefined> {
    const { hidden, uses, head } = this.plan;
    const ids = [...pass.input_ids];
    const vocab = head!.values[head!.steps.at(-1)!.out]!.width;
    if (pass.seq_start.length !== 2 || pass.token_type_ids.some((type) => type !== 0) || !this.suits) return undefined;
    const [states, logits] = [hidden, pass.logits ? vocab : 0].map((width) => new Float32Array(ids.length * width));
    const done = await this.onDevice(async (program) => {
      if (!program.cache!.fits(1, ids.length)) return undefined;
      await abortable(this.makeRoom(program, 1, ids.length), signal);
      for (let at = 0; at < ids.length;) {
        throwIfAborted(signal);
        const own = ids.slice(at, at + this.tokens);
        this.held[0] = ids.slice(0, at); // what is behind is written over
        const rows = await abortable(program.part(sequencesOf([{ slot: 0, position: at, ids: own }]), 0, uses.length), signal);
        this.held[0].push(...own);
        states!.set(rows, at * hidden);
        if (pass.logits) logits!.set(await abortable(program.logitsOf(rows, own.length), signal), at * vocab);
        at += own.length;
      }
      return pass.logits ? logits! : states!;
    }, signal);
    return done && { last_hidden_state: states!, logits: logits!, pooler_output: new Float32Array() };
  }

  private async makeRoom(program: Program, slots: number, length: number): Promise<void> {
    if (program !== this.holder) this.held = [];
    this.holder = program;
    await program.reserve(slots, length);
    const { cache } = program;
    this.held.length = Math.min(this.held.length, cache!.slots);
    for (const tokens of this.held) if (tokens) tokens.length = Math.min(tokens.length, cache!.length);
  }

  private copy(program: Program, from: number, to: number, count: number): void {
    const tokens = this.held[from] ?? [];
    if (tokens.length < count) return; // it is read again
    program.cache!.copy(from, to, count);
    this.held[to] = tokens.slice(0, count);
  }

  /** Reads what the cache has not; gives what is wanted of all. */
  private async read(program: Program, sequences: readonly Sequence[], signal: AbortSignalLike | undefined): Promise<Float32Array> {
    const parts: Float32Array[] = [];
    for (const sequence of sequences) sequence.given = 0;
    for (let run = this.next(sequences); run; run = this.next(sequences)) {
      throwIfAborted(signal);
      for (const { slot, position } of run.pieces) (this.held[slot] ??= []).length = position; // what is behind is written over
      const started = performance.now();
      const logits = await abortable(program.extend(sequencesOf(run.pieces), run.wanted), signal);
      const took = performance.now() - started;
      if (run.wanted.length > 0) parts.push(logits);
      for (const { slot, ids } of run.pieces) this.held[slot]!.push(...(ids as number[]));
      if (run.tokens === this.tokens && took < kPieceMs / 2) this.tokens = Math.min(2 * this.tokens, program.budget);
      if (run.tokens > kLeastTokens && took > 2 * kPieceMs) this.tokens = Math.max(this.tokens / 2, kLeastTokens);
    }
    if (parts.length === 1) return parts[0]!;
    const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
    return all;
  }

  /** The next tokens that are to be read; undefined: there are none. */
  private next(sequences: readonly Sequence[]): Run | undefined {
    const run: Run = { pieces: [], tokens: 0, wanted: [] };
    for (const sequence of sequences) {
      const { slot, tokens, wanted } = sequence;
      const known = common(this.held[slot] ?? [], tokens);
      const position = Math.min(known, wanted[sequence.given] ?? tokens.length);
      const end = Math.min(tokens.length, position + this.tokens - run.tokens);
      if (end <= position) continue;
      for (; wanted[sequence.given]! < end; ++sequence.given) run.wanted.push(run.tokens + wanted[sequence.given]! - position);
      run.pieces.push({ slot, position, ids: tokens.slice(position, end) });
      run.tokens += end - position;
    }
    return run.tokens > 0 ? run : undefined;
  }

  /** The processor reads what the slots have, and does the step that was gathered, and all that follow. */
  private async takeOver(job: number, signal: AbortSignalLike | undefined): Promise<void> {
    const pace = new Pace(kHereMs, kLeastTokens, 1, kHereTokens);
    for (const [slot, tokens] of this.slots) {
      for (let at = 0; at < tokens.length;) {
        await pace.wait(signal);
        const ids = Int32Array.from(tokens.slice(at, at + pace.count));
        pace.run(
          () => this.owner.call((handle) => handle.device_read(job, ids, slot, at)),
          ({ reserved }) => {
            this.gpu.processor_bytes = reserved;
            return ids.length;
          },
        );
        at += ids.length;
      }
    }
    this.here = job;
  }
}

/** What a slot is to have after a step. */
interface Sequence {
  slot: number;
  tokens: number[];
  /** Positions whose logits are wanted, and how many of them were given. */
  wanted: number[];
  given: number;
}

function sequencesIn(
  { ids, positions, starts, slots, wanted }: DeviceTokensAnswer,
  before: ReadonlyMap<number, number[]>,
): Sequence[] {
  return Array.from(slots, (slot: number, i): Sequence => {
    const [begin, end] = [starts[i]!, starts[i + 1]!];
    const tokens = [...(before.get(slot) ?? []).slice(0, positions[begin]), ...ids.subarray(begin, end)];
    const own = [...wanted].filter((token) => token >= begin && token < end).map((token) => positions[token]!);
    return { slot, tokens, wanted: own, given: 0 };
  });
}

function copiesOf({ copies }: DeviceTokensAnswer): { from: number; to: number; count: number }[] {
  return Array.from({ length: copies.length / 3 }, (_, i) => ({
    from: copies[3 * i]!,
    to: copies[3 * i + 1]!,
    count: copies[3 * i + 2]!,
  }));
}
