// What Trainer is told: its options, their checks, and the defaults that depend on the rows.
import { describe, InputError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import { kLoadRules } from '../engine/engine.js';
import type { LoadOptions } from '../engine/types.js';
import type { HeadKind } from '../host/seam.js';
import { kLoraBiasWords, kScheduleWords, kTrainLossWords, kTrainMethodWords } from '../host/wire.js';
import type { Examples } from './rows.js';
import type { HeadLoss, TrainerOptions } from './types.js';

export const where = 'Trainer';
const kLosses = kTrainLossWords.filter((name) => !name.startsWith('own_'));

export const kHeadLosses: ReadonlySet<string> = new Set<HeadLoss>(['CrossEntropyLoss', 'BCEWithLogitsLoss', 'MSELoss']);

const { dtype: _dtype, context_length: _context, ...kOwnLoadRules } = kLoadRules;
export const kTasks = [
  'text-classification',
  'token-classification',
  'text-generation',
  'text2text-generation',
  'feature-extraction',
] as const;
export const kTrainRules: Rules = {
  task: kTasks,
  method: kTrainMethodWords,
  r: 'count',
  lora_alpha: '(0,Infinity)',
  use_rslora: 'boolean',
  use_dora: 'boolean',
  lora_dropout: '[0,1)',
  bias: kLoraBiasWords,
  target_modules: 'any',
  modules_to_save: 'any',
  last_layers: 'count',
  loss: 'any',
  scale: '(0,Infinity)',
  margin: '(-Infinity,Infinity)',
  temperature: '(0,Infinity)',
  label_smoothing_factor: '[0,1]',
  epochs: '(0,Infinity)',
  max_steps: 'count',
  batch_size: 'count',
  gradient_accumulation_steps: 'count',
  learning_rate: '[0,Infinity)',
  lr_scheduler_type: kScheduleWords,
  warmup_steps: 'index',
  weight_decay: '[0,Infinity)',
  adam_beta1: '[0,1)',
  adam_beta2: '[0,1)',
  adam_epsilon: '[0,Infinity)',
  max_grad_norm: '[0,Infinity]',
  max_length: 'count',
  checkpointing: 'boolean',
  freeze_embeddings: 'boolean',
  dropout: 'boolean',
  seed: 'index',
};
export const kRules: Rules = { ...kOwnLoadRules, worker: 'boolean', ...kTrainRules };
export const kFitRules: Rules = {
  validation: 'any',
  resume_from_checkpoint: 'any',
  eval_steps: 'count',
  early_stopping_patience: 'count',
  signal: 'signal',
};

export type Settings = Omit<TrainerOptions, keyof LoadOptions>;

export function checkLoss(given: unknown): void {
  if (given === undefined || given === null || typeof given === 'function' || (kLosses as readonly unknown[]).includes(given))
    return;
  const names = kLosses.map((name) => `'${name}'`).join(', ');
  throw new InputError(`${where}: option 'loss': expected one of ${names} or a function, found ${describe(given)}`);
}

export function toTargets(given: unknown): string[] | undefined {
  if (given === undefined || given === null) return undefined;
  if (given === 'all-linear') return ['all-linear'];
  if (Array.isArray(given) && given.length > 0 && given.every((name) => typeof name === 'string')) return given;
  throw new InputError(`${where}: option 'target_modules': expected 'all-linear' or an array of names`);
}

export function toSaved(given: unknown): string[] | undefined {
  if (given === undefined || given === null) return undefined;
  if (Array.isArray(given) && given.length > 0 && given.every((name) => typeof name === 'string' && name)) return given;
  throw new InputError(`${where}: option 'modules_to_save': expected an array of names, found ${describe(given)}`);
}

/** The heads of each task, and how transformers names their classes. */
export const kHeads = {
  'text-classification': { head: 'sequence', suffix: 'ForSequenceClassification' },
  'token-classification': { head: 'token', suffix: 'ForTokenClassification' },
} as const;

/** Language models, and how an Engine calls their head. */
export const kLanguageHeads: Partial<Record<string, HeadKind>> = {
  'text-generation': 'causal_lm',
  'text2text-generation': 'seq2seq_lm',
};

/** Their default of max_length: a model's own limit may be 100,000 tokens. */
export const kMostLanguageTokens = 1024;

export const kRates = {
  sentences: { lora: 2e-3, full: 1e-4, last_layers: 1e-4, head: 1e-2 },
  head: { lora: 1e-3, full: 5e-5, last_layers: 5e-5, head: 1e-2 },
};

export const isLanguage = ({ kind }: Examples) => kind === 'language' || kind === 'transformed';

/** The defaults that depend on the rows. */
export function planSteps(settings: Settings, examples: Examples, isHead: boolean): { batch: number; steps: number } {
  const labels = new Set(examples.labels.flat()).size;
  const usual = isLanguage(examples) ? 8 : isHead ? 16 : examples.kind === 'labelled' && labels > 24 ? 64 : 24;
  const batch = Math.min(settings.batch_size ?? usual, Math.max(examples.size, 2));
  const perEpoch = Math.max(1, Math.ceil(examples.size / batch));
  const few = examples.kind === 'labelled' && !isHead && settings.epochs === undefined;
  const epochs = settings.epochs ?? (isHead ? 3 : 1);
  const steps = settings.max_steps ?? (few ? Math.max(40, Math.min(2 * perEpoch, 400)) : Math.ceil(epochs * perEpoch));
  if (steps < 2 ** 31) return { batch, steps };
  throw new InputError(`${where}: option 'epochs': expected fewer than 2^31 updates, found ${epochs} x ${perEpoch}`);
}
