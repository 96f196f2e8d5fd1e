// redact: replaces what a model or a pattern finds in texts by placeholders.
import { describe, InputError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import { engineOf } from '../engine/loaded.js';
import { readFields } from '../source/model_files.js';
import { builtIn, kPatternNames, type Range } from './redact_patterns.js';
import { partsOf, placeOf, kFormats, type Part } from './formats.js';
import { Placeholders } from './numbered.js';
import { kBracketed } from './placeholders.js';
import { takeAllowed, takeRules, type Allowed } from './rule_options.js';
import type { RuleSet } from './rules/rules.js';
import { Segments } from './rules/segments.js';
import type { AuditEntry, EntityFinder, RedactedEntity, Redaction, RedactOptions } from './redact_types.js';

const kRules: Rules = {
  adapter: 'any',
  labels: 'any',
  threshold: '[0,1]',
  patterns: 'any',
  map: 'any',
  signal: 'signal',
  rules: 'any',
  countries: 'any',
  allow: 'any',
  format: kFormats,
  audit: 'boolean',
};

/** The label of a placeholder of the given map that the text contains. */
const kLiteral = 'placeholder';

/** Tokens that neighbouring windows of token-classification share, at most. */
const kStride = 64;

export interface Finding {
  label: string;
  start: number;
  end: number;
  score?: number;
  reason?: string;
}

const kWord = /[\p{L}\p{M}\p{N}_]/u;
// Scripts that do not separate words: a finding is not extended over their letters.
const kUnseparated =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** The code point at an index, or that ends before it. */
const at = (text: string, index: number) => (index < text.length ? String.fromCodePoint(text.codePointAt(index) as number) : '');
function before(text: string, index: number): string {
  const low = text[index - 1] ?? '';
  const both = (text[index - 2] ?? '') + low;
  return both.length === 2 && (both.codePointAt(0) as number) > 0xffff ? both : low;
}

const splitsPair = (text: string, index: number) =>
  index > 0 && index < text.length && (text.codePointAt(index - 1) as number) > 0xffff;

/** Whole code points. */
function toCodePoints(text: string, { start, end, ...rest }: Finding): Finding {
  return { ...rest, start: start - (splitsPair(text, start) ? 1 : 0), end: end + (splitsPair(text, end) ? 1 : 0) };
}

const isWord = (character: string) => kWord.test(character) && !kUnseparated.test(character);

/** The words of a text. The last one is known, as many findings may be in one long word. */
class Words {
  private start = 0;
  private end = 0;

  constructor(private readonly text: string) {}

  /** Begin and end of the word that a place is inside; the place itself where there is none. */
  around(place: number): [start: number, end: number] {
    if (place > this.start && place < this.end) return [this.start, this.end];
    const { text } = this;
    if (!isWord(before(text, place)) || !isWord(at(text, place))) return [place, place];
    let [start, end] = [place, place];
    while (isWord(before(text, start))) start -= before(text, start).length;
    while (isWord(at(text, end))) end += at(text, end).length;
    [this.start, this.end] = [start, end];
    return [start, end];
  }
}

/** Whole words, without spaces at the ends: a model may tag only some of a word's tokens. */
function toWords(text: string, words: Words, finding: Finding): Finding {
  let { start, end } = toCodePoints(text, finding);
  while (start < end && /\s/u.test(at(text, start))) start += at(text, start).length;
  while (end > start && /\s/u.test(before(text, end))) end -= before(text, end).length;
  if (start === end) return { ...finding, start, end };
  return { ...finding, start: words.around(start)[0], end: words.around(end)[1] };
}

/** Findings that overlap become one, with the label of the longest, or of equally long ones the first. */
export function unite(findings: readonly Finding[]): Finding[] {
  const out: Finding[] = [];
  let longest = 0;
  for (const finding of [...findings].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const { start, end, label, score, reason } = finding;
    if (start >= end) continue;
    const last = out[out.length - 1];
    if (!last || start >= last.end) {
      out.push({ ...finding });
      longest = end - start;
      continue;
    }
    last.end = Math.max(last.end, end);
    if (end - start <= longest) continue;
    longest = end - start;
    last.label = label;
    if (score === undefined) delete last.score;
    else last.score = score;
    if (reason === undefined) delete last.reason;
    else last.reason = reason;
  }
  return out;
}

export function takeMap(where: string, map: RedactOptions['map'] | null): Record<string, string> {
  if (map === undefined || map === null) return {};
  if (typeof map !== 'object') throw new InputError(`${where}: option 'map': expected an object, found ${describe(map)}`);
  for (const [placeholder, text] of Object.entries(map)) {
    if (placeholder.replace(kBracketed, '') !== '' || typeof text !== 'string') {
      throw new InputError(
        `${where}: option 'map': expected texts for placeholders such as '[PERSON_1]', found ${describe(text)} for ${describe(placeholder)}`,
      );
    }
  }
  return { ...map };
}

type Finder = (text: string) => Iterable<Range>;

function* matches(pattern: RegExp, text: string): Generator<Range> {
  const global = new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, '')}g`);
  for (const { 0: found, index } of text.matchAll(global)) yield [index, index + found.length];
}

function takePatterns(where: string, patterns: RedactOptions['patterns'] | null): [label: string, find: Finder][] {
  if (patterns === undefined || patterns === null) return [];
  if (typeof patterns !== 'object' || Array.isArray(patterns)) {
    throw new InputError(`${where}: option 'patterns': expected an object, found ${describe(patterns)}`);
  }
  return Object.entries(patterns).flatMap(([label, pattern]): [string, Finder][] => {
    if (pattern === false || pattern === undefined || pattern === null) return [];
    if (Object.prototype.toString.call(pattern) === '[object RegExp]') return [[label, (text) => matches(pattern as RegExp, text)]];
    if (pattern === true && kPatternNames.includes(label)) return [[label, (text) => builtIn(label, text)]];
    throw new InputError(
      `${where}: option 'patterns': ${label}: expected a RegExp, or true for one of ${kPatternNames.join(', ')}, found ${describe(pattern)}`,
    );
  });
}

/** The labels that a model of token-classification can find; undefined if only a worker knows them. */
function labelsOf(ner: object, adapter: string | false | null | undefined): string[] | undefined {
  const engine = engineOf(ner);
  const name = adapter ?? engine?.adapters?.active ?? false;
  const files = name === false ? engine?.files : engine?.adapters?.held.get(name)?.files;
  const { id2label } = files ? readFields(files, 'config.json') : {};
  return id2label ? [...new Set(Object.values(id2label).map((label) => String(label).replace(/^[BI]-/, '')))] : undefined;
}

/** What the model finds in each text. */
async function ask(
  where: string,
  ner: EntityFinder | undefined,
  texts: readonly string[],
  options: RedactOptions,
): Promise<Finding[][]> {
  const { labels, threshold, adapter, signal } = options;
  const call = { ...(adapter !== undefined && { adapter }), ...(signal && { signal }) };
  if (ner === null || ner === undefined) {
    const given =
      labels !== undefined && labels !== null ? 'labels' : threshold !== undefined && threshold !== null ? 'threshold' : '';
    if (given !== '')
      throw new InputError(`${where}: option '${given}': expected a model with it, found ${ner === null ? 'null' : 'none'}`);
    return texts.map(() => []);
  }
  if (ner.task === 'zero-shot-ner') {
    return ner(texts, labels as string[], { ...call, ...(threshold !== undefined && { threshold }) });
  }
  if (ner.task !== 'token-classification') {
    const found = describe((ner as { task?: unknown } | undefined)?.task);
    throw new InputError(`${where}: expected a pipeline of 'zero-shot-ner' or 'token-classification', or null, found ${found}`);
  }
  const least = threshold ?? 0;
  const wanted = labels === undefined || labels === null ? undefined : readTexts(`${where}: option 'labels'`, labels);
  const known = wanted && labelsOf(ner, adapter)?.filter((label) => label !== 'O');
  const unknown = known && wanted.find((label) => !known.includes(label));
  if (known && unknown !== undefined) {
    const names = known.map((label) => `'${label}'`).join(', ');
    throw new InputError(`${where}: option 'labels': expected some of the model's ${names}, found '${unknown}'`);
  }
  const stride = Math.min(kStride, Math.max(0, Math.floor((ner.info().max_length - 4) / 4)));
  const found = await ner(texts, { ...call, aggregation_strategy: 'simple', stride, windows: 'once' });
  return found.map((entities) =>
    entities.flatMap(({ entity_group: label, score, start, end }) =>
      score > least && (wanted?.includes(label) ?? true) ? [{ label, score, start, end }] : [],
    ),
  );
}

/** Adds to found the bracketed parts of a text. */
export function addBracketed(text: string, found: Set<string>): void {
  for (const [bracketed] of text.matchAll(kBracketed)) found.add(bracketed);
}

export function replaceIn(
  text: string,
  findings: readonly Finding[],
  placeholders: Placeholders,
): { text: string; entities: RedactedEntity[] } {
  let out = '';
  let from = 0;
  const entities = findings.map(({ label, start, end, score, reason }): RedactedEntity => {
    const original = text.slice(start, end);
    const placeholder = placeholders.of(label, original);
    out += text.slice(from, start) + placeholder;
    from = end;
    return { label, text: original, start, end, placeholder, ...(score !== undefined && { score }), ...(reason && { reason }) };
  });
  return { text: out + text.slice(from), entities };
}

/** What rules find in a part. */
function byRules(rules: RuleSet, { text, context }: Part): Finding[] {
  const whole = context + text;
  const moved = context.length;
  return new Segments()
    .add(text, true)
    .flatMap(([start, end]) =>
      rules.findIn(whole, [start + moved, end + moved]).map((one) => ({ ...one, start: one.start - moved, end: one.end - moved })),
    );
}

/** How a call or a session redacts. */
export interface Settings {
  where: string;
  ner: EntityFinder | undefined;
  options: RedactOptions;
  rules: RuleSet | undefined;
  patterns: [label: string, find: Finder][];
  allowed: Allowed;
}

export async function takeSettings(where: string, ner: EntityFinder | undefined, given: unknown): Promise<Settings> {
  const options = readOptions(where, given as RedactOptions, kRules) ?? {};
  const patterns = takePatterns(where, options.patterns);
  const allowed = takeAllowed(where, options.allow);
  return { where, ner, options, patterns, allowed, rules: await takeRules(where, options, ner === null) };
}

/** What the patterns of the caller find in a text. */
export const byPatterns = (patterns: Settings['patterns'], text: string): Finding[] =>
  patterns.flatMap(([label, find]) => Array.from(find(text), ([start, end]) => toCodePoints(text, { label, start, end })));

/** Places of the given placeholders in a text. */
export const literals = (text: string, isGiven: (placeholder: string) => boolean): Finding[] =>
  Array.from(text.matchAll(kBracketed)).flatMap(({ 0: found, index }) =>
    isGiven(found) ? [{ label: kLiteral, start: index, end: index + found.length }] : [],
  );

/** Replaces what is found in each text. The placeholders that were given before are those of `map`. */
export async function redactAll(
  settings: Settings,
  list: readonly string[],
  given: Readonly<Record<string, string>>,
): Promise<Redaction[]> {
  const { where, ner, options, rules, patterns, allowed } = settings;
  const divided = list.map((text) => partsOf(text, options.format ?? 'text'));
  const fromModel = await ask(where, ner, divided.flatMap((parts) => parts.map(({ text }) => text)), options); // prettier-ignore
  const taken = new Set<string>();
  for (const text of list) addBracketed(text, taken);
  const placeholders = new Placeholders(given, taken);
  const results: { text: string; entities: RedactedEntity[] }[] = [];
  let next = 0;
  divided.forEach((parts, i) => {
    const findings = parts.flatMap((part) => {
      const { text } = part;
      const words = new Words(text);
      const ofModel = (fromModel[next++] as Finding[]).map((finding) => toWords(text, words, finding));
      const found = [...ofModel, ...byPatterns(patterns, text), ...(rules ? byRules(rules, part) : [])];
      const kept = found.filter(({ start, end }) => !allowed(text.slice(start, end)));
      return unite([...kept, ...literals(text, (placeholder) => Object.hasOwn(given, placeholder))]).map((finding) => ({
        ...finding,
        start: placeOf(part, finding.start),
        end: placeOf(part, finding.end),
      }));
    });
    results.push(replaceIn(list[i] as string, findings, placeholders));
  });
  const map = placeholders.map();
  return results.map((result) => ({ ...result, map, ...(options.audit && { audit: result.entities.map(withoutValue) }) }));
}

export const withoutValue = ({ label, start, end, placeholder, score, reason }: RedactedEntity): AuditEntry => ({
  label,
  start,
  end,
  placeholder,
  ...(score !== undefined && { score }),
  reason: reason ?? (score === undefined ? 'pattern' : 'model'),
});

export async function redactTexts(
  ner: EntityFinder | undefined,
  texts: string | readonly string[],
  options?: RedactOptions | null,
): Promise<Redaction | Redaction[]> {
  const settings = await takeSettings('redact', ner, options);
  const list = readTexts('redact', texts);
  const out = await redactAll(settings, list, takeMap('redact', settings.options.map));
  return typeof texts === 'string' ? (out[0] as Redaction) : out;
}
