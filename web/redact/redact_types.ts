// Public types of redact and restore.
import type { TaskTextOptions } from '../engine/types.js';
import type { TokenClassificationPipeline, ZeroShotNerPipeline } from '../tasks/task_types.js';

/** A model that finds entities; `null`: only patterns find anything. */
export type EntityFinder = ZeroShotNerPipeline | TokenClassificationPipeline | null;

/** Patterns that redact knows by name. */
export type PatternName = 'email' | 'phone' | 'card';

/** Options of `redact`. */
export interface RedactOptions extends Pick<TaskTextOptions, 'adapter' | 'signal'> {
  /**
   * What to replace: for `zero-shot-ner` any labels of your own, and needed; for `token-classification` the model's tags without `B-` and
   * `I-`, by default all.
   */
  labels?: string | readonly string[];
  /** Findings of the model have a higher score. From 0 to 1; default 0.5 for `zero-shot-ner`, 0 for `token-classification`. */
  threshold?: number;
  /**
   * What to replace wherever it occurs, by label: a regular expression, or `true` for the pattern of that name. `email`: addresses. `phone`:
   * numbers that begin with `+` and a country code, and ten digits written as `(555) 123-4567` or `555-123-4567`. `card`: 13 to 19 digits, maybe
   * with spaces or hyphens between them, whose last one is a correct check digit (Luhn).
   */
  patterns?: { readonly [label: string]: RegExp | boolean };
  /** The `map` of an earlier call: its texts get the same placeholders again. It is not changed. */
  map?: { readonly [placeholder: string]: string };
}

/** The replaced text is `input.slice(start, end)`. */
export interface RedactedEntity {
  /** What it is, such as `'person'`. */
  label: string;
  /** The text that was replaced. */
  text: string;
  /** Where it begins in the input, in UTF-16 units. */
  start: number;
  /** Where it ends in the input, in UTF-16 units. */
  end: number;
  /** What stands in its place, such as `[PERSON_1]`. */
  placeholder: string;
  /** From the model; absent if a pattern found it. */
  score?: number;
}

/** The result of `redact`. */
export interface Redaction {
  /** The text with placeholders such as `[PERSON_1]`. */
  text: string;
  /** What was replaced, in the order of the text. */
  entities: RedactedEntity[];
  /** Placeholders with what they stand for, those of the option `map` included. Keep it: it has what the text no longer has. */
  map: { [placeholder: string]: string };
}
