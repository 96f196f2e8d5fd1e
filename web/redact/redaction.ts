// redact and restore. What redact needs is loaded on first use.
import { describe, InputError } from '../core/errors.js';
import { kBracketed } from './placeholders.js';
import type { EntityFinder, RedactOptions, Redaction, RedactSession } from './redact_types.js';

/**
 * Replaces personal data with placeholders, so that you can send a text to others; `restore` puts the values back into their answer. Equal texts get
 * equal placeholders, in one call, in all texts of an array, and in later calls with `map`. Findings of a model are extended to whole words; overlapping
 * findings are replaced as one.
 *
 * Without a model, rules find data with a recognisable form: email and postal addresses, phone numbers, IBANs, cards, national numbers with check
 * digits, IP and MAC addresses, and crypto addresses. They also find dates of birth, keys and passwords, and secrets in URLs. Names need a model.
 *
 * `restore(text, map)` always returns the input: a placeholder that is already in the input gets its own placeholder.
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
 * Starts a session: `redact` for any number of texts and streams, with consistent placeholders. Without a model, only rules and patterns apply.
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
 * Replaces the placeholders of `map` with their original texts. Others are left unchanged.
 *
 * @example
 * restore('Dear [PERSON_1]', { '[PERSON_1]': 'Ada' }); // => "Dear Ada"
 */
export function restore(text: string, map: { readonly [placeholder: string]: string }): string {
  if (typeof text !== 'string') throw new InputError(`restore: expected a string, found ${describe(text)}`);
  if (typeof map !== 'object' || map === null) throw new InputError(`restore: map: expected an object, found ${describe(map)}`);
  return text.replace(kBracketed, (placeholder) => (Object.hasOwn(map, placeholder) ? String(map[placeholder]) : placeholder));
}
