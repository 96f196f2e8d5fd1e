// What the story tells, from the page's model: the insides of one sentence, and how near it is to a few others.
import type { EmbedOptions } from 'wattn';
import { cos_sim } from 'wattn';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { stepsOf, type HeadSteps } from '../attention/head_steps.js';
import { isAbove, isNeeded, verdictOf, type Difference, type Link, type Pair } from '../attention/evidence.js';
import { firstToken, linkToTell } from '../attention/kinds.js';
import { useEffects, usePair } from '../attention/use_evidence.js';
import { useInside, type Inside } from '../attention/use_inside.js';
import type { ReadyModel } from '../model/use_model.js';
import { kOthers } from './scenes.js';

export interface Meaning {
  vector: Float32Array;
  others: { text: string; vector: Float32Array; score: number }[];
}

export interface Told {
  inside: Inside;
  link: Link;
  steps: HeadSteps;
  /** The other sentence, where it differs in a few words only. */
  pair?: Pair;
  /** What the picture of both shows, and whether it tells them apart. */
  difference?: Difference;
  isTold?: boolean;
  /** Whether the link may be claimed for the first sentence alone; undefined: not known yet. */
  isLinked?: boolean;
  effects?: Float32Array[][];
  /** [layers + 1]: the vectors of all tokens before each layer and after the last, as rows. */
  states: Float32Array[][];
}

const kNone: ReadonlySet<string> = new Set();

function rowsOf(all: Float32Array, width: number): Float32Array[] {
  return Array.from({ length: all.length / width }, (_, i) => all.subarray(i * width, (i + 1) * width));
}

/** picked: the token that a person chose; otherwise the story chooses. other: a sentence to compare with. */
export function useTold(model: ReadyModel | undefined, text: string, other: string, picked: number | undefined) {
  const { inside, error, door } = useInside(model ? model.source : undefined, { text, pair: '', off: kNone });
  const from = inside && (picked !== undefined && picked < inside.tokens.length ? picked : firstToken(inside));
  const pair = usePair(door, inside, text, other, from);
  const effects = useEffects(door, inside, text);
  const told = useMemo<Told | undefined>(() => {
    if (!inside || from === undefined || pair === undefined) return;
    const verdict = pair ? verdictOf(inside, pair, from) : undefined;
    const own = linkToTell(inside, from) ?? { layer: 0, head: 0, from, to: from, weight: 0, average: 0, spread: 0 };
    // The head that differs most between the two sentences, whether it tells them apart or not.
    const link = verdict?.shown.ours ?? own;
    const of = (all: Float32Array[][]) => all[link.layer]?.[link.head] ?? new Float32Array();
    const { queries, keys, values, attentions, headDim, hiddenSize, inputs } = inside;
    const parts = { queries: of(queries), keys: of(keys), values: of(values), attention: of(attentions) };
    return {
      inside,
      link,
      steps: stepsOf(from, headDim, parts),
      states: inputs.map((all) => rowsOf(all, hiddenSize)),
      ...(pair && verdict && { pair, difference: verdict.shown, isTold: verdict.isTold }),
      ...(effects && { effects, isLinked: isAbove(link) && isNeeded(link, effects) }),
    };
  }, [inside, from, pair, effects]);
  return { told, error };
}

/** One vector for the sentence, and its cosine to each of the others. */
export function useMeaning(model: ReadyModel | undefined, options: EmbedOptions, text: string): Meaning | undefined {
  const [meaning, setMeaning] = useState<Meaning>();
  useEffect(() => {
    if (text.trim() === '') setMeaning(undefined);
    if (!model || text.trim() === '') return;
    let stale = false;
    const run = async () => {
      const { data, dims } = await model.embed([text, ...kOthers], options);
      const [vector, ...others] = rowsOf(data as Float32Array, dims[1] as number) as [Float32Array, ...Float32Array[]];
      if (stale) return;
      setMeaning({
        vector,
        others: others.map((other, i) => ({ text: kOthers[i] as string, vector: other, score: cos_sim(vector, other) })),
      });
    };
    run().catch(() => {}); // what is wrong with the text or the model, the insides say
    return () => void (stale = true);
  }, [model, options, text]);
  return meaning;
}
