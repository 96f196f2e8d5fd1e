// What begins training, from a Trainer's settings.
import { InputError } from '../core/errors.js';
import { readConfig } from '../engine/labels.js';
import type { SeamTrainOptions } from '../host/seam.js';
import type { NamedBytes } from '../source/model_files.js';
import { withMembers } from './config_text.js';
import type { TrainedLoss } from './rows.js';
import {
  kHeads,
  kLanguageHeads,
  kMostLanguageTokens,
  kRates,
  toSaved,
  toTargets,
  where,
  type Settings,
} from './trainer_options.js';
import type { HeadLoss } from './types.js';

/** config.json of the model with a new head. names: of labels. */
export function configWithHead(
  engine: Parameters<typeof readConfig>[0],
  task: Settings['task'],
  names: readonly string[],
  loss: HeadLoss | undefined,
): string {
  const { suffix } = kHeads[task as keyof typeof kHeads];
  const { architectures } = readConfig(engine) as Record<string, unknown>;
  const [base] = Array.isArray(architectures) ? architectures : [];
  const problem = {
    CrossEntropyLoss: 'single_label_classification',
    BCEWithLogitsLoss: 'multi_label_classification',
    MSELoss: 'regression',
  };
  const hasProblem = loss && suffix === kHeads['text-classification'].suffix;
  const [, bytes] = engine.files.find(([name]) => name === 'config.json') as NamedBytes;
  return withMembers(new TextDecoder().decode(bytes), {
    architectures: typeof base === 'string' ? [base.replace(/(Model|For\w+|LMHeadModel)$/, suffix)] : undefined,
    ...(hasProblem && { problem_type: problem[loss] }),
    id2label: Object.fromEntries(names.map((name, i) => [i, name])),
    label2id: Object.fromEntries(names.map((name, i) => [name, i])),
  });
}

const pick = <T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> =>
  Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]]))) as Pick<T, K>;

/** config: config.json as it will be. makesHead: the model gets a head. */
interface Begun {
  loss: TrainedLoss;
  steps: number;
  isHead: boolean;
  makesHead: boolean;
  config: string;
}

/** InputError: two settings do not fit each other. */
export function beginRequest(settings: Settings, { loss, steps, isHead, makesHead, config }: Begun): SeamTrainOptions {
  const { method = 'lora', r = 8, learning_rate, warmup_steps, margin } = settings;
  const target_modules = toTargets(settings.target_modules);
  const modules_to_save = toSaved(settings.modules_to_save);
  if (settings.label_smoothing_factor && loss !== 'CrossEntropyLoss') {
    throw new InputError(`${where}: option 'label_smoothing_factor': expected CrossEntropyLoss with it, found ${loss}`);
  }
  if (settings.use_dora && settings.lora_dropout) {
    throw new InputError(`${where}: option 'lora_dropout': expected 0 with use_dora, found ${settings.lora_dropout}`);
  }
  return {
    ...pick(settings, [
      'use_rslora',
      'use_dora',
      'lora_dropout',
      'bias',
      'last_layers',
      'scale',
      'temperature',
      'label_smoothing_factor',
      'adam_beta1',
      'adam_beta2',
      'adam_epsilon',
    ]),
    ...pick(settings, ['max_length', 'checkpointing', 'dropout', 'freeze_embeddings', 'seed']),
    ...(settings.max_grad_norm !== undefined && { max_grad_norm: Math.min(settings.max_grad_norm, Number.MAX_VALUE) }), // JSON has no infinity
    config,
    ...(makesHead && { head: kHeads[settings.task as keyof typeof kHeads].head }),
    method,
    loss,
    r,
    lora_alpha: settings.lora_alpha ?? 2 * r,
    ...(target_modules && { target_modules }),
    ...(modules_to_save && { modules_to_save }),
    margin: margin ?? (loss === 'ContrastiveLoss' ? 0.5 : 5),
    learning_rate: learning_rate ?? kRates[isHead ? 'head' : 'sentences'][method],
    lr_scheduler_type: settings.lr_scheduler_type ?? 'linear',
    weight_decay: settings.weight_decay ?? 0.01,
    warmup_steps: warmup_steps ?? Math.floor(steps / 10),
    max_steps: steps,
    ...(settings.task in kLanguageHeads && !settings.max_length && { max_length: kMostLanguageTokens }),
  };
}
