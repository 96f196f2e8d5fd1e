// Public types of redact and restore.
import type { TaskTextOptions } from '../engine/types.js';
import type { RedactFormat } from './formats.js';
import type { RuleName } from './rules/rule.js';
import type { TokenClassificationPipeline, ZeroShotNerPipeline } from '../tasks/task_types.js';

export type { RedactFormat, RuleName };

/** A model that finds entities. `null`: only patterns, and rules if requested. */
export type EntityFinder = ZeroShotNerPipeline | TokenClassificationPipeline | null;

/** Built-in patterns of `redact`. */
export type PatternName = 'email' | 'phone' | 'card';

/** Options of `redact`. */
export interface RedactOptions extends Pick<TaskTextOptions, 'adapter' | 'signal'> {
  /**
   * Labels to replace. `zero-shot-ner` requires them and accepts any labels; for `token-classification` they are the model's tags without `B-` and `I-`,
   * by default all.
   */
  labels?: string | readonly string[];
  /** Minimum score of the model's findings, exclusive, from 0 to 1. Default 0.5 for `zero-shot-ner`, 0 for `token-classification`. */
  threshold?: number;
  /**
   * Patterns to replace, by label: a regular expression, or `true` for the built-in pattern of that name. `email`: email addresses. `phone`: numbers
   * that begin with `+` and a country code, and ten digits written as `(555) 123-4567` or `555-123-4567`. `card`: 13 to 19 digits, maybe with spaces or
   * hyphens between them, whose last one is a correct check digit (Luhn).
   */
  patterns?: { readonly [label: string]: RegExp | boolean };
  /**
   * Rules, which need no model: names such as `'phone'` and `'iban'`, `true` for all, `false` for none. Default: all; none if `null` is passed instead
   * of a model.
   */
  rules?: boolean | RuleName | readonly RuleName[];
  /**
   * ISO country codes such as `['DE', 'AT']`. The phone rule then also finds numbers in their numbering plans without a plus sign, such as bare digits.
   * Default: none; such numbers are then found only next to a word for phones, or if they are formatted as phone numbers.
   */
  countries?: string | readonly string[];
  /** What never to replace: exact texts, or regular expressions that match the whole finding. */
  allow?: string | RegExp | readonly (string | RegExp)[];
  /**
   * Format of the texts. Default `'text'`. `'html'`: only text and attributes that show text are changed. `'json'` (also JSON Lines): string values.
   * `'csv'`: cells. Well-formed input stays well-formed. Keys and column names count as context of their values.
   */
  format?: RedactFormat;
  /** Adds `audit` to the result. Default `false`. */
  audit?: boolean;
  /** The `map` of an earlier call: its texts get the same placeholders again. The object is not changed. */
  map?: { readonly [placeholder: string]: string };
}

/** A replaced text, `input.slice(start, end)`. */
export interface RedactedEntity {
  /** Its label, such as `'person'`. */
  label: string;
  /** The text that was replaced. */
  text: string;
  /** Start offset in the input, in UTF-16 code units. */
  start: number;
  /** End offset in the input, in UTF-16 code units. */
  end: number;
  /** The placeholder that replaces it, such as `[PERSON_1]`. */
  placeholder: string;
  /** Confidence of the model or the rule, from 0 to 1; absent if a pattern found it. */
  score?: number;
  /** Why the rule found it, such as `'IBAN: check digits and length of its country'`; absent if a model or a pattern found it. */
  reason?: string;
}

/** A replacement without its value, for logs that you may keep: what, where and why. */
export interface AuditEntry {
  /** Its label, such as `'phone'`. */
  label: string;
  /** Start offset in the input, in UTF-16 code units. */
  start: number;
  /** End offset in the input, in UTF-16 code units. */
  end: number;
  /** The placeholder that replaces it. */
  placeholder: string;
  /** Confidence of the model or the rule; absent if a pattern found it. */
  score?: number;
  /** Why the rule found it; `'model'` or `'pattern'` otherwise. */
  reason: string;
}

/** The result of `redact`. */
export interface Redaction {
  /** The text with placeholders such as `[PERSON_1]`. */
  text: string;
  /** What was replaced, in order of appearance. */
  entities: RedactedEntity[];
  /** The original text of each placeholder, including those of the option `map`. Keep it: it contains what was removed from the text. */
  map: { [placeholder: string]: string };
  /** With the option `audit`: what was replaced, where and why, without the values. */
  audit?: AuditEntry[];
}

/** Redacts a text that arrives in pieces, such as a streamed chat answer or a log. */
export interface RedactionStream {
  /**
   * Adds a piece, cut anywhere. Returns the text that is safe to pass on: everything except an end that may still become a finding. That is the
   * unfinished word and its context; with your own `patterns`, the unfinished line.
   */
  push(text: string): string;
  /** Returns the rest. Nothing may be pushed after it. */
  end(): string;
  /** What was replaced so far, with the option `audit`. Offsets count from the beginning of the stream. */
  readonly audit: readonly AuditEntry[];
}

/** Redacts texts one after another, with the same placeholder for the same value in all of them. Created by `redactSession`. */
export interface RedactSession {
  /** The original text of each placeholder so far. */
  readonly map: { readonly [placeholder: string]: string };
  /** Redacts a text, like `redact`, with the session's options. */
  redact(text: string): Promise<Redaction>;
  redact(texts: readonly string[]): Promise<Redaction[]>;
  /** Replaces the session's placeholders with their original texts. */
  restore(text: string): string;
  /** Redacts a text that arrives in pieces. Throws an `InputError` in a session with a model or a format. */
  stream(): RedactionStream;
  /** The same as `stream()`, as a `TransformStream` of strings. */
  transform(): TransformStream<string, string>;
}
