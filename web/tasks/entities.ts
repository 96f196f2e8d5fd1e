// Entities from labelled tokens: the aggregation strategies of transformers' TokenClassificationPipeline.
import { argmax } from '../core/scores.js';
import type { AggregationStrategy, Entity, EntityGroup } from './task_types.js';

/** One token with the model's scores. */
export interface ScoredToken {
  word: string;
  scores: Float64Array; // [labels]
  start: number;
  end: number;
  /** Index in its window. */
  index: number;
  /** Whether it continues the word of the previous token. */
  is_subword: boolean;
}

interface Labelled {
  entity: string;
  score: number;
  word: string;
  start: number;
  end: number;
}

export interface Words {
  labels: readonly string[];
  /** transformers' convert_tokens_to_string. */
  toText(tokens: string[]): string;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The tag of "B-PER", and whether it begins an entity. Labels without B- continue one. */
function tagOf(entity: string): { begins: boolean; tag: string } {
  return { begins: entity.startsWith('B-'), tag: /^[BI]-/.test(entity) ? entity.slice(2) : entity };
}

/** The scores of a word with several tokens. */
function wordScores(tokens: readonly ScoredToken[], strategy: AggregationStrategy): Float64Array {
  const [first] = tokens as [ScoredToken];
  if (strategy === 'first') return first.scores;
  if (strategy === 'max') {
    const best = argmax(tokens.map(({ scores }) => scores[argmax(scores)] as number));
    return (tokens[best] as ScoredToken).scores;
  }
  return first.scores.map((_, label) => mean(tokens.map(({ scores }) => scores[label] as number)));
}

function toLabelled(tokens: readonly ScoredToken[], word: string, scores: Float64Array, labels: readonly string[]): Labelled {
  const label = argmax(scores);
  const [first] = tokens as [ScoredToken];
  return {
    entity: labels[label] as string,
    score: scores[label] as number,
    word,
    start: first.start,
    end: (tokens[tokens.length - 1] as ScoredToken).end,
  };
}

function groupWords(tokens: readonly ScoredToken[]): ScoredToken[][] {
  const words: ScoredToken[][] = [];
  for (const token of tokens) {
    const last = words[words.length - 1];
    if (last && token.is_subword) last.push(token);
    else words.push([token]);
  }
  return words;
}

function toGroup(entities: readonly Labelled[], toText: Words['toText']): EntityGroup {
  const [first] = entities as [Labelled];
  return {
    // As in Python, everything up to the first hyphen is removed.
    entity_group: first.entity.slice(first.entity.indexOf('-') + 1),
    score: mean(entities.map(({ score }) => score)),
    word: toText(entities.map(({ word }) => word)),
    start: first.start,
    end: (entities[entities.length - 1] as Labelled).end,
  };
}

function groupEntities(entities: readonly Labelled[], toText: Words['toText']): EntityGroup[] {
  const groups: Labelled[][] = [];
  for (const entity of entities) {
    const last = groups[groups.length - 1];
    const { begins, tag } = tagOf(entity.entity);
    if (last && !begins && tag === tagOf((last[last.length - 1] as Labelled).entity).tag) last.push(entity);
    else groups.push([entity]);
  }
  return groups.map((group) => toGroup(group, toText));
}

/** The entities of one window. */
export function aggregate(
  tokens: readonly ScoredToken[],
  strategy: AggregationStrategy,
  { labels, toText }: Words,
): (Entity | EntityGroup)[] {
  const alone = (token: ScoredToken) => toLabelled([token], token.word, token.scores, labels);
  if (strategy === 'none') {
    return tokens.map((token) => {
      const { entity, score, word, start, end } = alone(token);
      return { entity, score, index: token.index, word, start, end };
    });
  }
  if (strategy === 'simple') return groupEntities(tokens.map(alone), toText);
  const words = groupWords(tokens).map((word) =>
    toLabelled(word, toText(word.map((token) => token.word)), wordScores(word, strategy), labels),
  );
  return groupEntities(words, toText);
}

/** Resolves overlaps between the entities of neighbouring windows: the longer entity is kept, or of equally long ones the better. */
export function mergeOverlapping<E extends Labelled | EntityGroup | Entity>(entities: readonly E[]): E[] {
  const sorted = [...entities].sort((a, b) => a.start - b.start);
  const out: E[] = [];
  for (const entity of sorted) {
    const last = out[out.length - 1];
    if (!last || entity.start >= last.end) {
      out.push(entity);
      continue;
    }
    const longer = entity.end - entity.start - (last.end - last.start);
    if (longer > 0 || (longer === 0 && entity.score > last.score)) out[out.length - 1] = entity;
  }
  return out;
}
