// information-extraction: structures, relations, entities and classes of a text, in one pass by a GLiNER2 model. Results are chosen and written as in the
// package gliner2 (2.1.0, inference/runtime.py).
import { UnsupportedError } from '../core/errors.js';
import { withFacts } from '../core/facts.js';
import { readOptions, type Rules } from '../core/options.js';
import { argmax, sigmoid, softmax } from '../core/scores.js';
import { readTexts } from '../core/texts.js';
import { jobPace, runJob } from '../engine/job.js';
import type { Task, TaskEngine } from '../engine/task.js';
import { hasSchema, kSpanConfig, readFields } from '../source/model_files.js';
import { readSchema, requestOf, type Field, type Part, type Plan } from './extraction_schema.js';
import type { InformationExtractionOptions } from './extraction_types.js';
import { jobEnd } from './predict.js';
import { bestSpans, type Candidate } from './zero_shot_ner.js';

const where = 'information-extraction';
const kRules: Rules = {
  adapter: 'any',
  threshold: '[0,1]',
  include_confidence: 'boolean',
  include_spans: 'boolean',
  signal: 'signal',
};
const kSpanWidth = 6;

interface Options {
  plan: Plan;
  threshold: number;
  include_confidence: boolean;
  include_spans: boolean;
  adapter?: string | false;
}

interface Result {
  found: object;
  windows: number;
  truncated: boolean;
  unknown: number;
}

/** A span; own: whether the window in which it was found is that of its first word. */
interface Span extends Candidate {
  own: boolean;
}

/** What one label has in one instance. */
interface Values {
  spans: Span[];
  /** By the index of the word before the text. */
  choices: Map<number, Span>;
}

/** Values as the caller sees them, and whether they are those of their window; undefined: none. */
interface Shown {
  value: unknown;
  own: boolean | undefined;
}

type SpanPart = Extract<Part, { fields: Field[] }>;

class Decoder {
  /** By instance, then by label. */
  private readonly instances = new Map<number, Map<number, Values>>();

  constructor(
    private readonly text: string,
    private readonly options: Options,
  ) {}

  add(start: number, end: number, label: number, instance: number, own: boolean, score: number): void {
    let labels = this.instances.get(instance);
    if (!labels) this.instances.set(instance, (labels = new Map()));
    let values = labels.get(label);
    if (!values) labels.set(label, (values = { spans: [], choices: new Map() }));
    const span = { start, end, label, score, own };
    if (end < 0) values.choices.set(start, span);
    else values.spans.push(span);
  }

  /** The parts as the package orders them: relations last. logits: of all classes. */
  result(logits: Float32Array): object {
    const members: [string, unknown][] = [];
    const relations: [string, unknown][] = [];
    let label = 0;
    let at = 0;
    for (const part of this.options.plan.parts) {
      if (part.kind === 'classes') {
        members.push([part.name, this.classesOf(part, logits.subarray(at, at + part.fields.length))]);
        at += part.fields.length;
      } else if (part.kind === 'entities') {
        members.push([part.name, this.entities(part, label)]);
      } else if (part.kind === 'relation') {
        relations.push([part.name, this.ofInstances(part, label, false).map((pair) => this.pairOf(pair))]);
      } else {
        members.push([part.name, this.ofInstances(part, label, true)]);
      }
      label += part.fields.length;
    }
    if (relations.length > 0) members.push(['relation_extraction', Object.fromEntries(relations)]);
    return Object.fromEntries(members);
  }

  private show(text: string, { score, start, end }: Candidate, inText = true): unknown {
    const { include_confidence, include_spans } = this.options;
    const hasPlace = include_spans && inText;
    if (!include_confidence && !hasPlace) return text;
    return { text, ...(include_confidence && { confidence: score }), ...(hasPlace && { start, end }) };
  }

  private valuesOf(instance: number, label: number): Values {
    return this.instances.get(instance)?.get(label) ?? { spans: [], choices: new Map() };
  }

  /** The values of a field: a list, or the best one. Equal texts are one value, unless their places are shown. */
  private fieldOf(field: Field, values: Values): Shown {
    const threshold = field.threshold ?? this.options.threshold;
    const found: { text: string; span: Span }[] = [];
    if (field.choices) {
      for (const [choice, word] of field.choices) {
        const span = values.choices.get(word);
        if (span && span.score >= threshold) found.push({ text: choice, span });
      }
      if (!field.many) found.sort((a, b) => b.span.score - a.span.score);
    } else {
      const least = Math.fround(threshold);
      const likely = values.spans.filter(({ score }) => score >= least);
      for (const span of bestSpans(likely, true, false)) {
        if (span.start >= this.text.length) continue; // the full stop behind the text
        const end = Math.min(span.end, this.text.length);
        found.push({ text: this.text.slice(span.start, end), span: { ...span, end } });
      }
    }
    const inText = !field.choices;
    const best = found[0];
    const own = best?.span.own;
    if (!field.many) return { value: best ? this.show(best.text, best.span, inText) : null, own };
    const seen = new Set<string>();
    const value = found
      .filter(({ text, span }) => {
        const place = this.options.include_spans && inText ? ` ${span.start} ${span.end}` : '';
        const key = text.toLowerCase() + place;
        return !seen.has(key) && seen.add(key);
      })
      .map(({ text, span }) => this.show(text, span, inText));
    return { value, own };
  }

  private entities({ fields }: SpanPart, first: number): object {
    return Object.fromEntries(
      fields.map((field, i) => {
        // An entity belongs to one window; its instances are those of the windows.
        const spans = [...this.instances.values()].flatMap((labels) => labels.get(first + i)?.spans ?? []);
        return [field.name, this.fieldOf(field, { spans, choices: new Map() }).value];
      }),
    );
  }

  /** Instances with a value, or with all. An instance belongs to the window of its first value in the text, so that no window repeats another's. */
  private ofInstances({ fields }: SpanPart, first: number, some: boolean): Record<string, unknown>[] {
    const out: Record<string, unknown>[] = [];
    for (const instance of [...this.instances.keys()].sort((a, b) => a - b)) {
      const shown = fields.map((field, i) => this.fieldOf(field, this.valuesOf(instance, first + i)));
      const has = shown.map(({ own }) => own !== undefined);
      if (!(some ? has.includes(true) : !has.includes(false))) continue;
      const anchor =
        shown.find(({ own }, i) => own !== undefined && !fields[i]!.choices) ?? shown.find(({ own }) => own !== undefined);
      if (anchor?.own) out.push(Object.fromEntries(shown.map(({ value }, i) => [fields[i]!.name, value])));
    }
    return out;
  }

  private pairOf(pair: Record<string, unknown>): unknown {
    const { include_confidence, include_spans } = this.options;
    return include_confidence || include_spans ? pair : [pair['head'], pair['tail']];
  }

  private classesOf({ fields, rules }: Extract<Part, { kind: 'classes' }>, logits: Float32Array): unknown {
    const { multi_label, cls_threshold, top_k, class_act } = rules;
    const each = class_act === 'auto' ? multi_label : class_act === 'sigmoid';
    const scores = each ? Array.from(logits, sigmoid) : [...softmax(logits)];
    const show = (i: number) => {
      const label = fields[i]!.name;
      return this.options.include_confidence ? { label, confidence: scores[i] } : label;
    };
    const best = argmax(scores);
    if (!multi_label) return show(best);
    let chosen = fields.map((_, i) => i).filter((i) => scores[i]! >= cls_threshold);
    if (chosen.length === 0) chosen = [best];
    if (top_k < Infinity) chosen = chosen.sort((a, b) => scores[b]! - scores[a]!).slice(0, top_k);
    return chosen.map(show);
  }
}

export const informationExtraction: Task<string, Options, Result> = {
  head: 'spans',

  async open(load) {
    const engine = await load();
    const { files } = engine as unknown as Pick<TaskEngine, 'files'>;
    if (hasSchema(readFields(files, kSpanConfig))) return { engine };
    await (engine as unknown as { dispose(): unknown }).dispose();
    throw new UnsupportedError(`${where}: expected a GLiNER2 model, found one of GLiNER, which finds entities with zero-shot-ner`);
  },

  prepare([texts, schema, given]) {
    const { threshold, include_confidence, include_spans, signal, adapter } = readOptions(
      where,
      given,
      kRules,
    ) as InformationExtractionOptions;
    const items = readTexts(where, texts);
    return {
      items,
      options: {
        plan: readSchema(schema),
        threshold: threshold ?? 0.5,
        include_confidence: include_confidence === true,
        include_spans: include_spans === true,
        ...(adapter !== undefined && adapter !== null && { adapter }),
      },
      signal: signal ?? undefined,
      finish: (results) => {
        const shown = results.map(({ found, ...facts }) => withFacts(found, facts));
        return typeof texts === 'string' ? shown[0] : shown;
      },
    };
  },

  async run(engine, items, options, { first, signal }) {
    const pace = jobPace();
    const [labels, request] = requestOf(options.plan, options.threshold);
    const inputs = items.map((text) => ({ text }));
    const out: Result[] = [];
    while (out.length < items.length) {
      const begin = out.length;
      const slice = items.slice(begin, jobEnd(inputs, begin));
      const answer = await runJob(engine, pace, signal, (handle, steps) =>
        handle.find_spans(slice, labels, { ...request, first_text: first + begin }, steps),
      );
      const decoders = slice.map((text) => new Decoder(text, options));
      answer.scores.forEach((score, i) => {
        const [at, start, end, label, instance, own] = answer.spans.subarray(kSpanWidth * i, kSpanWidth * (i + 1));
        decoders[at!]!.add(start!, end!, label!, instance!, own === 1, score);
      });
      const classes = answer.logits.length / slice.length;
      decoders.forEach((decoder, i) => {
        out.push({
          found: decoder.result(answer.logits.subarray(i * classes, (i + 1) * classes)),
          windows: answer.windows[i] as number,
          truncated: answer.truncated[i] === 1,
          unknown: answer.unknown[i] as number,
        });
      });
    }
    return out;
  },
};
