// Public types of redact and restore.
import type { TaskTextOptions } from '../engine/types.js';
import type { RedactFormat } from './formats.js';
import type { RuleName } from './rules/rule.js';
import type { TokenClassificationPipeline, ZeroShotNerPipeline } from '../tasks/task_types.js';

export type { RedactFormat, RuleName };

/** A model that finds entities; `null`: only patterns find anything, and rules if they are asked for. */
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
  /**
   * Which rules find something, without a model: kinds such as `'phone'` and `'iban'`, `true` for all, `false` for none. Default: all; none where `null` is
   * given in place of a model.
   */
  rules?: boolean | RuleName | readonly RuleName[];
  /**
   * ISO codes of countries such as `['DE', 'AT']`: the rule for phones also finds what follows their numbering plans without a plus sign, such as bare digits.
   * Default: none; then such numbers are found beside a word for phones, or if they are written as phone numbers are.
   */
  countries?: string | readonly string[];
  /** What is never replaced: exact texts, or expressions that match the whole of what was found. */
  allow?: string | RegExp | readonly (string | RegExp)[];
  /**
   * What the texts are; default `'text'`. `'html'`: only text and the attributes that show text are changed. `'json'`, also JSON Lines: string values.
   * `'csv'`: cells. What was well formed stays so. Names of members and heads of columns are read as words beside their values.
   */
  format?: RedactFormat;
  /** Whether the result has `audit`. Default false. */
  audit?: boolean;
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
  /** From the model or the rule, from 0 to 1; absent if a pattern found it. */
  score?: number;
  /** Why the rule found it, such as `'IBAN: check digits and length of its country'`; absent if a model or a pattern did. */
  reason?: string;
}

/** What was replaced, where and why, without the value: for a record that may be kept. */
export interface AuditEntry {
  /** What it is, such as `'phone'`. */
  label: string;
  /** Where it begins in the input, in UTF-16 units. */
  start: number;
  /** Where it ends in the input, in UTF-16 units. */
  end: number;
  /** What stands in its place. */
  placeholder: string;
  /** From the model or the rule; absent if a pattern found it. */
  score?: number;
  /** Why the rule found it; `'model'` or `'pattern'` for the others. */
  reason: string;
}

/** The result of `redact`. */
export interface Redaction {
  /** The text with placeholders such as `[PERSON_1]`. */
  text: string;
  /** What was replaced, in the order of the text. */
  entities: RedactedEntity[];
  /** Placeholders with what they stand for, those of the option `map` included. Keep it: it has what the text no longer has. */
  map: { [placeholder: string]: string };
  /** What was replaced, where and why, without the values; with the option `audit`. */
  audit?: AuditEntry[];
}

/** Redacts a text that arrives in pieces, such as a chat as it is written, or the lines of a log. */
export interface RedactionStream {
  /**
   * The next piece, cut anywhere. Gives what may be passed on: all but the end that may still become a finding. That is the word that is being
   * written and what belongs to it; with `patterns` of your own, the line that has not ended.
   */
  push(text: string): string;
  /** The rest. Nothing may be pushed after it. */
  end(): string;
  /** What was replaced so far, with the option `audit`; places count from the beginning of the stream. */
  readonly audit: readonly AuditEntry[];
}

/** Redacts texts one after the other; the same value has the same placeholder in all of them. Made by `redactSession`. */
export interface RedactSession {
  /** Placeholders with what they stand for, so far. */
  readonly map: { readonly [placeholder: string]: string };
  /** As `redact`, with the session's options. */
  redact(text: string): Promise<Redaction>;
  redact(texts: readonly string[]): Promise<Redaction[]>;
  /** Replaces the session's placeholders by what they stand for. */
  restore(text: string): string;
  /** For a text that arrives in pieces. Only for sessions without a model, and texts without a format: otherwise an `InputError`. */
  stream(): RedactionStream;
  /** The same as a `TransformStream` of strings. */
  transform(): TransformStream<string, string>;
}
