// `wattn train`: fine-tunes a model. Its folder keeps the state of a run that was stopped, then the trained weights.
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  choice,
  computeOptions,
  count,
  flag,
  given,
  jsonOptions,
  modelOf,
  noTexts,
  number,
  required,
  text,
  type Values,
} from './args.js';
import { write } from './lines.js';
import { writeOut } from './output.js';
import { counted, Progress, timeText } from './progress.js';
import { readRows } from './rows.js';
import { onSignal } from './signals.js';
import { InputError } from '../entries/index.js';
import type { Evaluation, FitOptions, Trainer, TrainerOptions, TrainingReport, TrainingRow } from '../entries/train_entry.js';
import { toExamples, type Examples } from '../train/rows.js';
import { kTasks } from '../train/trainer_options.js';

const kState = 'trainer_state.safetensors';
const kKeepEveryMs = 60_000;

function trainerOptions(values: Values): TrainerOptions {
  const task = choice(values, 'task', kTasks);
  if (!task) throw new InputError(`--task: expected ${kTasks.join(' or ')}, found none`);
  const targets = text(values, 'target-modules');
  const own = given({
    ...computeOptions(values),
    task,
    method: text(values, 'method'),
    loss: text(values, 'loss'),
    r: count(values, 'r'),
    target_modules: targets === 'all-linear' ? targets : targets?.split(',').map((name) => name.trim()),
    last_layers: count(values, 'last-layers'),
    epochs: number(values, 'epochs'),
    max_steps: count(values, 'max-steps'),
    batch_size: count(values, 'batch-size'),
    learning_rate: number(values, 'learning-rate'),
    max_length: count(values, 'max-length'),
    seed: number(values, 'seed'),
  });
  return { ...own, ...jsonOptions(values) } as TrainerOptions;
}

/** The rows of a file, checked here because here their lines are known. */
async function rowsOf(
  option: string,
  file: string,
  labels: 'names' | 'numbers',
  how: { task: string; like?: Examples },
): Promise<{ rows: TrainingRow[]; examples: Examples }> {
  const placed = await readRows(option, file, labels);
  const rows = placed.map(({ row }) => row) as unknown as TrainingRow[];
  return {
    rows,
    examples: toExamples(`--${option}`, rows, { ...how, placeOf: (i) => (placed[i] as (typeof placed)[number]).place }),
  };
}

export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: { code?: string }) => {
    throw new InputError(`--out: cannot make the folder ${folder}: ${error.code}`);
  });
}

async function readState(file: string): Promise<Uint8Array | undefined> {
  return readFile(file).catch((error: { code?: string }) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw new InputError(`--out: cannot read ${file}: ${error.code}`);
  });
}

function measuresText({ best: _best, ...measures }: Evaluation): string {
  return Object.entries(measures)
    .map(([name, value]) => `, ${name} ${(value as number).toFixed(3)}`)
    .join('');
}

/** Shows reports: a bar on a terminal, JSON lines where standard output is none. */
function shower(values: Values): (report: TrainingReport | undefined) => Promise<void> {
  const { stdout, stderr } = process;
  const bar = new Progress(values, counted('steps'));
  let measures = ''; // of the last evaluation
  return async (report) => {
    if (!report) return bar.end();
    const { step, max_steps, loss, seconds_left, evaluation } = report;
    if (evaluation) measures = measuresText(evaluation);
    const more = `loss ${loss.toPrecision(4)}${measures}`;
    if (stderr.isTTY) bar.show({ done: step, total: max_steps, more, left: seconds_left });
    else if (flag(values, 'progress')) stderr.write(`step ${step} of ${max_steps}, ${more}, ${timeText(seconds_left)} left\n`); // each, for a log
    if (!stdout.isTTY) await write(`${JSON.stringify(report)}\n`);
  };
}

/** Runs the training. Returns whether it came to its end; false: a signal stopped it. state: the file that keeps its state. */
async function fit(values: Values, trainer: Trainer, rows: TrainingRow[], options: FitOptions, state: string): Promise<boolean> {
  const every = count(values, 'save-steps');
  const show = shower(values);
  let stopped = false;
  onSignal(() => (stopped = true)); // a second one ends the process
  let kept = performance.now();
  try {
    for await (const report of trainer.fit(rows, options)) {
      await show(report);
      await new Promise((resolve) => setImmediate(resolve)); // signals arrive
      if (stopped || (every ? report.step % every === 0 : performance.now() - kept > kKeepEveryMs)) {
        await writeOut('out', state, await trainer.state());
        kept = performance.now();
      }
      if (stopped) break;
    }
  } finally {
    onSignal(undefined);
    await show(undefined);
  }
  return !stopped;
}

export async function train(values: Values, positionals: string[]): Promise<void> {
  noTexts(positionals);
  const settings = trainerOptions(values);
  const out = required(values, 'out', 'the folder to write');
  const data = required(values, 'data', 'a file of rows');
  const model = modelOf(values);
  if (model === undefined) throw new InputError('--model: expected a model to train, found none');
  const { task } = settings;
  const labels = settings.loss === 'MSELoss' ? 'numbers' : 'names';
  const { rows, examples } = await rowsOf('data', data, labels, { task });
  const held = text(values, 'validation');
  const validation = held === undefined ? undefined : (await rowsOf('validation', held, labels, { task, like: examples })).rows;

  const stateFile = join(out, kState);
  const state = await readState(stateFile);
  if (flag(values, 'resume') && !state) throw new InputError(`--resume: expected the state of a run, found no ${stateFile}`);
  if (!flag(values, 'resume') && state) {
    throw new InputError(`--out: ${out} has the state of an unfinished run: continue it with --resume, or delete ${kState}`);
  }
  await makeFolder(out);
  const { Trainer } = await import('../entries/train_entry.js'); // other commands need none of it
  const trainer = await Trainer.from_pretrained(model, settings);
  const options = given({
    validation,
    eval_steps: count(values, 'eval-steps'),
    early_stopping_patience: count(values, 'early-stopping-patience'),
    resume_from_checkpoint: state,
  }) as FitOptions;
  if (!(await fit(values, trainer, rows, options, stateFile))) {
    process.stderr.write(`wattn: stopped; --resume continues from the state in ${out}\n`);
    process.exitCode = 130;
  } else {
    const files = await trainer.save();
    for (const [name, bytes] of Object.entries(files)) {
      await makeFolder(dirname(join(out, name)));
      await writeOut('out', join(out, name), bytes);
    }
    await rm(stateFile, { force: true });
    await write(`${JSON.stringify({ out, files: Object.keys(files) })}\n`);
  }
  await trainer.dispose();
}
