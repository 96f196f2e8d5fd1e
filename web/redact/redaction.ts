// redact and restore. What redact needs is loaded on first use.
import { describe, InputError } from '../core/errors.js';
import { kBracketed } from './placeholders.js';
import type { EntityFinder, RedactOptions, Redaction, RedactSession } from './redact_types.js';

/**
 * Replaces entities by placeholders, so that a text can be sent to others without them, and `restore` can put them back into the answer. Equal
 * texts get equal placeholders: in one call, in all texts of an array, and in later calls that are given `map`. What a model finds is
 * replaced as a whole, extended to whole words; findings that overlap are replaced as one.
 *
 * Without a model, rules find what has a form of its own. These are email and postal addresses, phone numbers, IBANs, cards, national numbers with
 * check digits, IP and MAC addresses, and crypto addresses. Then there are dates of birth, keys and passwords, and secrets in URLs. Names need a
 * model.
 *
 * `restore(text, map)` is the input again, whatever it contains: a placeholder of `map` that is in the input gets one of its own.
 *
 * @example
 * const rules = await redact('Pay DE89 3704 0044 0532 0130 00, or call +44 20 7946 0958.');
 * rules.text; // => "Pay [IBAN_1], or call [PHONE_1]."
 * // With a model: const ner = await pipeline('zero-shot-ner', './gliner', { worker: true });
 * // await redact(ner, 'Ada wrote to Bo', { labels: ['person'] }) gives the text '[PERSON_1] wrote to [PERSON_2]'.
 * const { text, map } = await redact(null, 'Write to ada@example.org', { patterns: { email: true } });
 * text; // => "Write to [EMAIL_1]"
 * restore(text, map); // => "Write to ada@example.org"
 */
export function redact(text: string, options?: RedactOptions): Promise<Redaction>;
export function redact(texts: readonly string[], options?: RedactOptions): Promise<Redaction[]>;
export function redact(ner: EntityFinder, text: string, options?: RedactOptions): Promise<Redaction>;
export function redact(ner: EntityFinder, texts: readonly string[], options?: RedactOptions): Promise<Redaction[]>;
export async function redact(first: unknown, second?: unknown, third?: unknown): Promise<unknown> {
  const { redactTexts } = await import('./redact.js');
  if (typeof first === 'string' || Array.isArray(first)) return redactTexts(undefined, first, second as RedactOptions);
  return redactTexts(first as EntityFinder, second as string, third as RedactOptions);
}

/**
 * A session: what `redact` does, over any number of texts and streams, with placeholders that stay the same. Without a model, rules and patterns find
 * what is replaced.
 *
 * @example
 * const session = await redactSession();
 * const stream = session.stream();
 * let out = '';
 * for (const piece of ['Mail ada@exam', 'ple.org ', 'today']) out += stream.push(piece);
 * out + stream.end(); // => "Mail [EMAIL_1] today"
 * session.restore('Dear [EMAIL_1]'); // => "Dear ada@example.org"
 */
export function redactSession(options?: RedactOptions): Promise<RedactSession>;
export function redactSession(ner: EntityFinder, options?: RedactOptions): Promise<RedactSession>;
export async function redactSession(first?: unknown, second?: unknown): Promise<RedactSession> {
  const { openSession } = await import('./session.js');
  // A pipeline is a function.
  const hasModel = first === null || typeof first === 'function';
  return openSession(hasModel ? (first as EntityFinder) : undefined, (hasModel ? second : first) as RedactOptions);
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
