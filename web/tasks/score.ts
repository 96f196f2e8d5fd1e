// The inner task behind `score`: how likely a decoder finds continuations of prompts.
import { InputError, StateError } from '../core/errors.js';
import { jobPace, runJob } from '../engine/job.js';
import { alone, type Context, type Task, type TaskEngine } from '../engine/task.js';
import type { ScoredText } from '../generation/generation_types.js';
import type { GenerateAnswer, SeamModel } from '../host/seam.js';
import type { ScoreItem } from './score_call.js';
import { notePrefixes, textOf } from './generate_all.js';

/** Continuations that are read together, once the prompt is. */
const kTogether = 8;

/** A continuation and what is found of it. */
interface Scoring {
  readonly tokens: Int32Array;
  readonly logprobs: number[];
  isGreedy: boolean;
}

/** Takes the row that a continuation's next token is one of. */
function look({ tokens, logprobs }: Scoring, row: Float32Array): boolean {
  let best = 0;
  for (let id = 1; id < row.length; ++id) if (row[id]! > row[best]!) best = id;
  const most = row[best] as number;
  let sum = 0;
  for (const value of row) sum += Math.exp(value - most);
  const token = tokens[logprobs.length] as number;
  logprobs.push(row[token]! - most - Math.log(sum));
  return token === best;
}

/** Reads a prompt with some continuations, of each the rows of its tokens. What is kept of the prompt is not read again. */
async function read(engine: TaskEngine, prompt: Int32Array, list: readonly Scoring[], { signal }: Context): Promise<void> {
  const texts = list.map(({ tokens }) => [...prompt, ...tokens.subarray(0, -1)]); // nothing is asked of what follows the last one
  const options = { rows_from: list.map(() => prompt.length - 1), max_new_tokens: 1 };
  const show = ({ phase }: GenerateAnswer) => {
    if (phase !== 'prompt') return;
    const { rows, prompts } = engine.call((handle) => handle.rows());
    const vocab = rows.length / prompts.length;
    prompts.forEach((at, i) => {
      const own = list[at] as Scoring;
      own.isGreedy = look(own, rows.subarray(i * vocab, (i + 1) * vocab)) && own.isGreedy;
    });
  };
  const begin = (handle: SeamModel, steps: number) => handle.generate(texts, options, steps);
  const answer = await alone(engine, () => runJob(engine, jobPace(), signal, begin, show));
  const reused = answer.restored.reduce((sum, count) => sum + count, 0);
  notePrefixes(engine, answer, reused, texts.reduce((sum, { length }) => sum + length, 0) - reused);
}

export const scoreTexts: Task<ScoreItem, { add_special_tokens?: boolean }, ScoredText[]> = {
  head: 'causal_lm',
  prepare() {
    throw new StateError('score: has no pipeline');
  },
  async run(engine, items, options, context) {
    const text = textOf(engine);
    const out: ScoredText[][] = [];
    for (const [i, { prompt, continuations }] of items.entries()) {
      const where = `score: prompt ${context.first + i}: `;
      const ids = text.encode(prompt, options);
      if (ids.length === 0)
        throw new InputError(`${where}expected at least one token, as no token begins this model's texts, found none`);
      const list = continuations.map((own): Scoring => {
        const { ids: tokens } = engine.call((handle) => handle.encode([own], undefined, { add_special_tokens: false }));
        return { tokens, logprobs: [], isGreedy: true };
      });
      const empty = list.findIndex(({ tokens }) => tokens.length === 0);
      if (empty >= 0) throw new InputError(`${where}continuation ${empty}: expected at least one token, found none`);
      // The first one alone, so that the others find the prompt.
      for (let begin = 0, end = 1; begin < list.length; begin = end, end += kTogether)
        await read(engine, ids, list.slice(begin, end), context);
      out.push(
        list.map(({ tokens, logprobs, isGreedy }, at) => {
          const score = logprobs.reduce((sum, each) => sum + each, 0);
          return {
            text: continuations[at] as string,
            score,
            mean: score / tokens.length,
            perplexity: Math.exp(-score / tokens.length),
            is_greedy: isGreedy,
            tokens: Array.from(tokens),
            logprobs,
          };
        }),
      );
    }
    return out;
  },
};
