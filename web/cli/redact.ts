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
  if (model === undefined && !names) throw new InputError('--model: expected a model, or --patterns without one, found neither');
  const ner = model === undefined ? null : await pipeline(task, model, computeOptions(values));
  const options = given({
    labels: list(values, 'labels'),
    threshold: number(values, 'threshold'),
    patterns: names && Object.fromEntries(names.map((name) => [name, true])),
  }) as RedactOptions;
  let map = file === undefined ? {} : await readMap(file, false);
  await answerAll(values, positionals, async (portion) => {
    const texts = portion.map((item) => item.text);
    const out = await redactTexts(ner, texts, { ...options, map });
    map = out[0]?.map ?? map;
    return out.map(({ text, entities }) => {
      const found = entities.map(({ label, placeholder, score }) => given({ label, placeholder, score }));
      return `${JSON.stringify({ text, entities: found })}\n`;
    });
  });
  if (file !== undefined) await writeOut('map', file, `${JSON.stringify(map, null, 1)}\n`);
}
