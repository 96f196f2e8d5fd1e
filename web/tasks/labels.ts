// What config.json says of labels.
import { ModelFormatError } from '../core/errors.js';
import type { TaskEngine } from '../engine/task.js';

export interface Config {
  id2label?: Record<string, string> | null;
  label2id?: Record<string, number> | null;
  problem_type?: string | null;
  [key: string]: unknown;
}

/** One of the model's JSON files; undefined when it is not there. The engine has read config.json before and found it sound. */
export function readJson(engine: TaskEngine, file: string): Record<string, unknown> | undefined {
  const bytes = engine.files.find(([name]) => name === file)?.[1];
  if (!bytes) return undefined;
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : undefined;
}

export const readConfig = (engine: TaskEngine): Config => (readJson(engine, 'config.json') ?? {}) as Config;

/** The names of labels 0 .. count - 1. */
export function readLabels({ id2label }: Config, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    if (!id2label) return `LABEL_${i}`;
    const label: unknown = id2label[i];
    if (typeof label === 'string') return label;
    throw new ModelFormatError(`config.json: id2label: expected a name for label ${i} of ${count}, found ${JSON.stringify(label)}`);
  });
}
