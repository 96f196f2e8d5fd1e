// Tokens that may follow, found without the model: what the next step then finds right is taken at once. No token depends on them.
import { InputError } from '../core/errors.js';
import { jobPace, runJob } from '../engine/job.js';
import { alone, type TaskEngine } from '../engine/task.js';
import type { AbortSignalLike } from '../core/types.js';

/** As in GenerateOptions. */
export interface SpeculationOptions {
  prompt_lookup_num_tokens?: number;
  max_matching_ngram_size?: number;
  /** Runs beside the model, on this thread. */
  assistant?: TaskEngine;
  num_assistant_tokens?: number;
}

const kNgram = 2;
const kAssistantTokens = 5;
/** Rows of scores take memory, so an assistant writes no more ahead by itself. */
const kMostDrafted = 16;
/** As in C++: what one step may take. */
const kMostProposed = 64;

/** The most tokens that are proposed at once; 0: none are. */
export function mostProposed({ prompt_lookup_num_tokens = 0, assistant, num_assistant_tokens = 0 }: SpeculationOptions): number {
  const drafted = assistant ? Math.max(kMostDrafted, num_assistant_tokens) : 0;
  return Math.min(kMostProposed, prompt_lookup_num_tokens || drafted);
}

/** The tokens that followed where the last ones occurred before (prompt lookup decoding, A. Saxena, 2023). */
class Lookup {
  /** Where n tokens were last followed by others, by the tokens. */
  private readonly places = new Map<string, number>();
  private known = 0;

  constructor(
    private readonly ids: number[],
    private readonly longest: number,
    private readonly most: number,
  ) {}

  add(tokens: Iterable<number>): void {
    this.ids.push(...tokens);
  }
  propose(): number[] {
    const { ids, longest } = this;
    const key = (end: number, size: number) => ids.slice(end - size, end).join();
    for (let end = this.known; end < ids.length; ++end) {
      for (let size = 1; size <= Math.min(longest, end); ++size) this.places.set(key(end, size), end);
    }
    this.known = ids.length;
    for (let size = Math.min(longest, ids.length); size > 0; --size) {
      const place = this.places.get(key(ids.length, size));
      if (place !== undefined) return ids.slice(place, place + this.most);
    }
    return [];
  }
}

/** What a smaller model of the same tokenizer writes (Y. Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", 2023). */
class Draft {
  /** Grows while all that was proposed is right, as in transformers' schedule 'heuristic'. */
  private count: number;
  private proposed = 0;

  constructor(
    private readonly ids: number[],
    private readonly assistant: TaskEngine,
    count: number,
    private readonly most: number,
    private readonly signal: AbortSignalLike | undefined,
  ) {
    this.count = count;
  }

  add(tokens: Int32Array): void {
    this.ids.push(...tokens);
    if (this.proposed > 0)
      this.count = Math.max(1, tokens.length > this.proposed ? Math.min(this.most, this.count + 2) : this.count - 1);
  }
  async propose(): Promise<number[]> {
    const { assistant, ids, signal } = this;
    const count = Math.min(this.count, this.room() - ids.length);
    this.proposed = 0;
    if (count < 1) return [];
    const options = { max_new_tokens: count, eos_token_id: [] };
    const { sequences } = await alone(assistant, () =>
      runJob(assistant, jobPace(), signal, (handle, steps) => handle.generate([ids], options, steps)),
    );
    const made = Array.from(sequences[0] as Int32Array);
    this.proposed = made.length;
    return made;
  }
  private room(): number {
    return this.assistant.call((handle) => handle.info()).context_length;
  }
}

/** The proposals for the prompts of one run. */
export class Speculation {
  private readonly sources: (Lookup | Draft)[];

  constructor(
    private readonly engine: TaskEngine,
    options: SpeculationOptions,
    prompts: readonly Int32Array[],
    signal: AbortSignalLike | undefined,
  ) {
    const { assistant, prompt_lookup_num_tokens, max_matching_ngram_size = kNgram, num_assistant_tokens } = options;
    if (assistant && prompt_lookup_num_tokens) {
      throw new InputError('generate: expected one of the options assistant_model and prompt_lookup_num_tokens, found both');
    }
    const most = mostProposed(options);
    this.sources = prompts.map((prompt) =>
      assistant
        ? new Draft(Array.from(prompt), assistant, Math.min(num_assistant_tokens ?? kAssistantTokens, most), most, signal)
        : new Lookup(Array.from(prompt), max_matching_ngram_size, most),
    );
  }

  /** Before the next step. chosen: the tokens of the last one. */
  async propose(chosen: readonly Int32Array[]): Promise<void> {
    for (const [prompt, tokens] of chosen.entries()) {
      if (tokens.length === 0) continue; // it is being read, or has ended
      const source = this.sources[prompt] as Lookup | Draft;
      source.add(tokens);
      const ids = await source.propose();
      if (ids.length > 0) this.engine.call((handle) => handle.propose(ids, prompt));
    }
  }
}
