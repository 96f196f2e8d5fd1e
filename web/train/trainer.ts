// Trainer: fine-tunes a loaded model, in this thread or in a worker.
import { InputError, StateError } from '../core/errors.js';
import { ownCopy, readOptions } from '../core/options.js';
import { Progress, type ReportTo } from '../core/progress.js';
import { Breather, throwIfAborted } from '../core/signal.js';
import { warnOnce } from '../core/warn.js';
import { Engine } from '../engine/engine.js';
import { RemoteEngine } from '../engine/remote_engine.js';
import type { EmbedOptions, LoadOptions, ModelInfo } from '../engine/types.js';
import type { NamedBytes } from '../source/model_files.js';
import type { ModelSpecifier } from '../source/types.js';
import type { LoadedHead } from '../host/seam.js';
import { fullFiles } from '../host/wasm_files.js';
import { readConfig, readLabels } from '../engine/labels.js';
import { embed } from '../tasks/pipeline.js';
import { loadTask } from '../tasks/tasks.js';
import { Classifier } from '../vectors/classifier.js';
import type { TextClassifier } from '../vectors/classifier_types.js';
import type { Embeddings } from '../vectors/types.js';
import { evaluateHead, evaluateLanguage, evaluateVectors } from './evaluate.js';
import { renderExamples } from './language.js';
import {
  batches,
  labelIdsOf,
  labelNames,
  lossOf,
  takeForHead,
  takeSentences,
  toExamples,
  type Examples,
  type TrainedLoss,
} from './rows.js';
import { evaluateOwn, ownParts, ownStep } from './own_loss.js';
import { adapterFiles, originOf, toSafetensors, type Origin } from './adapter_files.js';
import type { SeamBegun } from './train_files.js';
import { beginRequest, configWithHead } from './request.js';
import { difference, hashOf, readState, writeState, type Best, type MadeOf } from './state.js';
import { startTrainer } from './workers.js';
import {
  checkLoss,
  isLanguage,
  kFitRules,
  kHeadLosses,
  kHeads,
  kLanguageHeads,
  kMostLanguageTokens,
  kRules,
  kTasks,
  kTrainRules,
  planSteps,
  toSaved,
  toTargets,
  where,
  type Settings,
} from './trainer_options.js';
import { trainTask, useConfig, type Ask, type Request, type Requests, type Rows } from './train_task.js';
import type {
  FitOptions,
  HeadLoss,
  OwnLoss,
  TrainedFiles,
  TrainerOptions,
  TrainingPlan,
  TrainingReport,
  TrainingRow,
} from './types.js';

/** All rows, with labels of any kind. */
function textsOf(examples: Examples, { isHead, names }: Pick<Run, 'isHead' | 'names'>): Rows {
  const all = Array.from({ length: examples.size }, (_, i) => i);
  const labelIds = examples.labels.map((own) => own.map(() => 0));
  return isHead ? takeForHead(examples, all, labelIds, names.length) : takeSentences(examples, all, labelIds);
}

/** What a fit has settled. */
interface Run {
  examples: Examples;
  /** The names of labels; with a head, of all that it has. */
  names: string[];
  batch: number;
  steps: number;
  loss: TrainedLoss;
  isHead: boolean;
  /** The loss by name that a head for these rows has. */
  ofHead: HeadLoss | undefined;
}

/**
 * Fine-tunes a model: its layers, low-rank adapters (LoRA), or a head. `from_pretrained` loads it, `fit` trains it, and `save` returns files that
 * Python's libraries can read.
 *
 * @example
 * const rows = [
 *   { text: 'Where is my order?', label: 'delivery' },
 *   { text: 'My parcel has not come', label: 'delivery' },
 *   { text: 'I was charged twice', label: 'payment' },
 *   { text: 'The card was declined', label: 'payment' },
 * ];
 * const trainer = await Trainer.from_pretrained('./models/bert', { task: 'text-classification', max_steps: 4 });
 * for await (const { step, loss } of trainer.fit(rows)) console.log(step, loss);
 * const [{ label }] = await trainer.classifier('Has it been sent?');
 */
export class Trainer {
  private run: Run | undefined;
  private step = 0;
  /** What an adapter has; known when training begins. */
  private adapted: SeamBegun | undefined;
  /** Weights that are trained, and all; known when training begins. */
  private weights: { trainable: number; all: number } | undefined;
  /** The hash of the model's weights when training began, and the request that began it. */
  private begun: { fingerprint: string; options: Record<string, unknown> } | undefined;
  private madeOf: MadeOf | undefined;
  private fitted: TextClassifier | undefined;
  private busy = false;
  private best: Best | undefined;

  private constructor(
    private readonly engine: Engine | RemoteEngine,
    private readonly settings: Settings,
    /** Whether the checkpoint has the head of the task. */
    private readonly hasHead: boolean,
    private readonly origin: Origin,
  ) {}

  /**
   * Loads a model for fine-tuning. This needs `wattn-full-simd.wasm` or `wattn-full-relaxed.wasm`, which only training and a few rare models load.
   * Weights are trained in float32, whatever type the file has. `null`: the bundled model.
   *
   * Throws an `InputError` if an option is unknown or invalid.
   *
   *     const trainer = await Trainer.from_pretrained('sentence-transformers/all-MiniLM-L6-v2', { task: 'text-classification', worker: true });
   *     for await (const { step, max_steps, loss } of trainer.fit(rows)) console.log(step, max_steps, loss);
   *     await trainer.classifier('It has not arrived'); // [{ label: 'delivery', score: 0.93 }]
   *     const files = await trainer.save();
   */
  static async from_pretrained(model: ModelSpecifier | null, options: TrainerOptions): Promise<Trainer> {
    options = readOptions(where, options, kRules);
    if (!options?.task) {
      throw new InputError(`${where}: option 'task': expected one of ${kTasks.map((task) => `'${task}'`).join(', ')}, found none`);
    }
    const load: Record<string, unknown> = { dtype: 'f32' };
    const settings = ownCopy<Record<string, unknown>>({});
    for (const [key, value] of Object.entries(options)) {
      if (value === undefined || value === null || key === 'worker') continue;
      (key in kTrainRules ? settings : load)[key] = value;
    }
    toTargets(settings['target_modules']);
    toSaved(settings['modules_to_save']);
    checkLoss(settings['loss']);
    const start = (head: LoadedHead) => {
      const request = { where, model, options: load as LoadOptions, head };
      return options.worker ? RemoteEngine.load(request, 1, startTrainer) : Engine.load({ ...request, wasm: fullFiles });
    };
    const language = kLanguageHeads[options.task];
    const origin = originOf(model, options.revision);
    if (language) return new Trainer(await start(language), settings as unknown as Settings, true, origin);
    const newHead = options.task === 'text-classification' && kHeadLosses.has(options.loss as string);
    // Some encoders differ below a head.
    const engine = await start(newHead ? 'new_sequence' : 'none');
    // Losses over vectors leave the checkpoint's head alone, so labels may be others than its own.
    const isOfVectors = typeof options.loss === 'string' && !kHeadLosses.has(options.loss);
    const own = kHeads[options.task as keyof typeof kHeads] as (typeof kHeads)[keyof typeof kHeads] | undefined;
    const { architectures } = readConfig(engine);
    if (!own || isOfVectors || !Array.isArray(architectures) || !architectures.some((name) => String(name).endsWith(own.suffix))) {
      return new Trainer(engine, settings as unknown as Settings, false, origin);
    }
    engine.dispose();
    return new Trainer(await start(own.head), settings as unknown as Settings, true, origin);
  }

  /** The classifier that `fit` trained by SetFit's recipe. It uses this Trainer's model. */
  get classifier(): TextClassifier {
    if (this.fitted) return this.fitted;
    throw new StateError(`${where}: expected fit() of labelled texts to have ended, without a head`);
  }

  /**
   * Runs the model in its current state. Arguments and results are those of its task's pipeline.
   *
   *     await trainer.predict('It has not arrived', { top_k: 3 }); // [{ label: 'delivery', score: 0.93 }, ..]
   */
  async predict(inputs: unknown, options?: object): Promise<any> {
    const { task } = this.settings;
    if (task === 'feature-extraction') return this.embed(inputs as string, options);
    if (this.fitted) return this.fitted(inputs as string, options);
    const { prepare } = await loadTask(task);
    const { items, options: own, signal, onPiece, finish } = await prepare([inputs, options], this.engine);
    return finish(await this.engine.run(task, items, own, signal, onPiece));
  }

  /**
   * One line about what is trained, including the number of weights once `plan()` or `fit()` was called. `console.log(trainer)` shows it in Node.
   *
   *     String(trainer); // "Trainer(bert, text-classification, lora of query, value: 73,728 of 22,713,216 weights)"
   */
  toString(): string {
    const { task, method = 'lora' } = this.settings;
    const { target_modules = [] } = this.adapted ?? {};
    const of = method === 'lora' && target_modules.length > 0 ? ` of ${target_modules.join(', ')}` : '';
    const count = (value: number) => value.toLocaleString('en');
    const { weights } = this;
    const known = weights ? `: ${count(weights.trainable)} of ${count(weights.all)} weights` : '';
    return `Trainer(${this.engine.info.model_type}, ${task}, ${method}${of}${known})`;
  }

  /** For `console.log` in Node. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** Facts about the model in training. */
  info(): ModelInfo {
    return this.engine.info;
  }

  /** Computes embeddings with the model in its current state, see `pipeline('feature-extraction')`. */
  async embed(texts: string | readonly string[], options: EmbedOptions = {}): Promise<Embeddings> {
    const { pooled } = this.engine.info;
    return (await embed(this.engine, texts, pooled ? options : { pooling: 'mean', ...options })) as Embeddings;
  }

  /**
   * Estimates the memory for training before it begins. `batch`: number of texts of an update that run at once. `tokens`: length of the longest;
   * default: the model's limit. `rows`: the training set, which determines a new head, its number of labels, and the words that occur. If embeddings are
   * trained (`method: 'full'`), the optimizer only keeps numbers for these words. Without rows, the words of one update are assumed.
   *
   * Throws an `InputError` if `method: 'head'` has no rows and the checkpoint has no head.
   *
   *     const { total } = await trainer.plan({ batch: 16, tokens: 64, rows });
   */
  async plan(options: { batch?: number; tokens?: number; rows?: readonly TrainingRow[] } = {}): Promise<TrainingPlan> {
    options = readOptions('trainer.plan', options, { batch: 'count', tokens: 'count', rows: 'any' });
    const { batch = this.settings.batch_size ?? 24, tokens, rows } = options;
    const { task, max_length, method, gradient_accumulation_steps: parts = 1, freeze_embeddings } = this.settings;
    const given =
      rows && (await this.rendered('trainer.plan', toExamples('trainer.plan', rows, { task, hasOwnLoss: this.hasOwnLoss })));
    if (!this.run) {
      const settled = this.settled(given);
      if (method === 'head' && !settled.isHead) {
        throw new InputError("trainer.plan: expected the option 'rows' with method 'head'");
      }
      await this.begin({ steps: 1, ...settled });
    }
    const longest =
      tokens ?? max_length ?? Math.min(this.engine.info.max_length, task in kLanguageHeads ? kMostLanguageTokens : Infinity);
    if (!(batch * longest < 2 ** 31)) {
      throw new InputError(`trainer.plan: expected fewer than 2^31 tokens of an update, found ${batch} x ${longest}`);
    }
    const examples = given ?? this.run?.examples;
    const wordsLearn = method === 'full' && !freeze_embeddings;
    const { words } = examples && wordsLearn ? await this.ask('words', textsOf(examples, this.settled(examples))) : { words: 0 };
    const plan = await this.ask('plan', { tokens: batch * longest, max_seq: longest, parts, words });
    const { trainable, all, weights, gradients, optimizer, activations } = plan;
    const total = weights + gradients + optimizer + activations;
    return { trainable, all, weights, gradients, optimizer, activations, total };
  }

  /**
   * Trains on rows. `await` it for the report of the last update (undefined if there was nothing to do), or use `for await` to receive every report.
   * Each update then waits for the loop, so its body sees the model right after that update. Leaving the loop, or `signal`, stops training after the
   * current update and keeps the weights so far. Another call with the same rows resumes training.
   *
   *     await trainer.fit(rows);
   *     for await (const { step, max_steps, loss } of trainer.fit(rows)) console.log(step, max_steps, loss);
   *
   * InputError: rows are not all of one kind; one label only; the loss does not fit the rows; the loss or the gradient is NaN or infinite. The
   * weights are then as before the update.
   */
  fit(rows: readonly TrainingRow[], options: FitOptions = {}): Progress<TrainingReport, TrainingReport | undefined> {
    const own = readOptions('trainer.fit', options, kFitRules);
    return new Progress((report, signal) => this.fitAll(rows, own, report, signal));
  }

  /** ended: the loop that watches was left. */
  private async fitAll(
    rows: readonly TrainingRow[],
    options: FitOptions,
    report: ReportTo<TrainingReport>,
    ended: AbortSignal,
  ): Promise<TrainingReport | undefined> {
    if (this.busy) throw new StateError('trainer.fit: another fit of this Trainer has not ended');
    const { hasOwnLoss } = this;
    const { task } = this.settings;
    const given = toExamples('trainer.fit', rows, { task, hasOwnLoss });
    const fits = {
      'text-classification': ['labelled', 'many', 'value'],
      'token-classification': ['tokens'],
      'text-generation': ['language'],
      'text2text-generation': ['transformed'],
      'feature-extraction': ['texts', 'labelled', 'anchors', 'scored'],
    };
    if (!fits[task].includes(given.kind)) {
      throw new InputError(`trainer.fit: expected rows for task '${task}', found rows for another one (${given.kind})`);
    }
    const { validation } = options ?? {};
    const judged = validation && toExamples('trainer.fit: validation', validation, { like: given, task, hasOwnLoss });
    this.busy = true;
    try {
      const examples = await this.rendered('trainer.fit', given);
      const held = judged && (await this.rendered('trainer.fit: validation', judged));
      const last = await this.train({ examples, held, rows }, options ?? {}, report, ended);
      if (task !== 'text-classification' || this.run?.isHead) return last;
      const [texts] = examples.columns as [string[]];
      this.fitted = await Classifier.fit((list, how) => this.embed(list, how), texts, examples.labels.flat(), {
        seed: this.settings.seed ?? 0,
        ...(!this.engine.info.pooled && { embed_options: { pooling: 'mean' } }), // so that its file says so
      });
      return last;
    } finally {
      this.busy = false;
    }
  }

  /** Chats by the model's template; texts to be transformed with the prefix that the pipeline of the task gives them. */
  private async rendered(where: string, examples: Examples): Promise<Examples> {
    if (examples.kind !== 'transformed') return renderExamples(where, examples, this.engine.files);
    const { prepare } = await loadTask(this.settings.task);
    const [sources, targets] = examples.columns as [string[], string[]];
    const { items } = await prepare([sources, undefined], this.engine);
    return { ...examples, columns: [items as string[], targets] };
  }

  private async train(
    { examples, held, rows }: { examples: Examples; held: Examples | undefined; rows: readonly TrainingRow[] },
    { validation, eval_steps, early_stopping_patience, resume_from_checkpoint, signal }: FitOptions,
    report: ReportTo<TrainingReport>,
    ended: AbortSignal,
  ): Promise<TrainingReport | undefined> {
    const { settings } = this;
    const { loss, isHead, ofHead } = lossOf('trainer.fit', examples, settings.loss, this.hasHead);
    const { batch, steps } = planSteps(settings, examples, isHead);
    const names = this.namesOf(examples, isHead);
    const hint = isHead && this.hasHead ? "; loss: 'SupConLoss' learns other labels than the checkpoint's" : '';
    const labelIds = labelIdsOf('trainer.fit', examples, names, hint);
    const heldIds = held ? labelIdsOf('trainer.fit: validation', held, names) : [];
    const run: Run = { examples, names, batch, steps, loss, isHead, ofHead };
    if (this.run && this.step > 0 && (this.run.loss !== loss || this.run.names.join('\n') !== names.join('\n'))) {
      throw new InputError(
        'trainer.fit: expected the labels and the loss of the run that stopped; another run needs another Trainer',
      );
    }
    await this.begin(run);
    const parts = settings.gradient_accumulation_steps ?? 1;
    const every = eval_steps ?? Math.max(1, Math.min(Math.ceil(examples.size / batch), Math.floor(steps / 5)));
    const { fingerprint, options } = this.begun as NonNullable<typeof this.begun>;
    const patience = early_stopping_patience ?? Infinity;
    const more = {
      batch_size: batch,
      gradient_accumulation_steps: parts,
      early_stopping_patience: early_stopping_patience ?? null,
    };
    this.madeOf = {
      rows: hashOf(examples),
      validation: hashOf(held ?? null),
      model: fingerprint,
      options: { ...options, ...more, ...(held && { eval_steps: every }) },
    };
    if (resume_from_checkpoint) await this.resume(resume_from_checkpoint);
    this.run = run;
    const take = (from: Examples, indices: readonly number[], ids: readonly number[][]) =>
      isHead ? takeForHead(from, indices, ids, names.length) : takeSentences(from, indices, ids);
    const takeRows = (indices: readonly number[]) => take(examples, indices, labelIds);
    const ask: Ask = (kind, value) => this.ask(kind, value);
    const own = this.hasOwnLoss && { loss: settings.loss as OwnLoss, columns: examples.columns.length, isHead };
    const judge = (set: Examples) => {
      if (own)
        return evaluateOwn(
          ask,
          own,
          ownParts(validation as TrainingRow[], batch, (indices) => take(set, indices, heldIds)),
        );
      if (isLanguage(set)) {
        return evaluateLanguage((indices) => ask('evaluate', takeForHead(set, indices, [], 0)), set.size, batch);
      }
      if (isHead) return evaluateHead((task, items, how) => this.engine.run(task, items, how, undefined), set);
      return evaluateVectors((texts) => this.embed(texts), examples, set);
    };
    const source = batches(examples, batch, settings.seed ?? 0, isHead);
    for (let i = 0; i < this.step; ++i) source.next();
    const breather = new Breather();
    const begin = performance.now();
    const first = this.step;
    let last: TrainingReport | undefined;
    while (this.step < steps && !signal?.aborted && (this.best?.stale ?? 0) < patience) {
      const indices = source.next().value as number[];
      const size = Math.ceil(indices.length / parts);
      const pieces = Array.from({ length: Math.ceil(indices.length / size) }, (_, i) => indices.slice(i * size, (i + 1) * size));
      const done = own
        ? await ownStep(
            ask,
            own,
            pieces.map((piece) => ({ rows: takeRows(piece), given: piece.map((i) => rows[i] as TrainingRow) })),
          )
        : await ask('step', pieces.map(takeRows));
      this.step = done.step;
      let evaluation: TrainingReport['evaluation'];
      if (held && (this.step % every === 0 || this.step === steps)) {
        const judged = await judge(held);
        const isBest = this.best === undefined || judged.score > this.best.score;
        if (isBest) this.best = { score: judged.score, step: this.step, stale: 0, ...(await this.ask('state', undefined)) };
        else ++(this.best as Best).stale;
        evaluation = { ...judged.measures, best: isBest };
      }
      const each = (performance.now() - begin) / (this.step - first);
      last = {
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
      await report(last);
      throwIfAborted(ended);
      await breather.breathe(undefined);
    }
    const { best } = this;
    if (held && best && best.step < this.step) await this.ask('set_state', { state: best.state, step: best.step });
    return last;
  }

  /** The loss and the head of rows; without rows those of the checkpoint's head, or no head. */
  private settled(examples: Examples | undefined): Pick<Run, 'loss' | 'isHead' | 'ofHead' | 'names'> {
    const { hasHead } = this;
    if (!examples)
      return { loss: hasHead ? 'CrossEntropyLoss' : 'SupConLoss', isHead: hasHead, ofHead: 'CrossEntropyLoss', names: [] };
    const settled = lossOf('trainer.plan', examples, this.settings.loss, hasHead);
    return { ...settled, names: this.namesOf(examples, settled.isHead) };
  }

  /** Whether the loss is a function of the caller. */
  private get hasOwnLoss(): boolean {
    return typeof this.settings.loss === 'function';
  }

  /** The names of labels by their numbers. */
  private namesOf(examples: Examples, isHead: boolean): string[] {
    if (examples.kind === 'value') return ['LABEL_0'];
    if (isLanguage(examples)) return [];
    const { id2label } = readConfig(this.engine);
    if (!isHead || !this.hasHead || !id2label) return labelNames(examples);
    return readLabels({ id2label }, Object.keys(id2label).length);
  }

  /** Begins training with these settings, unless it has begun with them. */
  private async begin({
    loss,
    steps,
    isHead,
    ofHead,
    names,
  }: Pick<Run, 'loss' | 'steps' | 'isHead' | 'ofHead' | 'names'>): Promise<void> {
    if (this.run && this.step > 0) return;
    this.run = undefined; // there is none if this fails
    this.best = undefined;
    const makesHead = isHead && !this.hasHead;
    const config = makesHead
      ? configWithHead(this.engine, this.settings.task, names, ofHead)
      : JSON.stringify(readConfig(this.engine));
    const request = beginRequest(this.settings, { loss, steps, isHead, makesHead, config });
    const { config: _config, ...options } = request;
    const adapted = await this.ask('begin', request);
    this.adapted = adapted;
    this.begun = { fingerprint: adapted.fingerprint, options };
    this.weights = await this.ask('plan', { tokens: 1, max_seq: 1, parts: 1, words: 0 });
    if (makesHead && this.engine instanceof RemoteEngine) useConfig(this.engine.files as NamedBytes[], config);
  }

  /**
   * Returns the trained weights as files. LoRA: PEFT's `adapter_config.json` and `adapter_model.safetensors`. Other methods: the whole model, for
   * sentence-transformers and transformers. With `task: 'text-classification'` also `classifier.json` and `classifier.safetensors` (see
   * `Classifier.load`).
   */
  async save(): Promise<TrainedFiles> {
    if (!this.run || !this.adapted) throw new StateError('trainer.save: expected fit() before');
    const files: TrainedFiles = { ...this.fitted?.save() };
    if ((this.settings.method ?? 'lora') === 'lora') {
      const { tensors } = await this.ask('adapter', undefined);
      const { adapted, origin, settings } = this;
      const made = { adapted, origin, isHead: this.run.isHead, config: readConfig(this.engine) };
      for (const [name, bytes] of await adapterFiles(tensors, settings, made)) files[name] = bytes;
      return files;
    }
    const { withVocabulary } = await import('../source/gguf_header.js');
    for (const [name, bytes] of withVocabulary(this.engine.files)) files[name] = bytes;
    files['model.safetensors'] = await toSafetensors((await this.ask('checkpoint', undefined)).tensors);
    return files;
  }

  /**
   * Returns the state of the run: the trained weights, the optimizer's state, the best evaluation with its weights, and hashes of the rows and the
   * model. A run resumed from it gives identical results. It contains its own hash, so `fit` rejects damaged bytes (`ModelFormatError`).
   */
  async state(): Promise<Uint8Array> {
    if (!this.run) throw new StateError('trainer.state: expected fit() before');
    const { state } = await this.ask('state', undefined);
    return writeState({ state, steps: [this.step, this.run.steps], madeOf: this.madeOf as MadeOf, best: this.best });
  }

  private async resume(bytes: Uint8Array): Promise<void> {
    const what = 'trainer.fit: resume_from_checkpoint';
    const { state, steps, madeOf, best } = await readState(bytes, what);
    const differs = difference(madeOf, this.madeOf as MadeOf);
    if (differs) throw new StateError(`${what}: expected the rows, options and model of the run that stopped, but ${differs}`);
    if (!madeOf.model) warnOnce(`${what}: an earlier version made this state, so whether the model is the same cannot be checked`);
    this.step = steps[0];
    await this.ask('set_state', { state, step: this.step });
    this.best = best;
  }

  /** Frees all memory of the model and stops the worker. */
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
