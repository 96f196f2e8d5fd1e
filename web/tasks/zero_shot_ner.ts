// zero-shot-ner: the entities of a text that have one of the caller's labels, by a GLiNER or GLiNER2 model.
import { readOptions, type Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import { jobPace, runJob } from '../engine/job.js';
import type { Task } from '../engine/task.js';
import type { NerEntity, ZeroShotNerOptions } from './task_types.js';
import { takeLabels } from '../engine/labels.js';
import { hasLabelsEncoder, hasSchema, kSpanConfig, readFields } from '../source/model_files.js';
import { jobEnd } from './predict.js';

const kRules: Rules = { adapter: 'any', threshold: '[0,1]', flat_ner: 'boolean', multi_label: 'boolean', signal: 'signal' };

/** Labels that a bi-encoder reads in a step. */
const kLabelsAtOnce = 32;

interface Options {
  labels: string[];
  threshold: number;
  flat_ner: boolean;
  multi_label?: boolean;
  adapter?: string | false;
}

interface Result {
  entities: NerEntity[];
  windows: number;
  truncated: boolean;
  unknown: number;
}

/** A span with the index of its label. */
export interface Candidate {
  start: number;
  end: number;
  label: number;
  score: number;
}

/** Spans that were kept, by where they begin. */
class Kept {
  private readonly endsAt = new Map<number, Set<number>>();
  private longest = 0;

  constructor(
    private readonly flat: boolean,
    private readonly multiLabel: boolean,
  ) {}

  add({ start, end }: Candidate): void {
    const ends = this.endsAt.get(start);
    if (ends) ends.add(end);
    else this.endsAt.set(start, new Set([end]));
    this.longest = Math.max(this.longest, end - start);
  }

  /** Whether a span may not stand beside those that were kept. */
  refuses({ start, end }: Candidate): boolean {
    for (let begin = Math.max(0, start - this.longest + 1); begin < end; ++begin) {
      for (const other of this.endsAt.get(begin) ?? []) {
        if (other <= start) continue;
        const isSame = begin === start && other === end;
        const isNested = (begin <= start && other >= end) || (start <= begin && end >= other);
        if (isSame ? !this.multiLabel : this.flat || !isNested) return true;
      }
    }
    return false;
  }
}

/** As in the package: the best spans first, each unless it overlaps one that was kept. */
export function bestSpans<C extends Candidate>(candidates: readonly C[], flat: boolean, multiLabel: boolean): C[] {
  const kept = new Kept(flat, multiLabel);
  const chosen: C[] = [];
  for (const candidate of [...candidates].sort((a, b) => b.score - a.score)) {
    if (kept.refuses(candidate)) continue;
    kept.add(candidate);
    chosen.push(candidate);
  }
  return chosen;
}

/** The same in the order of the text. */
export const chooseSpans = (candidates: readonly Candidate[], flat: boolean, multiLabel: boolean): Candidate[] =>
  bestSpans(candidates, flat, multiLabel).sort((a, b) => a.start - b.start);

/** As in gliner2: the spans of each label alone. */
export const chooseSpansByLabel = (candidates: readonly Candidate[], flat: boolean, count: number): Candidate[] =>
  Array.from({ length: count }, (_, i) => {
    const own = candidates.filter(({ label }) => label === i);
    return chooseSpans(own, flat, false);
  })
    .flat()
    .sort((a, b) => a.start - b.start);

export const zeroShotNer: Task<string, Options, Result> = {
  head: 'spans',

  prepare([texts, labels, given]) {
    const where = 'zero-shot-ner';
    given = readOptions(where, given, kRules);
    const items = readTexts(where, texts);
    const { threshold, flat_ner, multi_label, signal, adapter } = (given ?? {}) as ZeroShotNerOptions;
    return {
      items,
      options: {
        labels: [...new Set(takeLabels(where, 'labels', labels))],
        threshold: threshold ?? 0.5,
        flat_ner: flat_ner ?? true,
        ...(multi_label !== undefined && multi_label !== null && { multi_label }),
        ...(adapter !== undefined && adapter !== null && { adapter }),
      },
      signal: signal ?? undefined,
      finish: (results) => {
        const lists = results.map(({ entities, ...facts }) => Object.assign(entities, facts));
        return typeof texts === 'string' ? lists[0] : lists;
      },
    };
  },

  async run(engine, items, { labels, threshold, flat_ner, multi_label }, { first, signal }) {
    const pace = jobPace();
    const fields = readFields(engine.files, kSpanConfig);
    const schema = hasSchema(fields);
    const choose = (candidates: Candidate[]) =>
      schema && multi_label !== false
        ? chooseSpansByLabel(candidates, flat_ner, labels.length)
        : chooseSpans(candidates, flat_ner, multi_label ?? false);
    const inputs = items.map((text) => ({ text }));
    // A bi-encoder reads labels for themselves and keeps what it read. So a few at a time, without texts, as reading them all at once would take long.
    for (let begin = 0; hasLabelsEncoder(fields) && begin < labels.length; begin += kLabelsAtOnce) {
      const some = labels.slice(begin, begin + kLabelsAtOnce);
      await runJob(engine, pace, signal, (handle, steps) => handle.find_spans([], some, { threshold, first_text: first }, steps));
    }
    const out: Result[] = [];
    while (out.length < items.length) {
      const begin = out.length;
      const slice = items.slice(begin, jobEnd(inputs, begin));
      const answer = await runJob(engine, pace, signal, (handle, steps) =>
        handle.find_spans(slice, labels, { threshold, first_text: first + begin }, steps),
      );
      const found: Candidate[][] = slice.map(() => []);
      answer.scores.forEach((score, i) => {
        const [at, start, end, label] = answer.spans.subarray(6 * i, 6 * i + 4) as unknown as [number, number, number, number];
        (found[at] as Candidate[]).push({ start, end, label, score });
      });
      slice.forEach((own, i) => {
        const inside = choose(found[i] as Candidate[]).filter(({ start }) => start < own.length); // not the full stop behind a text
        const entities = inside.map(({ label, score, start, end }) => ({
          label: labels[label] as string,
          score,
          text: own.slice(start, end),
          start,
          end: Math.min(end, own.length),
        }));
        out.push({
          entities,
          windows: answer.windows[i] as number,
          truncated: answer.truncated[i] === 1,
          unknown: answer.unknown[i] as number,
        });
      });
    }
    return out;
  },
};
