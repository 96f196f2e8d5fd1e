// redact: replaces what a model or a pattern finds in texts by placeholders.
import { describe, InputError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import { engineOf } from '../engine/loaded.js';
import { readFields } from '../source/model_files.js';
import { builtIn, kPatternNames, type Range } from './redact_patterns.js';
import { kBracketed } from './placeholders.js';
import type { EntityFinder, RedactedEntity, Redaction, RedactOptions } from './redact_types.js';

const kRules: Rules = { adapter: 'any', labels: 'any', threshold: '[0,1]', patterns: 'any', map: 'any', signal: 'signal' };

/** The label of a placeholder of the given map that the text contains. */
const kLiteral = 'placeholder';

/** Tokens that neighbouring windows of token-classification share, at most. */
const kStride = 64;

interface Finding {
  label: string;
  start: number;
  end: number;
  score?: number;
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
function unite(findings: readonly Finding[]): Finding[] {
  const out: Finding[] = [];
  let longest = 0;
  for (const finding of [...findings].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const { start, end, label, score } = finding;
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
  }
  return out;
}

/** Gives texts their placeholders. */
class Placeholders {
  private readonly texts: Map<string, string>; // by placeholder
  private readonly placeholders = new Map<string, string>(); // by text
  private readonly last = new Map<string, number>(); // number by name

  /** taken: placeholders that must not be given. */
  constructor(
    map: Readonly<Record<string, string>>,
    private readonly taken: ReadonlySet<string>,
  ) {
    this.texts = new Map(Object.entries(map));
    for (const [placeholder, text] of this.texts) if (!this.placeholders.has(text)) this.placeholders.set(text, placeholder);
  }

  of(label: string, text: string): string {
    const known = this.placeholders.get(text);
    if (known !== undefined) return known;
    const name = label.toUpperCase().replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_|_$/g, '') || 'ENTITY'; // prettier-ignore
    let number = this.last.get(name) ?? 0;
    let placeholder: string;
    do placeholder = `[${name}_${++number}]`;
    while (this.texts.has(placeholder) || this.taken.has(placeholder));
    this.last.set(name, number);
    this.texts.set(placeholder, text);
    this.placeholders.set(text, placeholder);
    return placeholder;
  }

  map(): Record<string, string> {
    return Object.fromEntries(this.texts);
  }
}

function takeMap(where: string, map: RedactOptions['map'] | null): Record<string, string> {
  if (map === undefined || map === null) return {};
  if (typeof map !== 'object') throw new InputError(`${where}: option 'map': expected an object, found ${describe(map)}`);
  for (const [placeholder, text] of Object.entries(map)) {
    if (placeholder.replace(kBracketed, '') !== '' || typeof text !== 'string') {
      throw new InputError(
        `${where}: option 'map': expected texts by placeholders such as '[PERSON_1]', found ${describe(text)} by ${describe(placeholder)}`,
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
async function ask(where: string, ner: EntityFinder, texts: readonly string[], options: RedactOptions): Promise<Finding[][]> {
  const { labels, threshold, adapter, signal } = options;
  const call = { ...(adapter !== undefined && { adapter }), ...(signal && { signal }) };
  if (ner === null) {
    const given =
      labels !== undefined && labels !== null ? 'labels' : threshold !== undefined && threshold !== null ? 'threshold' : '';
    if (given !== '') throw new InputError(`${where}: option '${given}': expected a model with it, found null`);
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
function addBracketed(text: string, found: Set<string>): void {
  for (const [bracketed] of text.matchAll(kBracketed)) found.add(bracketed);
}

function replaceIn(
  text: string,
  findings: readonly Finding[],
  placeholders: Placeholders,
): { text: string; entities: RedactedEntity[] } {
  let out = '';
  let from = 0;
  const entities = findings.map(({ label, start, end, score }): RedactedEntity => {
    const original = text.slice(start, end);
    const placeholder = placeholders.of(label, original);
    out += text.slice(from, start) + placeholder;
    from = end;
    return { label, text: original, start, end, placeholder, ...(score !== undefined && { score }) };
  });
  return { text: out + text.slice(from), entities };
}

export async function redactTexts(
  ner: EntityFinder,
  texts: string | readonly string[],
  options?: RedactOptions | null,
): Promise<Redaction | Redaction[]> {
  const where = 'redact';
  options = readOptions(where, options, kRules);
  const list = readTexts(where, texts);
  const given = takeMap(where, options?.map);
  const patterns = takePatterns(where, options?.patterns);
  const fromModel = await ask(where, ner, list, options ?? {});
  const taken = new Set<string>();
  for (const text of list) addBracketed(text, taken);
  const placeholders = new Placeholders(given, taken);
  const parts = list.map((text, i) => {
    const fromPatterns = patterns.flatMap(([label, find]) =>
      Array.from(find(text), ([start, end]) => toCodePoints(text, { label, start, end })),
    );
    const literal = Array.from(text.matchAll(kBracketed)).flatMap(({ 0: found, index }) =>
      Object.hasOwn(given, found) ? [{ label: kLiteral, start: index, end: index + found.length }] : [],
    );
    const words = new Words(text);
    const ofModel = (fromModel[i] as Finding[]).map((finding) => toWords(text, words, finding));
    return replaceIn(text, unite([...ofModel, ...fromPatterns, ...literal]), placeholders);
  });
  const map = placeholders.map();
  const out = parts.map((part) => ({ ...part, map }));
  return typeof texts === 'string' ? (out[0] as Redaction) : out;
}
