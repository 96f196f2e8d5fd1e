// Fine-tuning of the page's model on the examples, in a worker: some examples are held back to compare with the model as it was.
import { Classifier, Tensor, type ClassifierOptions, type EmbedOptions, type LabelScore } from 'wattn';
import { Trainer } from 'wattn/train';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ReadyModel } from '../model/use_model.js';
import { linesOf, type Taught } from './use_classifier.js';

export interface Compared {
  /** Examples that neither has seen, and how many of them each gets right. */
  held: number;
  frozen: number;
  tuned: number;
  /** Those whose answer is another one now. */
  changed: { text: string; label: string; before: string; after: string }[];
}

export interface Tuning {
  running: boolean;
  losses: number[];
  /** [step, share]: how many of the examples that were held back are right. */
  shares: [number, number][];
  /** The same, of the classifier on the model as it was. */
  frozenShare?: number;
  steps: number;
  secondsLeft?: number;
  /** Weights that are trained, of all. */
  weights?: { trainable: number; all: number };
  done?: { ms: number; steps: number; compared?: Compared; answer: LabelScore[]; files: Record<string, Uint8Array> };
  error?: Error;
}

interface Example {
  text: string;
  label: string;
}

/** The last third of each class with three examples or more is held back. */
export function split(classes: readonly Taught[]): { rows: Example[]; held: Example[] } {
  const [rows, held]: [Example[], Example[]] = [[], []];
  for (const taught of classes) {
    const lines = linesOf(taught).map((text) => ({ text, label: taught.name.trim() }));
    const cut = lines.length - Math.floor(lines.length / 3);
    rows.push(...lines.slice(0, cut));
    held.push(...lines.slice(cut));
  }
  return { rows, held };
}

type Embed = (texts: string[]) => Promise<Tensor<'float32'>>;

/** The answers for examples that were held back, by a classifier on vectors of the others. */
async function answersFor(
  embed: Embed,
  rows: readonly Example[],
  held: readonly Example[],
  how: ClassifierOptions = {},
): Promise<string[]> {
  const [taught, asked] = [await embed(rows.map(({ text }) => text)), await embed(held.map(({ text }) => text))];
  const labels = rows.map(({ label }) => label);
  const classifier = await Classifier.fit(kNoTexts, taught, labels, how);
  return (await classifier(asked)).map(({ label }) => label);
}

/** Only vectors are given to these classifiers. */
const kNoTexts = () => Promise.reject(new Error('a classifier of vectors was asked for a text'));

const countRight = (answers: readonly string[], held: readonly Example[]) =>
  answers.filter((label, i) => label === held[i]?.label).length;

const kLooks = 8; // at the held-back examples, while it trains

export function useFineTuning(model: ReadyModel, options: EmbedOptions) {
  const [tuning, setTuning] = useState<Tuning>({ running: false, losses: [], shares: [], steps: 0 });
  const stop = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stop.current?.abort(), []);

  const start = async (classes: readonly Taught[], text: string) => {
    const controller = (stop.current = new AbortController());
    const { rows, held } = split(classes);
    const begun = performance.now();
    setTuning({ running: true, losses: [], shares: [], steps: 0 });
    let trainer: Trainer | undefined;
    try {
      trainer = await Trainer.from_pretrained(model.source, {
        task: 'text-classification',
        loss: 'SupConLoss',
        worker: true,
      });
      const { trainable, all } = await trainer.plan({ rows });
      const losses: number[] = [];
      const isJudged = held.length > 0;
      const asVectors = async (texts: string[]) => {
        const { data, dims } = await model.embed(texts, options);
        return new Tensor('float32', data as Float32Array, dims);
      };
      const before = isJudged ? await answersFor(asVectors, rows, held, { class_weight: 'balanced' }) : [];
      const frozenShare = isJudged ? countRight(before, held) / held.length : undefined;
      const shares: [number, number][] = frozenShare === undefined ? [] : [[0, frozenShare]];
      const learning = trainer;
      const tunedVectors = async (texts: string[]) => {
        const { data, dims } = await learning.embed(texts);
        return new Tensor('float32', data as Float32Array, dims);
      };
      for await (const { step, loss, max_steps, seconds_left } of trainer.fit(rows, { signal: controller.signal })) {
        losses.push(loss);
        if (isJudged && step % Math.max(1, Math.round(max_steps / kLooks)) === 0)
          shares.push([step, countRight(await answersFor(tunedVectors, rows, held), held) / held.length]);
        setTuning({
          running: true,
          losses: [...losses],
          shares: [...shares],
          ...(frozenShare !== undefined && { frozenShare }),
          steps: max_steps,
          secondsLeft: seconds_left,
          weights: { trainable, all },
        });
      }
      const ms = performance.now() - begun;
      const { classifier } = trainer;
      const after = isJudged ? (await classifier(held.map((one) => one.text))).map(({ label }) => label) : [];
      const compared: Compared | undefined = isJudged
        ? {
            held: held.length,
            frozen: countRight(before, held),
            tuned: countRight(after, held),
            changed: held
              .map((one, i) => ({ ...one, before: before[i] as string, after: after[i] as string }))
              .filter((one) => one.before !== one.after),
          }
        : undefined;
      const answer = await classifier(text || ' ', { top_k: null });
      const files = await trainer.save();
      setTuning((now) => ({
        ...now,
        running: false,
        done: { ms, steps: losses.length, ...(compared && { compared }), answer, files },
      }));
    } catch (error) {
      if (controller === stop.current) setTuning({ running: false, losses: [], shares: [], steps: 0, error: error as Error });
    } finally {
      void trainer?.dispose();
    }
  };
  return { tuning, start, stop: () => stop.current?.abort() };
}
