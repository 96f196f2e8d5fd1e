// What a caller hears of tokens as they come, and where it ends texts: `callback`, `streamer` and `stopping_criteria` of tasks that generate.
import { plainCallback } from '../core/callback.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import { TaskScope } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { Piece } from '../engine/task.js';
import { askCriterion, toCriteria, type StoppingFunction } from './stopping_criteria.js';
import type { GeneratedLogprob, WatchOptions } from './generation_types.js';

export const kWatchRules: Rules = { callback: 'function', streamer: 'any', stopping_criteria: 'any' };

/** A text that was ended by a criterion. */
export interface Stopped {
  text: string;
  tokens: number[];
  prompt_tokens: number;
  finish_reason: 'stop';
}

interface Row extends Omit<Stopped, 'prompt_tokens'> {
  ids: bigint[]; // the prompt's and the new ones
  isDone: boolean;
}

/** Reading scores is an error: they stay in WebAssembly. */
const noScores = new Proxy<number[][]>([], {
  get(_, name) {
    throw new UnsupportedError(`stopping_criteria: criteria cannot read scores (read '${String(name)}')`);
  },
});

/** One call's listeners. */
export class TokenWatch {
  private readonly streamer: WatchOptions['streamer'];
  private readonly criteria: StoppingFunction[];
  private readonly callback: ((piece: string, prompt: number) => void) | undefined;
  private readonly hearLogprobs: ((logprobs: readonly GeneratedLogprob[], prompt: number) => void) | undefined;
  private readonly put: (ids: bigint[][]) => void;
  private readonly rows: Row[];
  private scope: TaskScope | undefined;
  private isStopped = false;
  private last = 0; // the text that ended last, whose last characters are yet to come

  constructor(
    where: string,
    options: WatchOptions & {
      callback?: ((piece: string, prompt: number) => void) | null | undefined;
      /** Hears the probabilities of tokens before their text. */
      logprobs_callback?: ((logprobs: readonly GeneratedLogprob[], prompt: number) => void) | undefined;
    },
    private readonly signal: AbortSignalLike | null | undefined,
    prompts: number,
  ) {
    this.callback = options.callback ? plainCallback(options.callback) : undefined;
    this.hearLogprobs = options.logprobs_callback;
    this.streamer = options.streamer;
    this.put = plainCallback((ids: bigint[][]) => this.streamer?.put(ids));
    this.criteria = options.stopping_criteria ? toCriteria(`${where}: option 'stopping_criteria'`, options.stopping_criteria) : [];
    if (this.streamer && (typeof this.streamer.put !== 'function' || typeof this.streamer.end !== 'function')) {
      throw new InputError(
        `${where}: option 'streamer': expected an object with put() and end(), found ${describe(options.streamer)}`,
      );
    }
    if (this.streamer && prompts !== 1) throw new InputError(`${where}: option 'streamer': expected one prompt, found ${prompts}`);
    this.rows = Array.from({ length: prompts }, () => ({ ids: [], text: '', tokens: [], finish_reason: 'stop', isDone: false }));
  }

  /** The parts of a task's call. */
  call(): { signal: AbortSignalLike | undefined; onPiece?: (piece: Piece) => void; stopped?: (error: unknown) => [] } {
    const stops = this.criteria.length > 0;
    if (!this.callback && !this.streamer && !stops) return { signal: this.signal ?? undefined };
    if (stops) this.scope = new TaskScope(this.signal ?? undefined);
    return {
      signal: this.scope ? this.scope.signal : (this.signal ?? undefined),
      onPiece: (piece) => this.hear(piece),
      stopped: (error) => {
        this.scope?.close();
        if (this.isStopped) return [];
        throw error;
      },
    };
  }

  /** The results, with those that a criterion ended. made: the result of such a text. */
  finished<Result>(results: readonly Result[], made: (stopped: Stopped, own: Result | undefined) => Result): Result[] {
    this.scope?.close();
    this.streamer?.end();
    return this.rows.map(({ isDone, ids, text, tokens, finish_reason }, i) =>
      isDone
        ? made({ text, tokens, prompt_tokens: ids.length - tokens.length, finish_reason }, results[i])
        : (results[i] as Result),
    );
  }

  private hear({ piece, prompt, tokens, begins, logprobs }: Piece): void {
    const row = this.rows[prompt] as Row;
    if (row.isDone && (tokens.length > 0 || prompt !== this.last)) return;
    row.text += piece;
    if (logprobs) this.hearLogprobs?.(logprobs as readonly GeneratedLogprob[], prompt);
    if (piece !== '') this.callback?.(piece, prompt);
    if (begins) {
      row.ids = tokens.map(BigInt);
      this.put([[...row.ids]]);
      return;
    }
    for (const token of tokens) {
      row.tokens.push(token);
      row.ids.push(BigInt(token));
      this.put([[BigInt(token)]]);
      row.isDone = this.criteria.some((criterion) => askCriterion(criterion, [row.ids], noScores)[0]);
      if (row.isDone) break;
    }
    if (!row.isDone || this.isStopped) return;
    this.last = prompt;
    if (!this.rows.every(({ isDone }) => isDone)) return;
    this.isStopped = true;
    this.scope?.close();
  }
}
