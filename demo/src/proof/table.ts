// The measurements as text: Markdown for people, tab-separated values for spreadsheets.
import { formatBytes } from '../ui/format.js';
import { formatAgreement } from '../ui/numbers.js';
import type { Environment } from './environment.js';
import type { Row } from './run.js';

export const kHighSpread = 0.1;

export const formatMs = (ms: number) => (ms < 100 ? `${ms.toFixed(1)}\u00a0ms` : `${Math.round(ms)}\u00a0ms`);
export const formatSpread = (spread: number) => `${Math.round(100 * spread)}\u00a0%`;
/** Both digits that matter, for slow and for fast machines. */
export const formatSpeed = (speed: number) => (speed < 100 ? speed.toFixed(1) : String(Math.round(speed)));

export function bitsOf({ hash, published }: Row): string {
  if (!hash) return '';
  const short = hash.slice(0, 16);
  return published ? `${short} (${hash === published ? 'as published' : 'differs'})` : short;
}

type Column = [name: string, value: (row: Row) => string];

const optional = <T>(value: T | undefined, format: (value: T) => string) => (value === undefined ? '' : format(value));

const kColumns: Column[] = [
  ['', ({ name }) => name],
  ['texts/s', ({ textsPerSecond }) => optional(textsPerSecond, formatSpeed)],
  ['ms per text', ({ textsPerSecond }) => optional(textsPerSecond, (speed) => (1000 / speed).toFixed(2))],
  ['spread', ({ spread }) => optional(spread, formatSpread)],
  ['one text alone', ({ aloneMs }) => optional(aloneMs, formatMs)],
  ['first vector', ({ firstVectorMs }) => optional(firstVectorMs, formatMs)],
  ['WebAssembly memory', ({ sizes }) => optional(sizes, ({ memory }) => formatBytes(memory))],
  ['code', ({ sizes }) => optional(sizes, ({ code }) => formatBytes(code))],
  ['model files', ({ sizes }) => optional(sizes, ({ files }) => formatBytes(files))],
  ['lowest cosine to f32', ({ agreement }) => optional(agreement, formatAgreement)],
  ['SHA-256 of 1,000 vectors', bitsOf],
  ['note', ({ error, way }) => error ?? way ?? ''],
];

/** The facts of the run, one a line. */
export function factsOf(rows: readonly Row[], { browser, platform, cores }: Environment, model: string, date: string): string[] {
  const ours = rows.find(({ library, facts }) => library === 'wattn' && facts)?.facts;
  const theirs = rows.find(({ library, facts }) => library !== 'wattn' && facts)?.facts;
  return [
    `${browser} on ${platform}, ${cores} cores, ${date}`,
    `model: ${model}`,
    ...(ours ? [`wattn ${ours.version} (build ${ours.build}), ${ours.kernels}, ${threads(ours.threads)}`] : []),
    ...(theirs ? [`transformers.js ${theirs.version}, ${threads(theirs.threads)}`] : []),
  ];
}

/** What came out, in a sentence or two. */
export function summaryOf(rows: readonly Row[]): string {
  const ours = rows.filter(({ library, hash }) => library === 'wattn' && hash);
  const published = ours.filter(({ published }) => published);
  const same = published.filter(({ hash, published }) => hash === published);
  const bits =
    published.length === 0
      ? ''
      : same.length === published.length
        ? 'Every bit of 3,000 vectors matches the published ones. '
        : `The bits differ from the published ones: ${published.filter((row) => !same.includes(row)).map(({ name }) => name).join(', ')}. `; // prettier-ignore
  const best = fastest(rows.filter(({ library }) => library === 'wattn'));
  const rival = fastest(rows.filter(({ library }) => library !== 'wattn'));
  if (!best) return bits.trim();
  const times = rival && (best.textsPerSecond as number) / (rival.textsPerSecond as number);
  const against = rival && times ? `, ${times.toFixed(1)} times as many as ${rival.name}` : '';
  return `${bits}${best.name} embeds ${formatSpeed(best.textsPerSecond as number)} sentences per second here${against}.`;
}

const fastest = (rows: readonly Row[]): Row | undefined =>
  rows.filter(({ textsPerSecond }) => textsPerSecond).sort((a, b) => (b.textsPerSecond ?? 0) - (a.textsPerSecond ?? 0))[0];

const threads = (count = 1) => `${count} ${count === 1 ? 'thread' : 'threads'}`;

/** Columns in which some row has something. */
const columnsOf = (rows: readonly Row[]) => kColumns.filter(([, value]) => rows.some((row) => value(row) !== ''));

export function toMarkdown(rows: readonly Row[], facts: readonly string[], notes: readonly string[]): string {
  const columns = columnsOf(rows);
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replace(/\s+/g, ' ')).join(' | ')} |`;
  const table = [
    line(columns.map(([name]) => name)),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map(([, value]) => value(row)))),
  ];
  return [...facts.map((fact) => `- ${fact}`), '', ...table, ...(notes.length > 0 ? ['', ...notes.map((note) => `- ${note}`)] : [])].join('\n'); // prettier-ignore
}

export function toTsv(rows: readonly Row[], facts: readonly string[]): string {
  const columns = columnsOf(rows);
  const line = (cells: string[]) => cells.map((cell) => cell.replace(/\s+/g, ' ')).join('\t');
  return [
    line([...columns.map(([name]) => name || 'contender'), 'where']),
    ...rows.map((row) => line([...columns.map(([, value]) => value(row)), facts.join('; ')])),
  ].join('\n');
}
