// text-classification: labels for texts or pairs of texts.
import { withFacts } from '../core/facts.js';
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import type { ClassificationFunction, TextClassificationOptions } from './task_types.js';
import type { LabelScore } from '../vectors/types.js';
import { readConfig, readLabels, type Config } from '../engine/labels.js';
import { factsOf, judgedWindow, predict, toInput, type Facts, type Input } from './predict.js';
import { sigmoid, softmax, topIndices } from '../core/scores.js';
import type { AnyEngine } from '../engine/engine.js';
import { takeOptions, takeTopK, toSeamOptions, type EmbedWith, type Task, type TextOptions } from '../engine/task.js';

const kFunctions = ['softmax', 'sigmoid', 'none'] as const;
const kProblems = ['regression', 'single_label_classification', 'multi_label_classification'];
const kRules: Rules = { top_k: 'any', topk: 'any', function_to_apply: kFunctions };

interface Options extends TextOptions {
  top_k: number;
  function_to_apply?: ClassificationFunction;
}

interface Result extends Facts {
  labels: LabelScore[];
  tokens: number;
}

/** The default of Python's pipeline. */
function ownFunction(config: Config, labels: number): ClassificationFunction {
  const { problem_type } = config;
  if (problem_type !== undefined && problem_type !== null && !kProblems.includes(problem_type)) {
    throw new ModelFormatError(
      `config.json: problem_type: expected one of ${kProblems.join(', ')}, found ${JSON.stringify(problem_type)}`,
    );
  }
  if (problem_type === 'regression') return 'none';
  return problem_type === 'multi_label_classification' || labels === 1 ? 'sigmoid' : 'softmax';
}

export function toScores(logits: Float32Array, apply: ClassificationFunction): Float64Array {
  if (apply === 'softmax') return softmax(logits);
  const values = Float64Array.from(logits);
  return apply === 'sigmoid' ? values.map(sigmoid) : values;
}

export const textClassification: Task<Input, Options, Result> = {
  head: 'sequence',

  // A model or an adapter without a head may have a classifier on its vectors beside it.
  async open(load, model, options, embed) {
    const ofVectors = () => import('./vector_classification.js');
    const { adapter, adapters } = options;
    let classifiers = (adapter ?? adapters) ? await (await ofVectors()).classifiersOf(options) : undefined;
    const engine = await load(classifiers && 'none').catch(async (error: unknown) => {
      const lacksHead = error instanceof UnsupportedError || error instanceof ModelFormatError;
      classifiers = lacksHead && !classifiers && model ? await (await ofVectors()).classifierOf(model, options) : undefined;
      if (!classifiers) throw error;
      return load('none');
    });
    return {
      engine,
      call:
        classifiers && (await ofVectors()).vectorClassification(engine as AnyEngine, classifiers, embed as EmbedWith<AnyEngine>),
    };
  },

  prepare([inputs, given]) {
    const where = 'text-classification';
    const { options, signal, own } = takeOptions<TextClassificationOptions>(where, given, kRules);
    const top_k = takeTopK(where, own, 1);
    const list: readonly unknown[] = Array.isArray(inputs) ? inputs : [inputs];
    const items = list.map((value, i) => toInput(where, value, i));
    const flat = !Array.isArray(inputs) || top_k === 1; // transformers.js's shapes
    return {
      items,
      options: { ...(options as TextOptions), top_k },
      signal,
      finish: (results) =>
        withFacts(flat ? results.flatMap(({ labels }) => labels) : results.map(({ labels }) => labels), {
          tokens: results.map(({ tokens }) => tokens),
          truncated: results.map(({ truncated }) => truncated),
          unknown: results.map(({ unknown }) => unknown),
        }),
    };
  },

  async run(engine, items, options, context) {
    const config = readConfig(engine);
    const runs = await predict(engine, items, toSeamOptions(options), context, options.on_overflow);
    const count = runs[0]?.[0]?.labels ?? 0;
    const names = readLabels(config, count);
    const apply = options.function_to_apply ?? ownFunction(config, count);
    return runs.map((windows, i) => {
      const window = judgedWindow(windows, context.first + i);
      const scores = toScores(window.logits, apply);
      const labels = topIndices(scores, options.top_k).map((i) => ({ label: names[i] as string, score: scores[i] as number }));
      return { labels, tokens: window.ids.length, ...factsOf(windows) };
    });
  },
};
