// text-ranking: a cross-encoder ranks documents for a query, as in sentence-transformers' CrossEncoder.rank. Its texts are a pair, or messages of a
// chat template (pair_messages.ts). Its score is that of a head with one label, or of a decoder's logits for one or two tokens.
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import { ownCopy, type Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import type { RankedDocument } from './retrieval_types.js';
import type { TextRankingOptions } from './task_types.js';
import { factsOf, judgedWindow, predict, type Facts, type Input } from './predict.js';
import type { AnyEngine } from '../engine/engine.js';
import { takeOptions, takeTopK, toSeamOptions, type Task, type TaskEngine, type TextOptions } from '../engine/task.js';
import type { SeamPredictOptions } from '../host/seam.js';
import { topIndices } from '../core/scores.js';
import { kActivations } from './activations.js';
import { ownActivation, readRanker, type Ranker } from './ranker.js';
import { promptOf } from './retrieval.js';

const kWhere = 'text-ranking';
const kRules: Rules = {
  top_k: 'any',
  return_documents: 'boolean',
  function_to_apply: ['sigmoid', 'none'],
  prompt: 'string',
  prompt_name: 'string',
  chat_template: 'string',
  true_token: 'string',
  false_token: 'string',
};

interface RankingCall extends TextOptions, Pick<TextRankingOptions, 'function_to_apply' | 'true_token' | 'false_token'> {
  /** Two rendered texts whose common end is what the chat template has after the documents. Absent: texts are pairs. */
  ends?: [string, string] | undefined;
  isChat?: boolean;
}

interface Result extends Facts {
  score: number;
}

/** The ids of a decoder's tokens whose logits make the score. */
function labelIds(engine: TaskEngine, { decoder }: Ranker, options: RankingCall): Int32Array | undefined {
  const { true_token, false_token } = options;
  if (!decoder) {
    if (true_token === undefined && false_token === undefined) return undefined;
    throw new InputError(`${kWhere}: option 'true_token': expected none, as this model has a head with labels`);
  }
  if (true_token === undefined) {
    if (false_token !== undefined) throw new InputError(`${kWhere}: option 'false_token': expected true_token with it`);
    if (decoder.ids.length > 0) return Int32Array.from(decoder.ids);
    throw new InputError(
      `${kWhere}: this decoder's files do not name the tokens of its answer (a LogitScore module in modules.json): expected the option 'true_token'. ` +
        `Qwen3-Reranker takes { true_token: 'yes', false_token: 'no' }, mxbai-rerank-v2 takes { true_token: '1', false_token: '0' }`,
    );
  }
  const names = { true_token, ...(false_token !== undefined && { false_token }) };
  return Int32Array.from(Object.entries(names), ([option, token]) => {
    const { id } = engine.call((handle) => handle.token_to_id(token));
    if (id >= 0) return id;
    throw new InputError(`${kWhere}: option '${option}': expected a token of the vocabulary, found ${describe(token)}`);
  });
}

/** The tokens that end both texts; none if one is the whole of a text, as then nothing between them varies. */
function commonEnd(engine: TaskEngine, ends: readonly [string, string]): Int32Array {
  const [a, b] = ends.map((text) =>
    engine.call((handle) => handle.encode([text], undefined, ownCopy({ add_special_tokens: false }))).ids.slice(),
  ) as [Int32Array, Int32Array];
  const most = Math.min(a.length, b.length);
  let count = 0;
  while (count < most && a[a.length - 1 - count] === b[b.length - 1 - count]) ++count;
  return count < most ? a.slice(a.length - count) : new Int32Array();
}

function seamOptions(engine: TaskEngine, ranker: Ranker, options: RankingCall): SeamPredictOptions {
  const ids = labelIds(engine, ranker, options);
  const { ends, isChat } = options;
  const tail = ends && commonEnd(engine, ends);
  const { max_length } = ranker;
  const limit = max_length === undefined ? undefined : Math.min(max_length, engine.call((handle) => handle.info()).context_length);
  return ownCopy({
    ...(limit !== undefined && { max_length: limit }),
    ...toSeamOptions(options),
    ...(ids && { label_ids: Array.from(ids) }),
    ...(isChat && { add_special_tokens: false }),
    ...(tail && { tail: Array.from(tail) }),
  });
}

export const textRanking: Task<Input, RankingCall, Result> = {
  head: 'ranking',

  // What the files ask for and wattn does not do is refused at once.
  async open(load) {
    const engine = await load();
    try {
      const { files } = engine as AnyEngine;
      ownActivation(files, readRanker(files));
    } catch (error) {
      (engine as AnyEngine).dispose();
      throw error;
    }
    return { engine };
  },

  async prepare([query, documents, given], engine) {
    const { options, signal, own } = takeOptions<TextRankingOptions>(kWhere, given, kRules);
    if (typeof query !== 'string') throw new InputError(`${kWhere}: expected a query, a string, found ${describe(query)}`);
    const list = readTexts(`${kWhere}: documents`, documents);
    const top_k = takeTopK(kWhere, own, Infinity);
    const { return_documents, top_k: _top_k, prompt, prompt_name, chat_template, ...rest } = options;
    const ranker = readRanker(engine.files);
    const named = { ...(prompt !== undefined && { prompt }), ...(prompt_name !== undefined && { prompt_name }) };
    const before = promptOf(kWhere, ranker.settings, undefined, named);
    const { pairMessages } = await import('./pair_messages.js');
    const chat = pairMessages(engine.files, ranker, before, chat_template);
    return {
      items: list.map((document) =>
        chat ? { text: chat.render(query, document) } : { text: before + query, text_pair: document },
      ),
      options: { ...rest, ...(chat && { isChat: true, ends: chat.ends }) },
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
    const ranker = readRanker(engine.files);
    const given = options.function_to_apply;
    const own = given === undefined ? undefined : given === 'none' ? 'Identity' : 'Sigmoid';
    const apply = own ? (kActivations[own] as (logit: number) => number) : ownActivation(engine.files, ranker);
    const seam = seamOptions(engine, ranker, options);
    const runs = await predict(engine, items, seam, context, options.on_overflow);
    const labels = seam.label_ids ? 1 : (runs[0]?.[0]?.labels ?? 1);
    if (labels !== 1)
      throw new UnsupportedError(
        `${kWhere}: expected a cross-encoder, with one label, found ${labels} labels: take text-classification, with { text, text_pair }`,
      );
    return runs.map((windows, i) => {
      const [logit, other = 0] = judgedWindow(windows, context.first + i).logits;
      return { score: apply(Math.fround((logit as number) - other)), ...factsOf(windows) };
    });
  },
};
