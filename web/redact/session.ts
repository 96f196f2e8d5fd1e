// Sessions of redact: placeholders that stay the same, and texts that arrive in pieces.
import { InputError } from '../core/errors.js';
import { readTexts } from '../core/texts.js';
import { Placeholders } from './numbered.js';
import { kBracketed } from './placeholders.js';
import { addBracketed, byPatterns, literals, redactAll, replaceIn, takeMap, takeSettings, unite, withoutValue, type Finding, type Settings } from './redact.js'; // prettier-ignore
import type { AuditEntry, EntityFinder, RedactOptions, Redaction, RedactionStream, RedactSession } from './redact_types.js';
import { kContext } from './rules/rule.js';
import { Segments, type Segment } from './rules/segments.js';

/** Redacts what is pushed. Text is given back as soon as no finding can begin in it. */
class Stream implements RedactionStream {
  private readonly segments = new Segments();
  /** The text that is not given back, with the characters before it that tell what follows. */
  private text = '';
  private start = 0; // the place of `text` in all that was pushed
  private given = 0; // all before this place was given back
  private pending: Segment[] = [];
  private ended = false;
  readonly audit: AuditEntry[] = [];

  constructor(
    private readonly settings: Settings,
    private readonly session: Session,
  ) {}

  push(text: string): string {
    if (this.ended) throw new InputError('RedactionStream: push: expected nothing after end()');
    return this.take(readTexts('RedactionStream: push', text)[0] as string, false);
  }

  end(): string {
    if (this.ended) return '';
    this.ended = true;
    return this.take('', true);
  }

  private take(text: string, final: boolean): string {
    this.text += text;
    this.pending.push(...this.segments.add(text, final));
    let to = this.segments.decided;
    // Patterns of the caller are asked for whole lines.
    if (this.settings.patterns.length > 0 && !final) to = this.text.lastIndexOf('\n', to - this.start - 1) + 1 + this.start;
    // A private key has lines of its own, and is released as a whole.
    const around = this.pending.find(([start, end]) => start < to && to < end);
    if (around) to = this.text.lastIndexOf('\n', around[0] - this.start - 1) + 1 + this.start;
    if (final) to = this.start + this.text.length;
    let out = '';
    for (const end of this.ends(to)) out += this.release(end);
    return out;
  }

  /** Where to divide what is released, wherever the text was cut: after each segment, or after each line outside of one. */
  private ends(to: number): number[] {
    const { start, given, pending } = this;
    if (to <= given) return [];
    const inside = pending.filter(([, end]) => end <= to);
    if (this.settings.patterns.length === 0) return [...new Set([...inside.map(([, end]) => end), to])];
    const lines = Array.from(this.text.slice(given - start, to - start).matchAll(/\n/g), ({ index }) => given + index + 1);
    return [...new Set([...lines.filter((at) => !inside.some(([a, b]) => a < at && at < b)), to])];
  }

  private release(to: number): string {
    const { settings, start, given } = this;
    const { rules, patterns, allowed } = settings;
    const text = this.text.slice(given - start, to - start);
    const own = (one: Finding): Finding => ({ ...one, start: one.start + start - given, end: one.end + start - given });
    const ready = this.pending.filter(([, end]) => end <= to);
    this.pending = this.pending.filter(([, end]) => end > to);
    const ruled = ready.flatMap(([a, b]) => (rules ? rules.findIn(this.text, [a - start, b - start]).map(own) : []));
    const found = [...ruled, ...byPatterns(patterns, text)].filter((one) => !allowed(text.slice(one.start, one.end)));
    const { text: out, entities } = this.session.replace(text, found);
    if (settings.options.audit) {
      for (const entity of entities)
        this.audit.push(withoutValue({ ...entity, start: entity.start + given, end: entity.end + given }));
    }
    const kept = Math.max(start, to - kContext);
    this.text = this.text.slice(kept - start);
    this.start = kept;
    this.given = to;
    return out;
  }
}

class Session implements RedactSession {
  map: Record<string, string>;
  private readonly taken = new Set<string>();

  constructor(private readonly settings: Settings) {
    this.map = takeMap('redactSession', settings.options.map);
  }

  redact(text: string): Promise<Redaction>;
  redact(texts: readonly string[]): Promise<Redaction[]>;
  async redact(texts: string | readonly string[]): Promise<unknown> {
    const list = readTexts('RedactSession: redact', texts);
    const call = this.queue.then(async () => {
      const out = await redactAll(this.settings, list, this.map);
      // A stream may have named something in the meantime; its names are kept.
      if (out[0]) this.map = { ...this.map, ...out[0].map };
      return out;
    });
    this.queue = call.catch(() => undefined);
    const out = await call;
    return typeof texts === 'string' ? out[0] : out;
  }

  restore(text: string): string {
    const known = readTexts('RedactSession: restore', text)[0] as string;
    return known.replace(kBracketed, (placeholder) =>
      Object.hasOwn(this.map, placeholder) ? (this.map[placeholder] as string) : placeholder,
    );
  }

  stream(): RedactionStream {
    const { ner, options } = this.settings;
    if (ner) throw new InputError('RedactSession: stream: expected a session without a model, as a model reads whole texts');
    if (options.format !== undefined && options.format !== null && options.format !== 'text') {
      throw new InputError(`RedactSession: stream: expected format 'text', found '${options.format}'`);
    }
    return new Stream(this.settings, this);
  }

  transform(): TransformStream<string, string> {
    const stream = this.stream();
    const give = (text: string, controller: TransformStreamDefaultController<string>) => {
      if (text !== '') controller.enqueue(text);
    };
    return new TransformStream({
      transform: (text, controller) => give(stream.push(text), controller),
      flush: (controller) => give(stream.end(), controller),
    });
  }

  /** Replaces findings in a piece of a stream. */
  replace(text: string, found: readonly Finding[]): ReturnType<typeof replaceIn> {
    addBracketed(text, this.taken);
    const placeholders = new Placeholders(this.map, this.taken);
    const out = replaceIn(
      text,
      unite([...found, ...literals(text, (placeholder) => Object.hasOwn(this.map, placeholder))]),
      placeholders,
    );
    if (out.entities.length > 0) this.map = placeholders.map();
    return out;
  }

  private queue: Promise<unknown> = Promise.resolve();
}

export async function openSession(ner: EntityFinder | undefined, options?: RedactOptions): Promise<RedactSession> {
  return new Session(await takeSettings('redactSession', ner, options));
}
