// What JavaScript does in a generation: between the phases of a step (rows/), and between two steps (speculation, the time).
import type { TaskEngine } from '../engine/task.js';
import type { GenerationPhase, SeamGenerateOptions } from '../host/seam.js';
import type { AbortSignalLike } from '../core/types.js';
import type { GenerationPlan } from './generation_config.js';
import type { RowWatch } from './rows/row_watch.js';
import type { SeenRows } from './rows/types.js';
import { mostProposed, Speculation } from './speculation.js';

export class OwnSteps {
  private hasBegun = false;

  private constructor(
    /** Options of the call. */
    readonly seam: SeamGenerateOptions,
    private readonly engine: TaskEngine,
    private readonly rows: RowWatch | undefined,
    private readonly speculation: Speculation | undefined,
    private readonly end: number,
  ) {}

  /** before: the tokens before each new text. end: when the time is over, as performance.now(). */
  static async make(
    engine: TaskEngine,
    { seam, own, pauses }: GenerationPlan,
    prompts: readonly Int32Array[],
    before: readonly Int32Array[],
    signal: AbortSignalLike | undefined,
    end: number,
    isGuided: boolean,
  ): Promise<OwnSteps> {
    const { num_beams = 1, num_return_sequences = 1, eos_token_id = [], decoder_start_token_id } = seam;
    const width = Math.max(num_beams, num_return_sequences);
    const begun = before.map((ids) => (ids.length > 0 ? ids : Int32Array.of(decoder_start_token_id as number)));
    const { RowWatch } = pauses ? await import('./rows/row_watch.js') : {};
    // Rows and masks are those of the next token alone.
    const most = pauses || isGuided || width > 1 ? 0 : mostProposed(own);
    return new OwnSteps(
      { ...(pauses && { pauses }), ...(most > 0 && { num_proposed: most }) },
      engine,
      RowWatch && new RowWatch(engine, own, eos_token_id, prompts, begun, width),
      most > 0 ? new Speculation(engine, own, begun, signal) : undefined,
      end,
    );
  }

  /** Between two phases of a step. */
  show(phase: GenerationPhase): void {
    this.rows?.show(phase);
  }
  /** After a step. chosen: see GenerateAnswer.new_tokens. */
  follow(chosen: readonly Int32Array[]): void {
    this.hasBegun ||= chosen.some(({ length }) => length > 0);
    this.rows?.follow(chosen);
  }
  /** Before the next step. */
  async next(chosen: readonly Int32Array[]): Promise<void> {
    await this.speculation?.propose(chosen);
    if (this.hasBegun && performance.now() > this.end) this.engine.call((handle) => handle.end_generation());
  }
  seen(prompt: number): SeenRows {
    return this.rows?.seen(prompt) ?? {};
  }
}
