// Trainer: fine-tunes a loaded model, in this thread or in a worker.
import { InputError, ModelFormatError, StateError } from '../core/errors.js';
import { checkOptions, type Rules } from '../core/options.js';
import { Breather } from '../core/signal.js';
import { Tensor } from '../core/tensor.js';
import { Engine, kLoadRules } from '../engine/engine.js';
import { RemoteEngine } from '../engine/remote_engine.js';
import type { EmbedOptions, LoadOptions, ModelInfo } from '../engine/types.js';
import { loadTensors, save_safetensors } from '../source/safetensors.js';
import type { ModelSpecifier } from '../source/types.js';
import { embed } from '../tasks/pipeline.js';
import { Classifier } from '../vectors/classifier.js';
import type { TextClassifier } from '../vectors/classifier_types.js';
import type { Embeddings } from '../vectors/types.js';
import { evaluate } from './evaluate.js';
import { batches, labelIdsOf, lossOf, take, toExamples, type Examples } from './rows.js';
import { trainFiles, type SeamNamedTensor, type SeamTrainOptions } from './train_files.js';
import { trainTask, type Request, type Requests } from './train_task.js';
import type { FitOptions, TrainedFiles, TrainerOptions, TrainingPlan, TrainingReport, TrainingRow } from './types.js';

const where = 'Trainer';
const kLosses = [
  'MultipleNegativesRankingLoss',
  'CoSENTLoss',
  'CosineSimilarityLoss',
  'ContrastiveLoss',
  'TripletLoss',
  'BatchAllTripletLoss',
  'SupConLoss',
] as const;

const { dtype: _dtype, context_length: _context, ...kOwnLoadRules } = kLoadRules;
const kTrainRules: Rules = {
  task: ['text-classification', 'feature-extraction'],
  method: ['lora', 'full', 'last_layers'],
  r: 'count',
  lora_alpha: 'number',
  use_rslora: 'boolean',
  target_modules: 'any',
  last_layers: 'count',
  loss: kLosses,
  scale: 'number',
  margin: 'number',
  temperature: 'number',
  epochs: 'number',
  max_steps: 'count',
  batch_size: 'count',
  gradient_accumulation_steps: 'count',
  learning_rate: 'number',
  lr_scheduler_type: ['linear', 'cosine', 'constant', 'constant_with_warmup'],
  warmup_steps: 'index',
  weight_decay: 'number',
  adam_beta1: 'number',
  adam_beta2: 'number',
  adam_epsilon: 'number',
  max_grad_norm: 'number',
  max_length: 'count',
  checkpointing: 'boolean',
  seed: 'index',
};
const kRules: Rules = { ...kOwnLoadRules, worker: 'boolean', ...kTrainRules };
const kFitRules: Rules = {
  validation: 'any',
  resume_from_checkpoint: 'any',
  eval_steps: 'count',
  early_stopping_patience: 'count',
  signal: 'signal',
};

type Settings = Omit<TrainerOptions, keyof LoadOptions>;

function toTargets(given: unknown): string[] | undefined {
  if (given === undefined || given === null) return undefined;
  if (given === 'all-linear') return ['all-linear'];
  if (Array.isArray(given) && given.length > 0 && given.every((name) => typeof name === 'string')) return given;
  throw new InputError(`${where}: option 'target_modules': expected 'all-linear' or an array of names`);
}

/** The defaults that depend on the rows. */
function planSteps(settings: Settings, examples: Examples): { batch: number; steps: number } {
  const labels = new Set(examples.labels).size;
  const batch = Math.min(settings.batch_size ?? (labels > 24 ? 64 : 24), Math.max(examples.size, 2));
  const perEpoch = Math.max(1, Math.ceil(examples.size / batch));
  const few = examples.kind === 'labelled' && settings.epochs === undefined;
  const usual = few ? Math.max(40, Math.min(2 * perEpoch, 400)) : Math.ceil((settings.epochs ?? 1) * perEpoch);
  return { batch, steps: settings.max_steps ?? usual };
}

/** The state of a run, to go on from. */
interface Run {
  examples: Examples;
  labelIds: number[];
  names: string[];
  batch: number;
  steps: number;
  loss: string;
}

export class Trainer {
  private run: Run | undefined;
  private step = 0;
  private targets: string[] = [];
  private fitted: TextClassifier | undefined;
  private busy = false;

  private constructor(
    private readonly engine: Engine | RemoteEngine,
    private readonly settings: Settings,
  ) {}

  /**
   * Loads a model to be fine-tuned. It needs `wattn-train.wasm`, which only this loads. Weights are trained in float32, whatever the file has.
   *
   * InputError: an option is unknown or wrong. UnsupportedError: the model has no backward pass (encoder-decoders).
   *
   *     const trainer = await Trainer.from_pretrained('sentence-transformers/all-MiniLM-L6-v2', { task: 'text-classification', worker: true });
   *     for await (const { step, max_steps, loss } of trainer.fit(rows)) console.log(step, max_steps, loss);
   *     await trainer.classifier('It has not arrived'); // [{ label: 'delivery', score: 0.93 }]
   *     const files = await trainer.save();
   */
  static async from_pretrained(model: ModelSpecifier, options: TrainerOptions): Promise<Trainer> {
    checkOptions(where, options, kRules);
    if (!options?.task) throw new InputError(`${where}: option 'task': expected 'text-classification' or 'feature-extraction'`);
    const load: Record<string, unknown> = { dtype: 'f32' };
    const settings: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(options)) {
      if (value === undefined || value === null || key === 'worker') continue;
      (key in kTrainRules ? settings : load)[key] = value;
    }
    toTargets(settings['target_modules']);
    const engine = options.worker
      ? await RemoteEngine.load(where, model, 1, load as LoadOptions, 'none', 'trainer')
      : await Engine.load(where, model, load as LoadOptions, 'none', undefined, trainFiles);
    return new Trainer(engine, settings as unknown as Settings);
  }

  /** The classifier that `fit` made, with `task: 'text-classification'`. It uses this Trainer's model. */
  get classifier(): TextClassifier {
    if (this.fitted) return this.fitted;
    throw new StateError(`${where}: expected fit() to have ended, with task 'text-classification'`);
  }

  info(): ModelInfo {
    return this.engine.info;
  }

  /** Sentence vectors of the model as it is now; see `pipeline('feature-extraction')`. */
  async embed(texts: string | readonly string[], options: EmbedOptions = {}): Promise<Embeddings> {
    const { pooled } = this.engine.info;
    return (await embed(this.engine, texts, pooled ? options : { pooling: 'mean', ...options })) as Embeddings;
  }

  /**
   * The memory that training takes, before it begins. batch: texts of an update that run at once. tokens: of the longest of them; default: the
   * model's limit.
   */
  async plan({ batch = this.settings.batch_size ?? 24, tokens }: { batch?: number; tokens?: number } = {}): Promise<TrainingPlan> {
    checkOptions('trainer.plan', { batch, tokens }, { batch: 'count', tokens: 'count' });
    if (!this.run) await this.begin('SupConLoss', 1);
    const longest = tokens ?? this.settings.max_length ?? this.engine.info.max_length;
    const plan = await this.ask('plan', { tokens: batch * longest, max_seq: longest });
    const { trainable, all, weights, gradients, optimizer, activations } = plan;
    const total = weights + gradients + optimizer + activations;
    return { trainable, all, weights, gradients, optimizer, activations, total };
  }

  /**
   * Trains on rows, with a report of each update. Leaving the loop, or `signal`, ends the training after the current update, and what was
   * learned is kept. A second call goes on where the last one ended, if it has the same rows, with more `max_steps`.
   *
   * InputError: rows are not all of one kind; one label only; the loss does not fit the rows; the loss or the gradient is NaN or infinite (the
   * weights are then as before the update).
   */
  async *fit(rows: readonly TrainingRow[], options: FitOptions = {}): AsyncGenerator<TrainingReport, void> {
    checkOptions('trainer.fit', options, kFitRules);
    if (this.busy) throw new StateError('trainer.fit: another fit of this Trainer has not ended');
    const examples = toExamples('trainer.fit', rows);
    if (this.settings.task === 'text-classification' && examples.kind !== 'labelled') {
      throw new InputError(`trainer.fit: expected rows { text, label } with task 'text-classification'`);
    }
    const held = options.validation && toExamples('trainer.fit: validation', options.validation, examples);
    this.busy = true;
    try {
      yield* this.train(examples, held, options);
      if (this.settings.task !== 'text-classification') return;
      const [texts] = examples.columns as [string[]];
      this.fitted = await Classifier.fit((list, how) => this.embed(list, how), texts, examples.labels, {
        seed: this.settings.seed ?? 0,
      });
    } finally {
      this.busy = false;
    }
  }

  private async *train(
    examples: Examples,
    held: Examples | undefined,
    { eval_steps, early_stopping_patience = Infinity, resume_from_checkpoint, signal }: FitOptions,
  ): AsyncGenerator<TrainingReport, void> {
    const { settings } = this;
    const { batch, steps } = planSteps(settings, examples);
    const loss = lossOf('trainer.fit', examples, settings.loss);
    const names = [...new Set(examples.labels)].sort();
    await this.begin(loss, steps);
    if (resume_from_checkpoint) await this.resume(resume_from_checkpoint, steps);
    const run: Run = { examples, labelIds: labelIdsOf(examples, names), names, batch, steps, loss };
    this.run = run;
    const source = batches(examples, batch, settings.seed ?? 0);
    for (let i = 0; i < this.step; ++i) source.next();
    const parts = settings.gradient_accumulation_steps ?? 1;
    const every = eval_steps ?? Math.max(1, Math.min(Math.ceil(examples.size / batch), Math.floor(steps / 5)));
    const breather = new Breather();
    const begin = performance.now();
    const first = this.step;
    let best: { score: number; state: Float32Array; step: number } | undefined;
    let stale = 0;
    while (this.step < steps && !signal?.aborted && stale < early_stopping_patience) {
      const indices = source.next().value as number[];
      const size = Math.ceil(indices.length / parts);
      const pieces = Array.from({ length: Math.ceil(indices.length / size) }, (_, i) => indices.slice(i * size, (i + 1) * size));
      const done = await this.ask(
        'step',
        pieces.map((piece) => take(examples, piece, run.labelIds)),
      );
      this.step = done.step;
      let evaluation: TrainingReport['evaluation'];
      if (held && (this.step % every === 0 || this.step === steps)) {
        const judged = await evaluate((texts) => this.embed(texts), examples, held);
        const isBest = best === undefined || judged.score > best.score;
        if (isBest) best = { score: judged.score, step: this.step, ...(await this.ask('state', undefined)) };
        stale = isBest ? 0 : stale + 1;
        evaluation = { ...judged.measures, best: isBest };
      }
      const each = (performance.now() - begin) / (this.step - first);
      yield {
        step: this.step,
        max_steps: steps,
        epoch: (this.step * batch) / examples.size,
        loss: done.loss,
        grad_norm: done.grad_norm,
        learning_rate: done.learning_rate,
        tokens: done.tokens,
        seconds_left: (each * (steps - this.step)) / 1000,
        ...(evaluation && { evaluation }),
      };
      await breather.breathe(undefined);
    }
    if (best && best.step < this.step) await this.ask('set_state', { state: best.state, step: best.step });
  }

  /** Begins training with these settings, unless it has begun with them. */
  private async begin(loss: string, steps: number): Promise<void> {
    if (this.run && this.step > 0) return;
    const { settings } = this;
    const { method = 'lora', r = 8, learning_rate, warmup_steps, margin } = settings;
    const target_modules = toTargets(settings.target_modules);
    const request: SeamTrainOptions = {
      ...pick(settings, ['use_rslora', 'last_layers', 'scale', 'temperature', 'adam_beta1', 'adam_beta2', 'adam_epsilon']),
      ...pick(settings, ['max_grad_norm', 'max_length', 'checkpointing', 'seed']),
      method,
      loss,
      r,
      lora_alpha: settings.lora_alpha ?? 2 * r,
      ...(target_modules && { target_modules }),
      margin: margin ?? (loss === 'ContrastiveLoss' ? 0.5 : 5),
      learning_rate: learning_rate ?? (method === 'lora' ? 2e-3 : 1e-4),
      lr_scheduler_type: settings.lr_scheduler_type ?? 'linear',
      weight_decay: settings.weight_decay ?? 0.01,
      warmup_steps: warmup_steps ?? Math.floor(steps / 10),
      max_steps: steps,
    };
    this.targets = (await this.ask('begin', request)).target_modules;
  }

  /**
   * The files of what was learned. LoRA: PEFT's `adapter_config.json` and `adapter_model.safetensors`. Other methods: the whole model, as
   * sentence-transformers and transformers read it. With `task: 'text-classification'` also `classifier.json` and `classifier.safetensors`
   * (see `Classifier.load`).
   */
  async save(): Promise<TrainedFiles> {
    if (!this.run) throw new StateError('trainer.save: expected fit() before');
    const files: TrainedFiles = { ...this.fitted?.save() };
    if ((this.settings.method ?? 'lora') === 'lora') {
      const { tensors } = await this.ask('adapter', undefined);
      files['adapter_config.json'] = this.adapterConfig();
      files['adapter_model.safetensors'] = toSafetensors(tensors);
      return files;
    }
    for (const [name, bytes] of this.engine.files) files[name] = bytes;
    files['model.safetensors'] = toSafetensors((await this.ask('checkpoint', undefined)).tensors);
    return files;
  }

  private adapterConfig(): Uint8Array {
    const { r = 8, use_rslora = false } = this.settings;
    const config = {
      base_model_name_or_path: null,
      bias: 'none',
      fan_in_fan_out: false,
      inference_mode: true,
      init_lora_weights: true,
      lora_alpha: this.settings.lora_alpha ?? 2 * r,
      lora_dropout: 0,
      modules_to_save: null,
      peft_type: 'LORA',
      r,
      target_modules: this.targets.length === 1 && this.targets[0] === 'all-linear' ? 'all-linear' : this.targets,
      task_type: 'FEATURE_EXTRACTION',
      use_rslora,
    };
    return new TextEncoder().encode(JSON.stringify(config, undefined, 2));
  }

  /** The state of the run: what was learned and the optimizer's moments. A run that goes on from it ends with the same bits. */
  async state(): Promise<Uint8Array> {
    if (!this.run) throw new StateError('trainer.state: expected fit() before');
    const { state } = await this.ask('state', undefined);
    return save_safetensors({
      state: new Tensor('float32', state, [state.length]),
      steps: new Tensor('int32', Int32Array.of(this.step, this.run.steps), [2]),
    });
  }

  private async resume(bytes: Uint8Array, steps: number): Promise<void> {
    const what = 'trainer.fit: resume_from_checkpoint';
    const { state, steps: counts } = loadTensors(bytes, what);
    if (state?.type !== 'float32' || counts?.type !== 'int32' || counts.data.length !== 2) {
      throw new ModelFormatError(`${what}: expected what trainer.state() gave, found other tensors`);
    }
    const [step, of] = counts.data as Int32Array;
    if (of !== steps) {
      throw new InputError(`${what}: expected the rows and options of that run (${of} updates), found others (${steps} updates)`);
    }
    this.step = step as number;
    await this.ask('set_state', { state: state.data as Float32Array, step: this.step });
  }

  /** Releases the model with all its memory, and ends the worker. */
  async dispose(): Promise<void> {
    this.engine.dispose();
  }

  private async ask<Kind extends keyof Requests>(kind: Kind, value: Requests[Kind][0]): Promise<Requests[Kind][1]> {
    const request = { kind, value } as Request;
    const { engine } = this;
    const [answer] =
      engine instanceof Engine
        ? await trainTask.run(engine, [request], {}, { first: 0, signal: undefined })
        : await engine.run('train', [request], {}, undefined);
    return answer as Requests[Kind][1];
  }
}

const pick = <T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> =>
  Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]]))) as Pick<T, K>;

const toSafetensors = (tensors: readonly SeamNamedTensor[]): Uint8Array =>
  save_safetensors(Object.fromEntries(tensors.map(({ name, dims, data }) => [name, new Tensor('float32', data, dims)])), {
    metadata: { format: 'pt' },
  });
