// The command redact.
import { readFile } from 'node:fs/promises';
import { choice, computeOptions, flag, given, list, modelOf, number, text, type Values } from './args.js';
import { answerAll, items, write } from './lines.js';
import { writeOut } from './output.js';
import { parseJson } from '../core/json.js';
import { InputError, pipeline, redact as redactTexts, restore, type RedactOptions } from '../entries/index.js';

async function readMap(file: string, needed: boolean): Promise<Record<string, string>> {
  const bytes = await readFile(file).catch((error: { code?: string }) => {
    if (!needed && error.code === 'ENOENT') return undefined;
    throw new InputError(`--map: cannot read ${file}: ${error.code}`);
  });
  if (!bytes) return {};
  try {
    const map: unknown = parseJson(bytes.toString());
    if (typeof map === 'object' && map !== null && !Array.isArray(map)) return map as Record<string, string>;
  } catch {
    // reported below
  }
  throw new InputError(`--map: ${file}: expected a JSON object of texts by placeholders`);
}

function rulesOf(names: string[] | undefined, none: boolean): RedactOptions['rules'] {
  if (!names) return !none;
  if (names.length === 1 && (names[0] === 'all' || names[0] === 'none')) return names[0] === 'all';
  return names as RedactOptions['rules'];
}

/** The texts that are redacted as a whole, with their names: arguments, files, or standard input. */
async function* wholes(values: Values, positionals: readonly string[]): AsyncGenerator<[name: string, text: string]> {
  for (const one of positionals) yield ['argument', one];
  const files = (values.file ?? []) as string[];
  for (const file of files) {
    const bytes = await readFile(file).catch((error: { code?: string }) => {
      throw new InputError(`--file: cannot read ${file}: ${error.code}`);
    });
    yield [file, bytes.toString()];
  }
  if (positionals.length > 0 || files.length > 0) return;
  const parts: Uint8Array[] = [];
  for await (const part of process.stdin) parts.push(part as Uint8Array);
  yield ['standard input', Buffer.concat(parts).toString()];
}

export async function redact(values: Values, positionals: string[]): Promise<void> {
  const file = text(values, 'map');
  if (flag(values, 'restore')) {
    if (file === undefined) throw new InputError('--restore: expected --map FILE with it, found none');
    const map = await readMap(file, true);
    for await (const portion of items(values, positionals)) {
      await write(portion.map((item) => `${JSON.stringify({ text: restore(item.text, map) })}\n`).join(''));
    }
    return;
  }
  const task = choice(values, 'task', ['zero-shot-ner', 'token-classification']) ?? 'zero-shot-ner';
  const model = modelOf(values);
  const names = list(values, 'patterns');
  const format = choice(values, 'format', ['text', 'html', 'json', 'csv']);
  const ner = model === undefined ? undefined : await pipeline(task, model, computeOptions(values));
  const options = given({
    labels: list(values, 'labels'),
    threshold: number(values, 'threshold'),
    rules: rulesOf(list(values, 'rules'), model === undefined && names !== undefined),
    countries: list(values, 'countries'),
    allow: list(values, 'allow'),
    format,
    patterns: names && Object.fromEntries(names.map((name) => [name, true])),
  }) as RedactOptions;
  const audit = text(values, 'audit');
  if (audit !== undefined && format === undefined) throw new InputError('--audit: expected --format with it, found none');
  let map = file === undefined ? {} : await readMap(file, false);
  const call = (texts: string[]) => (ner ? redactTexts(ner, texts, { ...options, map }) : redactTexts(texts, { ...options, map }));
  if (format !== undefined) {
    const records: string[] = [];
    for await (const [name, whole] of wholes(values, positionals)) {
      const [out] = await (ner ? redactTexts(ner, [whole], { ...options, map, audit: true }) : redactTexts([whole], { ...options, map, audit: true })); // prettier-ignore
      map = out?.map ?? map;
      records.push(...(out?.audit ?? []).map((entry) => `${JSON.stringify({ file: name, ...entry })}\n`));
      await write(out?.text ?? '');
    }
    if (audit !== undefined) await writeOut('audit', audit, records.join(''));
    if (file !== undefined) await writeOut('map', file, `${JSON.stringify(map, null, 1)}\n`);
    return;
  }
  await answerAll(values, positionals, async (portion) => {
    const texts = portion.map((item) => item.text);
    const out = await call(texts);
    map = out[0]?.map ?? map;
    return out.map(({ text, entities }) => {
      const found = entities.map(({ label, placeholder, score }) => given({ label, placeholder, score }));
      return `${JSON.stringify({ text, entities: found })}\n`;
    });
  });
  if (file !== undefined) await writeOut('map', file, `${JSON.stringify(map, null, 1)}\n`);
}
