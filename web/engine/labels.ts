// Labels in config.json, and the caller's own.
import { describe, InputError, ModelFormatError } from '../core/errors.js';
import { readTexts } from '../core/texts.js';
import { readFields } from '../source/model_files.js';
import type { TaskEngine } from './task.js';

export interface Config {
  id2label?: Record<string, string> | null;
  label2id?: Record<string, number> | null;
  problem_type?: string | null;
  model_type?: string | null;
  [key: string]: unknown;
}

export const readConfig = (engine: Pick<TaskEngine, 'files'>): Config => readFields(engine.files, 'config.json');

/** Whether a model scores labels that a call names, beside the text (GLiClass). */
export const namesLabels = ({ model_type }: Config): boolean => model_type === 'GLiClass';

/** The names of labels 0 .. count - 1. */
export function readLabels({ id2label }: Config, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    if (!id2label) return `LABEL_${i}`;
    const label: unknown = id2label[i];
    if (typeof label === 'string') return label;
    throw new ModelFormatError(`config.json: id2label: expected a name for label ${i} of ${count}, found ${JSON.stringify(label)}`);
  });
}

/** The caller's labels: an array, or one string separated by commas. what: the argument's name. */
export function takeLabels(where: string, what: string, labels: unknown): string[] {
  const own = readTexts(`${where}: ${what}`, labels);
  const list =
    typeof labels === 'string'
      ? labels
          .split(',')
          .map((label) => label.trim())
          .filter((label) => label !== '')
      : own;
  if (list.length === 0) throw new InputError(`${where}: ${what}: expected at least one label, found ${describe(labels)}`);
  return list;
}
