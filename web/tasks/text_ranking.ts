// text-ranking: a cross-encoder ranks documents for a query, as in sentence-transformers' CrossEncoder.rank.
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import type { RankedDocument } from './retrieval_types.js';
import type { ClassificationFunction, TextRankingOptions } from './task_types.js';
import { readConfig, type Config } from '../engine/labels.js';
import { factsOf, judgedWindow, predict, type Facts, type Input } from './predict.js';
import { takeOptions, takeTopK, toSeamOptions, type Task, type TextOptions } from '../engine/task.js';
import { readFields } from '../source/model_files.js';
import { sigmoid, topIndices } from '../core/scores.js';

const kRules: Rules = { top_k: 'any', return_documents: 'boolean', function_to_apply: ['sigmoid', 'none'] };

interface Options extends TextOptions {
  function_to_apply?: ClassificationFunction;
}

interface Result extends Facts {
  score: number;
}

const kSettings = 'config_sentence_transformers.json';

/** Modules of torch.nn, each without arguments. */
const kActivations: Readonly<Record<string, (logit: number) => number>> = {
  Identity: (x) => x,
  Sigmoid: sigmoid,
  Tanh: Math.tanh,
  ReLU: (x) => Math.max(x, 0),
  LogSigmoid: (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
  Softplus: (x) => (x > 20 ? x : Math.log1p(Math.exp(x))),
  Softsign: (x) => x / (1 + Math.abs(x)),
};

/**
 * The activation that the repository names: sentence-transformers 5.2 and later write it to a file of their own, 4.0 and later to config.json, older
 * ones under another name there. A function that is not torch's counts only for those who trust its code, in Python too: then the next place
 * counts, and at last a sigmoid.
 */
function ownFunction(config: Config, settings: Record<string, unknown>): (logit: number) => number {
  const { sentence_transformers: own } = config as { sentence_transformers?: { activation_fn?: unknown } };
  const places = [
    [kSettings, settings.activation_fn],
    ['config.json', own && 'activation_fn' in own ? own.activation_fn : config.sbert_ce_default_activation_function],
  ] as const;
  for (const [file, name] of places) {
    if (typeof name !== 'string' || !name.startsWith('torch.')) continue;
    const found = /^torch\.nn\.(?:modules\.(?:activation|linear)\.)?(\w+)$/.exec(name)?.[1] ?? '';
    if (Object.hasOwn(kActivations, found)) return kActivations[found] as (logit: number) => number;
    const known = Object.keys(kActivations).join(', ');
    throw new UnsupportedError(`${file}: activation_fn: expected one of ${known} of torch.nn, found ${name}`);
  }
  return sigmoid;
}

/** A prompt that Python would put before each query. */
function checkPrompt({ prompts, default_prompt_name: name }: Record<string, unknown>): void {
  const prompt = typeof name === 'string' ? (prompts as Record<string, unknown> | undefined)?.[name] : undefined;
  if (!prompt) return;
  throw new UnsupportedError(`${kSettings}: default_prompt_name: expected none for a cross-encoder, found ${describe(name)}`);
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
    const found = readFields(engine.files, kSettings);
    const settings = found.model_type === 'CrossEncoder' ? found : {}; // as in Python, those of other kinds do not count
    const given = options.function_to_apply;
    const apply = given
      ? (kActivations[given === 'none' ? 'Identity' : 'Sigmoid'] as (logit: number) => number)
      : ownFunction(readConfig(engine), settings);
    checkPrompt(settings);
    const runs = await predict(engine, items, toSeamOptions(options), context, options.on_overflow);
    const labels = runs[0]?.[0]?.labels ?? 1;
    if (labels !== 1) throw new UnsupportedError(`text-ranking: expected a cross-encoder, with one label, found ${labels} labels`);
    return runs.map((windows, i) => ({
      score: apply(judgedWindow(windows, context.first + i).logits[0] as number),
      ...factsOf(windows),
    }));
  },
};
