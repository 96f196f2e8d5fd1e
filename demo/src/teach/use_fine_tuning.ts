// Fine-tuning of the page's model on the examples, in a worker: some examples are held back to compare with the model as it was.
import { Classifier, type EmbedOptions, type LabelScore } from 'wattn';
import { Trainer } from 'wattn/train';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ReadyModel } from '../model/use_model.js';
import { linesOf, type Taught } from './use_classifier.js';

export interface Compared {
  /** Examples that neither has seen, and how many of them each gets right. */
  held: number;
  frozen: number;
  tuned: number;
}

export interface Tuning {
  running: boolean;
  losses: number[];
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

/** Of each class with three examples or more, the last third is held back. */
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

type Ask = (texts: string[]) => Promise<LabelScore[]>;

async function right(ask: Ask, held: readonly Example[]): Promise<number> {
  const answers = await ask(held.map(({ text }) => text));
  return answers.filter(({ label }, i) => label === held[i]?.label).length;
}

async function frozenRight({ embed }: ReadyModel, options: EmbedOptions, rows: readonly Example[], held: readonly Example[]) {
  const texts = rows.map(({ text }) => text);
  const labels = rows.map(({ label }) => label);
  const classifier = await Classifier.fit(embed, texts, labels, { class_weight: 'balanced', embed_options: options });
  return right((asked) => classifier(asked), held);
}

export function useFineTuning(model: ReadyModel, options: EmbedOptions) {
  const [tuning, setTuning] = useState<Tuning>({ running: false, losses: [], steps: 0 });
  const stop = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stop.current?.abort(), []);

  const start = async (classes: readonly Taught[], text: string) => {
    const controller = (stop.current = new AbortController());
    const { rows, held } = split(classes);
    const begun = performance.now();
    setTuning({ running: true, losses: [], steps: 0 });
    let trainer: Trainer | undefined;
    try {
      trainer = await Trainer.from_pretrained(model.source, {
        task: 'text-classification',
        loss: 'SupConLoss',
        worker: true,
      });
      const { trainable, all } = await trainer.plan({ rows });
      const losses: number[] = [];
      for await (const { loss, max_steps, seconds_left } of trainer.fit(rows, { signal: controller.signal })) {
        losses.push(loss);
        setTuning({ running: true, losses: [...losses], steps: max_steps, secondsLeft: seconds_left, weights: { trainable, all } });
      }
      const ms = performance.now() - begun;
      const { classifier } = trainer;
      const ask: Ask = (texts) => classifier(texts);
      const compared =
        held.length > 0
          ? { held: held.length, frozen: await frozenRight(model, options, rows, held), tuned: await right(ask, held) }
          : undefined;
      const answer = await classifier(text || ' ', { top_k: null });
      const files = await trainer.save();
      setTuning((before) => ({
        ...before,
        running: false,
        done: { ms, steps: losses.length, ...(compared && { compared }), answer, files },
      }));
    } catch (error) {
      if (controller === stop.current) setTuning({ running: false, losses: [], steps: 0, error: error as Error });
    } finally {
      void trainer?.dispose();
    }
  };
  return { tuning, start, stop: () => stop.current?.abort() };
}
