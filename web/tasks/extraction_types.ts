// The public types of information-extraction: schemas as gliner2 writes them, and results.
import type { LoadedPipeline, TaskTextOptions } from '../engine/types.js';

/** A field of a structure. */
export interface ExtractionField {
  /** The field's name, which the model reads. */
  name: string;
  /** `'list'` (default): all values. `'str'`: the best one, or null. */
  dtype?: 'str' | 'list';
  /** The values that the field may have. Without it, values are parts of the text. */
  choices?: readonly string[];
  /** What the field means, which the model reads. */
  description?: string;
  /** Minimum confidence of its values, from 0 to 1. Default: that of the call. */
  threshold?: number;
}

/** The fields of a structure: objects, or gliner2's short form `'name::str::[a|b]::description'`. */
export type ExtractionFields = readonly (string | ExtractionField)[];

/** A kind of entity. */
export interface ExtractionEntity {
  /** What it means, which the model reads. */
  description?: string;
  /** `'list'` (default): all of the text. `'str'`: the best one, or null. */
  dtype?: 'str' | 'list';
  /** Minimum confidence, from 0 to 1. Default: that of the call. */
  threshold?: number;
}

/** A relation between two parts of the text, a head and a tail. */
export interface ExtractionRelation {
  /** What it means, which the model reads. */
  description?: string;
  /** Minimum confidence of both ends, from 0 to 1. Default: that of the call. */
  threshold?: number;
}

/** Classes of the whole text. */
export interface ExtractionClassification {
  /** The name of the task, which is that of its result. */
  task: string;
  /** The classes: names, or names with what they mean. */
  labels: readonly string[] | Readonly<Record<string, string>>;
  /** `true`: a list of all classes from `cls_threshold` on, or of the best one. Default `false`: the best class. */
  multi_label?: boolean;
  /** Minimum confidence with `multi_label`, from 0 to 1. Default 0.5. */
  cls_threshold?: number;
  /** Most classes with `multi_label`, best first. */
  top_k?: number;
  /** How logits become confidences. Default `'auto'`: `'sigmoid'` with `multi_label`, else `'softmax'`. */
  class_act?: 'auto' | 'sigmoid' | 'softmax';
  /** An instruction, which the model reads after the name of the task. */
  prompt?: string;
  /** Texts with their class, which the model reads. Those whose class is not one of `labels` are left out, as in Python. */
  examples?: readonly (readonly [text: string, label: string])[];
}

/** What to extract, as `Schema.from_dict` of gliner2 reads it: at least one of these members. */
export interface ExtractionSchema {
  /** Kinds of entities: names, names with descriptions, or names with settings. */
  entities?: readonly string[] | Readonly<Record<string, string | ExtractionEntity>>;
  /** Structures by name, each with its fields. */
  structures?: Readonly<Record<string, ExtractionFields | { fields: ExtractionFields }>>;
  /** Relations: names, names with descriptions, or names with settings. */
  relations?: readonly string[] | Readonly<Record<string, string | ExtractionRelation>>;
  /** Tasks of classification. */
  classifications?: readonly ExtractionClassification[];
}

/** Options of a call of an `information-extraction` pipeline. */
export interface InformationExtractionOptions extends Pick<TaskTextOptions, 'adapter' | 'signal'> {
  /** Minimum confidence, from 0 to 1. Default 0.5. */
  threshold?: number;
  /** `true`: values are objects with their `confidence`. Default `false`. */
  include_confidence?: boolean;
  /** `true`: values are objects with `start` and `end`, in UTF-16 code units. Default `false`. */
  include_spans?: boolean;
}

type Asked<O, Name extends string> = O extends { [K in Name]: true } ? true : false;
type Shown<O, More> =
  Asked<O, 'include_confidence'> extends true
    ? { text: string; confidence: number } & More
    : Asked<O, 'include_spans'> extends true
      ? { text: string } & More
      : string;

/** A part of the text: a string, or with its confidence and place if the options ask for them. */
export type ExtractedValue<O = InformationExtractionOptions> = Shown<
  O,
  Asked<O, 'include_spans'> extends true ? { start: number; end: number } : unknown
>;
/** A choice of a field: a string, or with its confidence. */
export type ExtractedChoice<O = InformationExtractionOptions> =
  Asked<O, 'include_confidence'> extends true ? { text: string; confidence: number } : string;
/** An instance of a structure: a value for each field, null for none, or a list. */
export type ExtractedStructure<O = InformationExtractionOptions> = Record<
  string,
  ExtractedValue<O> | ExtractedChoice<O> | null | (ExtractedValue<O> | ExtractedChoice<O>)[]
>;
/** A pair of a relation: head and tail, as an object if the options ask for confidences or places. */
export type ExtractedRelation<O = InformationExtractionOptions> =
  ExtractedValue<O> extends string ? [head: string, tail: string] : { head: ExtractedValue<O>; tail: ExtractedValue<O> };
/** A class of the text: its name, or with its confidence. */
export type ExtractedClass<O = InformationExtractionOptions> =
  Asked<O, 'include_confidence'> extends true ? { label: string; confidence: number } : string;

type NamesOf<T> = T extends readonly (infer Name extends string)[] ? Name : keyof T & string;
type ClassesOf<S> = S extends { classifications: infer C extends readonly ExtractionClassification[] } ? C[number] : never;

/** What was found, in the form of gliner2: known by name if the schema's type is. */
export type Extracted<S = ExtractionSchema, O = InformationExtractionOptions> = ExtractionSchema extends S
  ? Record<string, any>
  : FoundBy<S, O>;

type FoundBy<S, O> = (S extends { structures: infer T } ? { [Name in keyof T & string]: ExtractedStructure<O>[] } : unknown) &
  (S extends { entities: infer T }
    ? {
        entities: {
          [Name in NamesOf<T>]: T extends Record<Name, { dtype: 'str' }> ? ExtractedValue<O> | null : ExtractedValue<O>[];
        };
      }
    : unknown) & {
    [C in ClassesOf<S> as C['task']]: C extends { multi_label: true } ? ExtractedClass<O>[] : ExtractedClass<O>;
  } & (S extends {
    relations: infer T;
  }
    ? { relation_extraction: { [Name in NamesOf<T>]: ExtractedRelation<O>[] } }
    : unknown);

/** Facts about the text. They are not enumerable, so that a log shows the result alone. */
interface ExtractionFacts {
  /** Number of windows in which the text was read: more than one if it exceeds the model's limit. */
  readonly windows: number;
  /** Whether a word was so long that only its beginning was read, or classes are those of the first window. */
  readonly truncated: boolean;
  /** The fraction of the text's tokens, from 0 to 1, that are not in the vocabulary. */
  readonly unknown: number;
}

/**
 * The result of `pipeline('information-extraction')`: structures, relations, entities and classes of texts, all in one pass, by a GLiNER2 model. Throws
 * an `InputError` for a schema that it cannot read, or that leaves no room for the text.
 *
 *     const extract = await pipeline('information-extraction', 'fastino/gliner2-base-v1');
 *     await extract('The red kettle costs 30 pounds.', { structures: { product: ['name::str', 'price::str'] } }); // { product: [{ name, price }] }
 */
export interface InformationExtractionPipeline extends LoadedPipeline {
  <const S extends ExtractionSchema, const O extends InformationExtractionOptions = object>(
    text: string,
    schema: S,
    options?: O,
  ): Promise<Extracted<S, O> & ExtractionFacts>;
  <const S extends ExtractionSchema, const O extends InformationExtractionOptions = object>(
    texts: readonly string[],
    schema: S,
    options?: O,
  ): Promise<(Extracted<S, O> & ExtractionFacts)[]>;
  /** The task's name. */
  readonly task: 'information-extraction';
}
