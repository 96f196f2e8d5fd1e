// `wattn models`: the list of models in models/catalog.json, which docs/choose.md and the demo show too.
import catalog from '../../models/catalog.json';
import { InputError } from '../entries/index.js';
import { taskNamed } from '../tasks/defaults.js';
import { flag, noTexts, text, type Values } from './args.js';
import { write } from './lines.js';

/** A model of the list. What was not measured is not there. */
interface Listed {
  id: string;
  /** Who vouches for its row: a package of ours, a model that was run with its real weights, or its card. */
  from: string;
  tasks: string[];
  /** Codes of ISO 639, with spaces between. */
  languages: string;
  /** What a first visit downloads. */
  bytes: number;
  memory?: number;
  /** One text, or one token of those that write (`ms_of`). */
  ms?: number;
  ms_of?: string;
  quality?: { measure: string; value: number; source: string }[];
  licence: string;
  good: string;
  wants: { want: string; task: string; guide: string }[];
}

const kModels: readonly Listed[] = catalog.models;
const kMostNamed = 4; // languages; of more, their number
const kUnits: Readonly<Record<string, number>> = { '': 1, kb: 1e3, mb: 1e6, gb: 1e9 };
const kVouched: Readonly<Record<string, string>> = { run: ', measured with wattn', card: ', from its model card' };

/** 50000000 or 50MB. */
function bytesOf(values: Values): number {
  const asked = text(values, 'max-bytes');
  if (asked === undefined) return Infinity;
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?) ?([kmg]b)?$/i.exec(asked) ?? [];
  if (number === undefined)
    throw new InputError(`--max-bytes: expected a number of bytes, such as 50000000 or 50MB, found '${asked}'`);
  return Number(number) * (kUnits[unit.toLowerCase()] as number);
}

/** The task that was asked for, by its own name. */
function taskOf(values: Values): string | undefined {
  const asked = text(values, 'task');
  const task = asked === undefined ? undefined : taskNamed(asked);
  const known = [...new Set(kModels.flatMap(({ tasks }) => tasks))];
  if (task === undefined || known.includes(task)) return task;
  throw new InputError(`--task: expected one of ${known.join(', ')}, found '${asked}'`);
}

function languageOf(values: Values): string | undefined {
  const language = text(values, 'language')?.toLowerCase();
  if (language === undefined || /^[a-z]{2,3}$/.test(language)) return language;
  throw new InputError(`--language: expected a code such as en or de, found '${text(values, 'language')}'`);
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0)} MB`;

function languagesOf({ languages }: Listed): string {
  const codes = languages.split(' ');
  const names = new Intl.DisplayNames(['en'], { type: 'language' });
  return codes.length > kMostNamed ? `${codes.length} languages` : codes.map((code) => names.of(code)).join(', ');
}

/** A model in three lines: what it is for, what it costs, and what it is worth. */
function described(model: Listed): string {
  const { id, from, tasks, bytes, memory, ms, ms_of, licence, good, quality = [] } = model;
  const costs = [
    tasks.join(', '),
    languagesOf(model),
    `${megabytes(bytes)} to download`,
    ...(memory === undefined ? [] : [`${megabytes(memory)} of memory`]),
    ...(ms === undefined ? [] : [`${ms} ms per ${ms_of === 'a token' ? 'token' : 'text'}`]),
    licence,
  ];
  const worth = quality.map(({ measure, value }) => `${measure} ${value.toFixed(3)}`).join('; ');
  return `${id}\n  ${good}\n  ${costs.join(' · ')}\n${worth === '' ? '' : `  ${worth}${kVouched[from] ?? ''}\n`}`;
}

export async function models(values: Values, positionals: string[]): Promise<void> {
  noTexts(positionals);
  const [task, language, most] = [taskOf(values), languageOf(values), bytesOf(values)];
  const found = kModels.filter(
    ({ tasks, languages, bytes }) =>
      (task === undefined || tasks.includes(task)) &&
      (language === undefined || languages.split(' ').includes(language)) &&
      bytes <= most,
  );
  if (flag(values, 'json')) return write(found.map((model) => `${JSON.stringify(model)}\n`).join(''));
  const { on, date } = catalog.measured;
  const end =
    found.length === 0
      ? 'No model in the list matches. docs/models.md lists all tested repositories.\n'
      : `\nMemory and time: ${on}, ${date}. Missing values were not measured. To choose a model: docs/choose.md.\n`;
  await write(`${found.map(described).join('\n')}${end}`);
}
