// The map of the panel: its rows, their vectors, computed in a worker batch by batch, and their places, refined in another.
import { pipeline, type EmbedOptions, type FeatureExtractionPipeline } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import { beside, type Beside } from '../beside/beside.js';
import type { ReadyModel } from '../model/use_model.js';
import type { Placed, Refined } from './map_task.js';
import { best, cosinesTo, nearestRows, unitRows, type Near } from './near.js';
import type { Row } from './rows.js';

export interface MapData {
  /** Another number for each map. */
  serial: number;
  rows: readonly Row[];
  /** [rows, dim], of unit length. */
  units: Float32Array;
  dim: number;
}

/** Where the points are now: too often anew for a state of the page. */
export class Points {
  now = new Float32Array();
  private readonly listeners = new Set<() => void>();
  set(points: Float32Array): void {
    this.now = points as Float32Array<ArrayBuffer>;
    for (const listener of this.listeners) listener();
  }
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

export type Stage = 'embed' | 'plane' | 'neighbours' | 'refine' | 'done';

export interface MapState {
  stage?: Stage | undefined;
  /** 0 to 1, of the stage; undefined: nobody knows. */
  share?: number | undefined;
  /** Texts with vectors, while there are some without. */
  embedded?: number;
  data?: MapData;
  /** What the plane of the principal components shows of the variance, and which neighbours it keeps. */
  plane?: { share: number; kept: number };
  /** Which neighbours the refined map keeps. */
  kept?: number | undefined;
  ms?: number;
  stopped?: boolean;
  error?: Error;
}

export interface MapControl extends MapState {
  points: Points;
  show(rows: readonly Row[]): void;
  stop(): void;
  nearest(row: number, count: number): Near[];
  /** By the model's meaning. */
  search(query: string, count: number): Promise<Near[]>;
}

const kBatch = 64;

let lastSerial = 0;

/** show: told how many texts have vectors. */
async function embedAll(
  embed: FeatureExtractionPipeline,
  rows: readonly Row[],
  options: EmbedOptions & { signal: AbortSignal },
  show: (count: number) => void,
): Promise<MapData> {
  let [units, dim] = [new Float32Array(), 0];
  for (let at = 0; at < rows.length; at += kBatch) {
    const { data, dims } = await embed.encode_document(rows.slice(at, at + kBatch).map(({ text }) => text), options); // prettier-ignore
    if (at === 0) [dim, units] = [dims[1] as number, new Float32Array(rows.length * (dims[1] as number))];
    units.set(unitRows(data, dim), at * dim);
    show(Math.min(rows.length, at + kBatch));
  }
  return { serial: ++lastSerial, rows, units, dim };
}

/** What stays when the work ends early, or other work begins. */
const keptOf = ({ data, plane, kept }: MapState): MapState => ({
  ...(data && { data }),
  ...(plane && { plane }),
  ...(kept !== undefined && { kept }),
});

export function useMap(model: ReadyModel, options: EmbedOptions): MapControl {
  const [state, setState] = useState<MapState>({});
  const [points] = useState(() => new Points());
  const embed = useRef<Promise<FeatureExtractionPipeline> | undefined>(undefined);
  const controller = useRef<AbortController | undefined>(undefined);
  const placing = useRef<Beside<Refined, never, never> | undefined>(undefined);
  embed.current ??= pipeline('feature-extraction', model.source, { worker: true });

  const end = () => {
    controller.current?.abort();
    placing.current?.stop();
  };
  useEffect(
    () => () => {
      end();
      void embed.current?.then((opened) => opened.dispose()).catch(() => {});
    },
    [],
  );

  const show = async (rows: readonly Row[]) => {
    end();
    const { signal } = (controller.current = new AbortController());
    const change = (next: MapState) => !signal.aborted && setState((before) => ({ ...before, ...next }));
    const begun = performance.now();
    setState((before) => ({ ...keptOf(before), stage: 'embed', share: 0, embedded: 0 }));
    try {
      const opened = await (embed.current as Promise<FeatureExtractionPipeline>);
      const data = await embedAll(opened, rows, { ...options, signal }, (count) =>
        change({ stage: 'embed', share: count / rows.length, embedded: count }),
      );
      if (signal.aborted) return;
      change({ stage: 'plane', share: undefined });
      const work = beside<Refined>('place', { vectors: data.units, dim: data.dim }, (placed: Placed) => {
        if (signal.aborted) return;
        if (placed.stage === 'refine') {
          points.set(placed.points);
          return change({ stage: 'refine', share: placed.done });
        }
        if (placed.stage === 'neighbours') return change({ stage: 'neighbours' });
        points.set(placed.points);
        change({ data, plane: { share: placed.share, kept: placed.kept }, kept: undefined });
      });
      placing.current = work;
      const { points: last, kept } = await work.done.finally(work.stop);
      points.set(last);
      change({ stage: 'done', kept, ms: performance.now() - begun });
    } catch (error) {
      change({ stage: undefined, error: error as Error });
    }
  };

  return {
    ...state,
    points,
    show: (rows) => void show(rows),
    stop: () => {
      end();
      setState((before) => ({ ...keptOf(before), stopped: true }));
    },
    nearest: (row, count) => (state.data ? nearestRows(state.data.units, state.data.dim, row, count) : []),
    async search(query, count) {
      const { data } = state;
      if (!data) return [];
      const { data: vector } = await ((await embed.current) as FeatureExtractionPipeline).encode_query(query, options);
      return best(cosinesTo(data.units, unitRows(vector, data.dim)), count);
    },
  };
}
