// What GLiClass models read: the labels of a call beside the text, as the package gliclass puts them together (pipeline.py, 0.1.21).
import { describe, InputError } from '../core/errors.js';
import type { Config } from '../engine/labels.js';
import type { ZeroShotExample, ZeroShotOptions } from './task_types.js';
import { wasTruncated, type Window } from './predict.js';

const where = 'zero-shot-classification';
const [kLabel, kSeparator, kExample] = ['<<LABEL>>', '<<SEP>>', '<<EXAMPLE>>'];

function checkLabels(labels: readonly string[]): void {
  const wrong = labels.find((label) => label.includes(kLabel) || label.includes(kSeparator));
  if (wrong === undefined) return;
  throw new InputError(
    `${where}: candidate_labels: expected texts without '${kLabel}' and '${kSeparator}', which this model uses, found ${describe(wrong)}`,
  );
}

function exampleText({ text, labels }: ZeroShotExample): string {
  return `${kExample}${text} \nLabels:\n ${labels.join(', ')}`;
}

/** Checks the option `examples`. */
export function checkExamples(examples: unknown): void {
  if (examples === undefined) return;
  const isExample = (each: unknown) => {
    const { text, labels } = (each ?? {}) as Partial<ZeroShotExample>;
    return typeof text === 'string' && Array.isArray(labels) && labels.every((label) => typeof label === 'string');
  };
  if (Array.isArray(examples) && examples.every(isExample)) return;
  throw new InputError(`${where}: option 'examples': expected a list of { text, labels }, found ${describe(examples)}`);
}

/** The input for each text, and where its labels end: those must not be cut off. */
export class LabelPrompt {
  private readonly labels: string;
  private readonly prompt: string;
  private readonly examples: string;
  private readonly first: boolean;

  constructor(config: Config, labels: readonly string[], { prompt, examples }: Pick<ZeroShotOptions, 'prompt' | 'examples'>) {
    checkLabels(labels);
    this.labels = labels.map((label) => kLabel + label).join('') + kSeparator;
    this.prompt = prompt ?? '';
    this.examples = examples && examples.length > 0 ? examples.map(exampleText).join('') + kSeparator : '';
    this.first = config['prompt_first'] === true;
  }

  inputOf(text: string): string {
    const { labels, prompt, examples } = this;
    return (this.first ? labels + prompt + text : text + labels + prompt) + examples;
  }

  /** Throws if the text's window lacks the end of the labels. at: the text's index, for messages. */
  check(text: string, window: Window, at: number): void {
    if (!wasTruncated([window])) return;
    const last = window.special_tokens_mask.lastIndexOf(0);
    const end = last < 0 ? 0 : (window.offsets[2 * last + 1] as number);
    if (end >= this.labels.length + (this.first ? 0 : text.length)) return;
    throw new InputError(
      `text ${at}: expected ${this.first ? 'labels' : 'a text and labels'} of at most ${window.ids.length} tokens in all, found ${window.untruncated}: raise max_length, or give fewer labels${this.first ? '' : ' or a shorter text'}`,
    );
  }
}
