// The state of the page: what is being measured, and what was found.
import type { ModelSpecifier } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import { environmentHere, watchDisturbances, type Environment } from './environment.js';
import { prove, type Progress, type Row } from './run.js';

export interface Chosen {
  name: string;
  /** null: the bundled model. */
  model: ModelSpecifier | null;
}

export interface Proof {
  kind: 'idle' | 'running' | 'stopped' | 'done';
  rows: readonly Row[];
  progress?: Progress;
  /** What made the measurements worse. */
  notes: readonly string[];
  error?: Error;
  /** What was measured. */
  chosen?: Chosen;
  environment: Environment;
  date: string;
}

/** Sentences of a round. */
export const kSentences = 100;

const metaOf = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);

/** The folder with transformers.js, if this page was served with it (see vite.config.ts). */
export const rivalHere = (): string | undefined => {
  const meta = metaOf('wattn-rival');
  return meta ? new URL(meta.content, document.baseURI).href : undefined;
};

/** The model that this page was served with, if any. */
export const servedHere = (): Chosen | undefined => {
  const meta = metaOf('wattn-model');
  return meta ? { name: meta.dataset.name ?? meta.content, model: new URL(meta.content, document.baseURI).href } : undefined;
};

export function useProof() {
  const [proof, setProof] = useState<Proof>(() => ({
    kind: 'idle',
    rows: [],
    notes: [],
    environment: environmentHere(),
    date: '',
  }));
  const controller = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => controller.current?.abort(), []);

  const start = async (chosen: Chosen) => {
    controller.current?.abort();
    const { signal } = (controller.current = new AbortController());
    const environment = environmentHere();
    const date = new Date().toISOString().slice(0, 10);
    let now: Proof = { kind: 'running', rows: [], notes: [], environment, date, chosen };
    const show = (change: Partial<Proof>) => {
      if (controller.current?.signal === signal) setProof((now = { ...now, ...change }));
    };
    show({});
    const watching = new AbortController();
    void watchDisturbances((note) => !now.notes.includes(note) && show({ notes: [...now.notes, note] }), watching.signal);
    try {
      const rows = await prove({
        model: chosen.model,
        threads: environment.isolated ? Math.min(4, environment.cores) : 1,
        rival: rivalHere(),
        sentences: kSentences,
        signal,
        report: (rows, progress) => show({ rows, progress }),
      });
      show({ kind: 'done', rows });
    } catch (error) {
      show(signal.aborted ? { kind: 'stopped' } : { kind: 'stopped', error: error as Error });
    } finally {
      watching.abort();
    }
  };

  return { proof, start, stop: () => controller.current?.abort() };
}
