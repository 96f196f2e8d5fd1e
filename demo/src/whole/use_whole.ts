// The model, its text and its weights, as they arrive: first what the taps show, then what is between them.
import type { EmbedOptions } from 'wattn';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ReadyModel } from '../model/use_model.js';
import { factsOf, type Facts } from './facts.js';
import { innerOf, type Inner } from './inner.js';
import type { Weights } from './weights.js';
import { openWhole, type Run, type Whole } from './whole_model.js';

const kExact = 64_000_000; // bytes of weights as they are loaded: below, the picture has them in float32
const kPause = 300; // ms after the last key before the formulas are made

/** 'none': this model has steps that are not written out. 'asked': it is large, and a person decides. */
export type WeightsState = 'asked' | 'loading' | 'ready' | 'none';

export interface Seen {
  facts?: Facts;
  error?: Error;
  weights: WeightsState;
  readWeights: () => void;
}

/** hide: the token whose word is hidden from a model that fills masks. */
export function useWhole(model: ReadyModel, options: EmbedOptions, text: string, hide: number | undefined): Seen {
  const isSmall = model.embed.memory().weights <= kExact;
  const [whole, setWhole] = useState<Whole>();
  const [found, setFound] = useState<{ run: Run; sentence?: Float32Array }>();
  const [error, setError] = useState<Error>();
  const [wanted, setWanted] = useState(isSmall);
  const [weights, setWeights] = useState<Weights | 'none'>();
  const [inner, setInner] = useState<{ of: Run; inner: Inner | undefined }>();
  useEffect(() => {
    let gone = false;
    const opening = openWhole(model.source, isSmall);
    opening.then((opened) => !gone && setWhole(opened)).catch((reason: Error) => !gone && setError(reason));
    return () => {
      gone = true;
      void opening.then((opened) => opened.dispose()).catch(() => {});
    };
  }, [model.serial]);
  const isEmpty = text.trim() === '';
  useEffect(() => {
    if (isEmpty) return setFound(undefined);
    if (!whole) return;
    let stale = false;
    const ask = async () => {
      const run = await whole.run(text, hide);
      const vector = whole.kind === 'encoder' ? await model.embed([text], options) : undefined;
      const sentence = vector && (vector.data as Float32Array).slice();
      if (stale) return;
      setFound({ run, ...(sentence && { sentence }) });
      setError(undefined);
    };
    ask().catch((reason: Error) => !stale && setError(reason));
    return () => void (stale = true);
  }, [whole, text, hide]);
  const isThere = found !== undefined; // the picture comes before its formulas
  useEffect(() => {
    if (!whole || !wanted || !isThere || weights) return;
    let gone = false;
    import('./weights.js')
      .then(({ readWeights }) => readWeights(model.source, whole))
      .then((read) => !gone && setWeights(read ?? 'none'))
      .catch(() => !gone && setWeights('none')); // the picture stays as it is, and says so
    return () => void (gone = true);
  }, [whole, wanted, isThere]);
  useEffect(() => {
    if (!found || !weights || weights === 'none') return;
    let stale = false;
    const make = async () => {
      const inner = await innerOf(weights, found.run, () => stale);
      if (!stale) setInner({ of: found.run, inner });
    };
    const timer = setTimeout(() => void make(), kPause);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [found, weights]);
  const own = inner && inner.of === found?.run ? inner.inner : undefined;
  const isNone = weights === 'none' || (inner !== undefined && !inner.inner);
  const hasInner = wanted && !isNone;
  const facts = useMemo(
    () => (whole && found && !isEmpty ? factsOf(whole, found.run, found.sentence, own, hasInner) : undefined),
    [whole, found, own, hasInner, isEmpty],
  );
  const state: WeightsState = isNone ? 'none' : own ? 'ready' : wanted ? 'loading' : 'asked';
  return { ...(facts && { facts }), ...(error && { error }), weights: state, readWeights: () => setWanted(true) };
}
