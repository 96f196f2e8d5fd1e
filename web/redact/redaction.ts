// redact and restore. What redact needs is loaded on first use.
import { describe, InputError } from '../core/errors.js';
import { kBracketed } from './placeholders.js';
import type { EntityFinder, RedactOptions, Redaction } from './redact_types.js';

/**
 * Replaces entities by placeholders, so that a text can be sent to others without them, and `restore` can put them back into the answer. Equal
 * texts get equal placeholders: in one call, in all texts of an array, and in later calls that are given `map`. What a model finds is
 * replaced as a whole, extended to whole words; findings that overlap are replaced as one.
 *
 * `restore(text, map)` is the input again, whatever it contains: a placeholder of `map` that is in the input gets one of its own.
 *
 * @example
 * // With a model: const ner = await pipeline('zero-shot-ner', './gliner', { worker: true });
 * // await redact(ner, 'Ada wrote to Bo', { labels: ['person'] }) gives the text '[PERSON_1] wrote to [PERSON_2]'.
 * const { text, map } = await redact(null, 'Write to ada@example.org', { patterns: { email: true } });
 * text; // => "Write to [EMAIL_1]"
 * restore(text, map); // => "Write to ada@example.org"
 */
export function redact(ner: EntityFinder, text: string, options?: RedactOptions): Promise<Redaction>;
export function redact(ner: EntityFinder, texts: readonly string[], options?: RedactOptions): Promise<Redaction[]>;
export async function redact(ner: EntityFinder, texts: string | readonly string[], options?: RedactOptions): Promise<unknown> {
  return (await import('./redact.js')).redactTexts(ner, texts, options);
}

/**
 * Replaces the placeholders of `map` by what they stand for. Others are left as they are.
 *
 * @example
 * restore('Dear [PERSON_1]', { '[PERSON_1]': 'Ada' }); // => "Dear Ada"
 */
export function restore(text: string, map: { readonly [placeholder: string]: string }): string {
  if (typeof text !== 'string') throw new InputError(`restore: expected a string, found ${describe(text)}`);
  if (typeof map !== 'object' || map === null) throw new InputError(`restore: map: expected an object, found ${describe(map)}`);
  return text.replace(kBracketed, (placeholder) => (Object.hasOwn(map, placeholder) ? String(map[placeholder]) : placeholder));
}
