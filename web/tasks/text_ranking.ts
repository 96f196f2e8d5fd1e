// text-ranking: a cross-encoder ranks documents for a query, as in sentence-transformers' CrossEncoder.rank.
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import type { RankedDocument } from './retrieval_types.js';
import type { ClassificationFunction, TextRankingOptions } from './task_types.js';
import { readConfig, type Config } from './labels.js';
import { factsOf, judgedWindow, predict, type Facts, type Input } from './predict.js';
import { takeOptions, takeTopK, toSeamOptions, type Task, type TextOptions } from '../engine/task.js';
import { toScores } from './text_classification.js';
import { topIndices } from '../core/scores.js';

const kRules: Rules = { top_k: 'any', return_documents: 'boolean', function_to_apply: ['sigmoid', 'none'] };

interface Options extends TextOptions {
  function_to_apply?: ClassificationFunction;
}

interface Result extends Facts {
  score: number;
}

/** The activation in the repository's new or old format, else a sigmoid. */
function ownFunction(config: Config): ClassificationFunction {
  const now = (config.sentence_transformers as { activation_fn?: unknown } | undefined)?.activation_fn;
  const name = now ?? config.sbert_ce_default_activation_function ?? 'Sigmoid';
  if (/(^|\.)Identity$/.test(String(name))) return 'none';
  if (/(^|\.)Sigmoid$/.test(String(name))) return 'sigmoid';
  throw new UnsupportedError(`config.json: expected Identity or Sigmoid for the cross-encoder's activation, found ${String(name)}`);
}

export const textRanking: Task<Input, Options, Result> = {
  head: 'sequence',

  prepare([query, documents, given]) {
    const where = 'text-ranking';
    const { options, signal, own } = takeOptions<TextRankingOptions>(where, given, kRules);
    if (typeof query !== 'string') throw new InputError(`${where}: expected a query, a string, found ${describe(query)}`);
    const list = readTexts(`${where}: documents`, documents);
    const top_k = takeTopK(where, own, Infinity);
    const { return_documents, top_k: _top_k, ...rest } = options;
    return {
      items: list.map((text_pair) => ({ text: query, text_pair })),
      options: rest as Options,
      signal,
      finish: (results) =>
        topIndices(
          results.map(({ score }) => score),
          top_k,
        ).map((corpus_id): RankedDocument => {
          const { score, ...facts } = results[corpus_id] as Result;
          return { corpus_id, score, ...(return_documents && { text: list[corpus_id] as string }), ...facts };
        }),
    };
  },

  async run(engine, items, options, context) {
    const apply = options.function_to_apply ?? ownFunction(readConfig(engine));
    const runs = await predict(engine, items, toSeamOptions(options), context, options.on_overflow);
    const labels = runs[0]?.[0]?.labels ?? 1;
    if (labels !== 1) throw new UnsupportedError(`text-ranking: expected a cross-encoder, with one label, found ${labels} labels`);
    return runs.map((windows, i) => ({
      score: toScores(judgedWindow(windows, context.first + i).logits, apply)[0] as number,
      ...factsOf(windows),
    }));
  },
};
