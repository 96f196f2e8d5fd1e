// token-classification (ner): the entities in a text.
import { ownCopy } from '../core/options.js';
import { withFacts } from '../core/facts.js';
import { InputError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import type { AggregationStrategy, Entity, EntityGroup, TokenClassificationOptions } from './task_types.js';
import { aggregate, mergeOverlapping, type ScoredToken, type Words } from './entities.js';
import { readJson } from '../source/model_files.js';
import { tokenOf } from '../tokenizer/config.js';
import { readConfig, readLabels } from '../engine/labels.js';
import { factsOf, predict, type Facts, type Window } from './predict.js';
import { softmax } from '../core/scores.js';
import { takeOptions, toSeamOptions, type Task, type TaskEngine, type TextOptions } from '../engine/task.js';

const kRules: Rules = {
  aggregation_strategy: ['none', 'simple', 'first', 'average', 'max'],
  ignore_labels: 'any',
  stride: 'index',
  windows: ['merge', 'once'],
};

interface Options extends TextOptions {
  aggregation_strategy: AggregationStrategy;
  ignore_labels: string[];
  stride?: number;
  windows: 'merge' | 'once';
}

interface Result extends Facts {
  entities: (Entity | EntityGroup)[];
}

/** How the tokenizer marks words. */
interface WordRules {
  /** Whether tokens that continue a word are marked ("##"), as in Python's check of the tokenizer's model. */
  marked: boolean;
  unknown: number; // id of the unknown token; -1: none
}

const known = new WeakMap<TaskEngine, WordRules>();

function wordRules(engine: TaskEngine): WordRules {
  const found = known.get(engine);
  if (found) return found;
  const facts = engine.call((handle) => handle.describe_tokenizer());
  const model = readJson(engine.files, 'tokenizer.json')?.model as Record<string, unknown> | undefined;
  const prefix = model ? model.continuing_subword_prefix : facts.vocabulary === 'vocab.txt' ? '##' : '';
  const token = tokenOf(facts, 'unk_token') ?? model?.unk_token;
  const unknown = typeof token === 'string' ? engine.call((handle) => handle.token_to_id(token)).id : -1;
  const rules = { marked: typeof prefix === 'string' && prefix !== '', unknown };
  known.set(engine, rules);
  return rules;
}

const codePoints = (text: string) => [...text].length;

function tokensOf(engine: TaskEngine, text: string, window: Window): ScoredToken[] {
  const { marked, unknown } = wordRules(engine);
  const words = engine.call((handle) => handle.ids_to_tokens(window.ids)).tokens;
  const tokens: ScoredToken[] = [];
  window.ids.forEach((id, index) => {
    if (window.special_tokens_mask[index]) return;
    const [start, end] = [window.offsets[2 * index] as number, window.offsets[2 * index + 1] as number];
    const written = text.slice(start, end);
    const word = words[index] as string;
    const continues = marked
      ? codePoints(word) !== codePoints(written)
      : start > 0 && !text.slice(start - 1, start + 1).includes(' ');
    const isUnknown = id === unknown;
    tokens.push({
      word: isUnknown ? written : word,
      scores: softmax(window.logits.subarray(index * window.labels, (index + 1) * window.labels)),
      start,
      end,
      index,
      is_subword: !isUnknown && continues,
    });
  });
  return tokens;
}

/**
 * The tokens of all windows, each from the window in which it has the most tokens on either side: half of what two windows share belongs to
 * each of them.
 */
function tokensOnce(windows: readonly ScoredToken[][]): ScoredToken[] {
  const out: ScoredToken[] = [];
  for (const window of windows) {
    const end = out[out.length - 1]?.end ?? 0;
    const shared = window.filter((token) => token.start < end);
    const from = shared[Math.floor(shared.length / 2)]?.start ?? end;
    while ((out[out.length - 1]?.start ?? -1) >= from) out.pop();
    out.push(...window.filter((token) => token.start >= from));
  }
  return out;
}

export const tokenClassification: Task<string, Options, Result> = {
  head: 'token',

  prepare([texts, given]) {
    const where = 'token-classification';
    const { options, signal } = takeOptions<TokenClassificationOptions>(where, given, kRules);
    const items = readTexts(where, texts);
    const { ignore_labels = ['O'], aggregation_strategy = 'none', windows = 'merge', ...others } = options;
    const rest = ownCopy(others);
    const ignored = readTexts(`${where}: option 'ignore_labels'`, ignore_labels);
    if (windows === 'once' && rest.stride === undefined) {
      throw new InputError(`${where}: option 'windows': expected a stride with 'once', found none`);
    }
    if (rest.stride !== undefined && aggregation_strategy === 'none') {
      throw new InputError(`${where}: option 'stride': expected an aggregation_strategy with it, found none`);
    }
    return {
      items,
      options: { ...(rest as TextOptions), aggregation_strategy, windows, ignore_labels: ignored },
      signal,
      finish: (results) => {
        const lists = results.map(({ entities, ...facts }) => withFacts(entities, facts));
        return typeof texts === 'string' ? lists[0] : lists;
      },
    };
  },

  async run(engine, items, options, context) {
    const { stride, aggregation_strategy, ignore_labels } = options;
    const seam = toSeamOptions(options, stride === undefined ? {} : { overlap: stride, return_overflowing: true });
    const inputs = items.map((text) => ({ text }));
    const runs = await predict(engine, inputs, seam, context, options.on_overflow);
    const words: Words = {
      labels: readLabels(readConfig(engine), runs[0]?.[0]?.labels ?? 0),
      toText: (tokens) => engine.call((handle) => handle.tokens_to_string(tokens)).text,
    };
    return items.map((text, i) => {
      const windows = runs[i] as Window[];
      const tokens = windows.map((window) => tokensOf(engine, text, window));
      const once = options.windows === 'once';
      const entities = (once ? [tokensOnce(tokens)] : tokens)
        .flatMap((part) => aggregate(part, aggregation_strategy, words))
        .filter((entity) => !ignore_labels.includes('entity' in entity ? entity.entity : entity.entity_group));
      return {
        entities: windows.length > 1 && !once ? mergeOverlapping(entities) : entities,
        ...factsOf(windows),
      };
    });
  },
};
