// The rows of scores of one generation, shown to whoever reads or changes them between the phases of a step.
import { Tensor } from '../../core/tensor.js';
import type { TaskEngine } from '../../engine/task.js';
import type { GenerationPhase } from '../../host/seam.js';
import { askProcessor } from './logits_processor.js';
import { namedProcessors, type Processors, type RowFacts } from './named.js';
import type { RowOptions, SeenRows, TokenLogprob } from './types.js';

/** The count likeliest tokens, the first ones of equals. */
function likeliest(row: Float32Array, count: number): number[] {
  const best: number[] = [];
  for (let id = 0; id < row.length; ++id) {
    if (best.length === count && !(row[id]! > row[best[count - 1] as number]!)) continue;
    let at = best.length;
    while (at > 0 && row[id]! > row[best[at - 1] as number]!) --at;
    best.splice(at, 0, id);
    if (best.length > count) best.pop();
  }
  return best;
}

function logSum(row: Float32Array): number {
  let most = -Infinity;
  for (const value of row) if (value > most) most = value;
  let sum = 0;
  for (const value of row) sum += Math.exp(value - most);
  return most + Math.log(sum);
}

/** A prompt, and the ids of each of its running sequences. */
interface Followed {
  readonly source: Int32Array;
  readonly prompt: number;
  rows: number[][];
  readonly seen: SeenRows;
  /** The row that its next token is chosen by, and what is sure of it before. */
  pending?: { row: Float32Array; sum: number; top: number[] };
}

export class RowWatch {
  private readonly followed: Followed[];
  private readonly processors: Processors;

  /** sources: what was read. before: the tokens before each new text. width: sequences of a prompt, at most. */
  constructor(
    private readonly engine: TaskEngine,
    private readonly options: RowOptions,
    ends: readonly number[],
    sources: readonly Int32Array[],
    before: readonly Int32Array[],
    private readonly width: number,
  ) {
    this.processors = namedProcessors(options, ends);
    const { top_logprobs, output_scores, output_logits } = options;
    this.followed = sources.map((source, i) => ({
      source,
      prompt: before[i]!.length,
      rows: [Array.from(before[i] as Int32Array)],
      seen: {
        ...(top_logprobs !== undefined && { likely: [] }),
        ...(output_scores && { scores: [] }),
        ...(output_logits && { logits: [] }),
      },
    }));
  }

  /** What was asked for of a prompt's text. */
  seen(prompt: number): SeenRows {
    return this.followed[prompt]!.seen;
  }

  /** Between two phases. */
  show(phase: GenerationPhase): void {
    const { top_logprobs, output_scores, output_logits, logits_processor = [] } = this.options;
    const shows = phase === 'logits' ? top_logprobs !== undefined || output_logits : phase === 'scores' && output_scores;
    const functions = phase === 'processed' ? logits_processor : [];
    const first = phase === 'processed' ? this.processors.before : [];
    const then = this.processors[phase as 'logits'];
    if (!shows && functions.length + first.length + then.length === 0) return;
    const { rows, prompts } = this.engine.call((handle) => handle.rows());
    if (prompts.length === 0) return;
    const vocab = rows.length / prompts.length;
    const row = (i: number) => rows.subarray(i * vocab, (i + 1) * vocab);
    const facts: RowFacts[] = [];
    prompts.forEach((prompt, i) => {
      const own = this.followed[prompt] as Followed;
      const at = i - prompts.indexOf(prompt);
      facts.push({ ids: own.rows[at] as number[], prompt: own.prompt, source: own.source });
      if (phase === 'logits') this.look(own, row(i));
    });
    for (const processor of first) facts.forEach((fact, i) => processor(row(i), fact));
    if (functions.length > 0) {
      const ids = facts.map((fact) => fact.ids.map(BigInt));
      const given = new Tensor('float32', rows, [prompts.length, vocab]);
      const made = functions.reduce((scores, each) => askProcessor(each, ids, scores), given);
      if (made.data !== rows) rows.set(made.data);
    }
    for (const processor of then) facts.forEach((fact, i) => processor(row(i), fact));
    if (phase === 'scores') prompts.forEach((prompt, i) => this.followed[prompt]!.seen.scores?.push(row(i).slice()));
    if (functions.length + first.length + then.length > 0) this.engine.call((handle) => handle.set_rows(rows));
  }

  private look(own: Followed, row: Float32Array): void {
    own.seen.logits?.push(row.slice());
    const { top_logprobs } = this.options;
    if (top_logprobs === undefined) return;
    own.pending = { row: row.slice(), sum: logSum(row), top: likeliest(row, top_logprobs) };
  }

  /** The tokens that were chosen; see GenerateAnswer.new_tokens. */
  follow(chosen: readonly Int32Array[]): void {
    chosen.forEach((tokens, prompt) => {
      const own = this.followed[prompt] as Followed;
      if (tokens.length === 0) return;
      if (this.width > 1) {
        const rows: number[][] = [];
        for (let i = 0; i < tokens.length; i += 2) rows.push([...(own.rows[tokens[i]!] as number[]), tokens[i + 1]!]);
        own.rows = rows;
        return;
      }
      own.rows[0]!.push(...tokens);
      const { pending } = own;
      if (!pending) return;
      const of = (id: number): TokenLogprob => ({ id, logprob: pending.row[id]! - pending.sum });
      own.seen.likely?.push([of(tokens.at(-1) as number), ...pending.top.map(of)]);
      delete own.pending;
    });
  }
}
