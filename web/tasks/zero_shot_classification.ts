// zero-shot-classification, by three kinds of models. One for natural language inference says which of the caller's labels a text entails. GLiClass and
// GLiNER2 read all labels beside the text, and say how well each fits.
import { withFacts } from '../core/facts.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import type { ZeroShotExample, ZeroShotOptions, ZeroShotResult } from './task_types.js';
import { namesLabels, readConfig, takeLabels, type Config } from '../engine/labels.js';
import { checkExamples, LabelPrompt } from './label_prompt.js';
import { factsOf, judgedWindow, predict, wasTruncated, type Window } from './predict.js';
import { sigmoid, softmax, topIndices } from '../core/scores.js';
import { hasSchema, kSpanConfig, readFields } from '../source/model_files.js';
import { takeOptions, toSeamOptions, type Context, type Task, type TaskEngine, type TextOptions } from '../engine/task.js';

const kInstead = 'a sentence encoder compares texts with the names of labels: feature-extraction and cos_sim, see docs/tasks.md';

const kRules: Rules = { hypothesis_template: 'string', multi_label: 'boolean', prompt: 'string', examples: 'any' };

interface ZeroShotCall extends TextOptions {
  candidate_labels: string[];
  hypothesis_template?: string;
  multi_label: boolean;
  prompt?: string;
  examples?: ZeroShotExample[];
}

/** As in Python: the first label that begins with "entail"; if labels have no names (LABEL_0), the last one. */
function entailmentOf({ label2id }: Config, labels: number): number {
  const found = Object.entries(label2id ?? {}).find(([label]) => label.toLowerCase().startsWith('entail'))?.[1];
  const names = Object.keys(label2id ?? {});
  if (found === undefined && names.some((name) => !/^LABEL_\d+$/.test(name))) {
    throw new UnsupportedError(
      `zero-shot-classification: expected a model for natural language inference, with a label that begins with 'entail', found ${names.join(', ')}; ${kInstead}`,
    );
  }
  return Number.isInteger(found) && (found as number) >= 0 && (found as number) < labels ? (found as number) : labels - 1;
}

function scoresOf(windows: readonly Window[], entailment: number, each: boolean): number[] {
  const entails = windows.map(({ logits }) => logits[entailment] as number);
  if (!each) return [...softmax(entails)];
  return windows.map(({ logits }, i) => {
    const contradiction = logits[entailment === 0 ? logits.length - 1 : 0] as number;
    return softmax([contradiction, entails[i] as number])[1] as number;
  });
}

/** A text's scores and what is known of it. */
interface Scored {
  scores: number[];
  truncated: boolean;
  unknown: number;
}

async function scoreByEntailment(
  engine: TaskEngine,
  items: readonly string[],
  options: ZeroShotCall,
  context: Context,
): Promise<Scored[]> {
  const { candidate_labels: labels, hypothesis_template = 'This example is {}.', multi_label } = options;
  for (const name of ['prompt', 'examples'] as const) {
    if (options[name] === undefined) continue;
    throw new InputError(
      `zero-shot-classification: option '${name}': expected a GLiClass or GLiNER2 model, found one for natural language inference`,
    );
  }
  const hypotheses = labels.map((label) => hypothesis_template.split('{}').join(label));
  const pairs = items.flatMap((text) => hypotheses.map((text_pair) => ({ text, text_pair })));
  const runs = await predict(engine, pairs, toSeamOptions(options, { strategy: 'only_first' }), context, options.on_overflow);
  const entailment = entailmentOf(readConfig(engine), runs[0]?.[0]?.labels ?? 1);
  return items.map((_, i) => {
    const own = runs.slice(i * labels.length, (i + 1) * labels.length);
    return {
      scores: scoresOf(
        own.map(([window]) => window as Window),
        entailment,
        multi_label || labels.length === 1,
      ),
      truncated: own.some(wasTruncated),
      unknown: Math.max(0, ...own.map((windows) => factsOf(windows).unknown)),
    };
  });
}

/** Scores of a text from the logits of its labels. */
const scoresOfLogits = (logits: Float32Array, each: boolean): number[] =>
  each || logits.length === 1 ? Array.from(logits, sigmoid) : [...softmax(logits)];

const withLabels = ({ candidate_labels, hypothesis_template = '{}' }: ZeroShotCall): string[] =>
  candidate_labels.map((label) => hypothesis_template.split('{}').join(label));

const readsSchema = ({ files }: Pick<TaskEngine, 'files'>): boolean => hasSchema(readFields(files, kSpanConfig));

/** One pass a text, by a GLiNER2 model. */
async function scoreInSchema(
  engine: TaskEngine,
  items: readonly string[],
  options: ZeroShotCall,
  context: Context,
): Promise<Scored[]> {
  const { classLogits } = await import('./schema_classes.js');
  const found = await classLogits(engine, items, withLabels(options), options, context);
  return found.map(({ logits, ...facts }) => ({ scores: scoresOfLogits(logits, options.multi_label), ...facts }));
}

/** One pass a text, whatever the number of labels. */
async function scoreBesideText(
  engine: TaskEngine,
  items: readonly string[],
  options: ZeroShotCall,
  context: Context,
): Promise<Scored[]> {
  const labels = withLabels(options);
  const prompt = new LabelPrompt(readConfig(engine), labels, options);
  const inputs = items.map((text) => ({ text: prompt.inputOf(text) }));
  const seamOptions = toSeamOptions(options, { num_labels: labels.length });
  const runs = await predict(engine, inputs, seamOptions, context, options.on_overflow);
  return runs.map((windows, i) => {
    prompt.check(items[i] as string, windows[0] as Window, context.first + i);
    const window = judgedWindow(windows, context.first + i);
    return { scores: scoresOfLogits(window.logits, options.multi_label), ...factsOf(windows) };
  });
}

export const zeroShotClassification: Task<string, ZeroShotCall, ZeroShotResult> = {
  head: 'sequence',
  instead: kInstead,

  async open(load) {
    const engine = await load().catch((error: unknown) => {
      const isSchema = error instanceof UnsupportedError && error.message.includes('GLiNER2'); // src/models/advice.cpp
      if (!isSchema) throw error;
      return load('spans');
    });
    return { engine };
  },

  prepare([texts, labels, given]) {
    const where = 'zero-shot-classification';
    const { options, signal } = takeOptions<ZeroShotOptions>(where, given, kRules);
    const items = readTexts(where, texts);
    const { hypothesis_template } = options;
    if (hypothesis_template !== undefined && hypothesis_template.split('{}').length !== 2) {
      throw new InputError(
        `${where}: option 'hypothesis_template': expected a text with {} once, found ${describe(hypothesis_template)}`,
      );
    }
    checkExamples(options.examples);
    const candidate_labels = takeLabels(where, 'candidate_labels', labels);
    return {
      items,
      options: {
        ...(options as Omit<ZeroShotCall, 'candidate_labels'>),
        candidate_labels,
        multi_label: options.multi_label === true,
      },
      signal,
      finish(results) {
        const shown = results.map(({ truncated, unknown, ...result }) => withFacts(result, { truncated, unknown }));
        return typeof texts === 'string' ? shown[0] : shown;
      },
    };
  },

  async run(engine, items, options, context) {
    const { candidate_labels: labels } = options;
    const score = readsSchema(engine) ? scoreInSchema : namesLabels(readConfig(engine)) ? scoreBesideText : scoreByEntailment;
    return (await score(engine, items, options, context)).map(({ scores, ...facts }, i) => {
      const order = topIndices(scores, Infinity);
      return {
        sequence: items[i] as string,
        labels: order.map((j) => labels[j] as string),
        scores: order.map((j) => scores[j] as number),
        ...facts,
      };
    });
  },
};
