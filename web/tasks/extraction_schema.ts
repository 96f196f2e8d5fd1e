// What information-extraction asks for: the caller's schema as the parts of a model's prompt (the package gliner2, 2.1.0: inference/schema.py, processor.py).
import { describe, InputError } from '../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import type { SeamSpansRequest } from '../host/wire.js';
import type { ExtractionClassification, ExtractionField } from './extraction_types.js';

const where = 'information-extraction';
const kParts = ['entities', 'structures', 'relations', 'classifications'] as const;
/** Members of every result. */
const kTaken = ['entities', 'relation_extraction', 'windows', 'truncated', 'unknown'];
const kKinds: Rules = { description: 'string', threshold: '[0,1]' };
const kEntityRules: Rules = { ...kKinds, dtype: ['str', 'list'] };
const kFieldRules: Rules = { ...kEntityRules, name: 'string', choices: 'any' };
const kClassRules: Rules = {
  task: 'string',
  labels: 'any',
  multi_label: 'boolean',
  cls_threshold: '[0,1]',
  top_k: 'count',
  class_act: ['auto', 'sigmoid', 'softmax'],
  prompt: 'string',
  examples: 'any',
};

/** Values that are found under one label. choices: with the index of each one's word; null: values are spans. */
export interface Field {
  name: string;
  many: boolean;
  /** null: that of the call. */
  threshold: number | null;
  choices: [choice: string, word: number][] | null;
}

/** How classes are chosen from their logits. */
export type ClassRules = Required<Pick<ExtractionClassification, 'multi_label' | 'cls_threshold' | 'top_k' | 'class_act'>>;

/** A part of the prompt. text: its name there. */
export type Part = { name: string; text: string } & (
  | { kind: 'structure' | 'entities' | 'relation'; fields: Field[] }
  | {
      kind: 'classes';
      fields: { name: string }[];
      rules: ClassRules;
    }
);

/** Plain data, as it may be sent to workers. words: those before the text, which are choices and what stands around them. */
export interface Plan {
  parts: Part[];
  words: string[];
}

const wrong = (what: string, expected: string, found: unknown) =>
  new InputError(`${where}: schema: ${what}: expected ${expected}, found ${describe(found)}`);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function checkNames(what: string, names: readonly unknown[], taken: readonly string[] = []): void {
  if (names.length === 0) throw wrong(what, 'at least one name', 'none');
  names.forEach((name, i) => {
    if (typeof name !== 'string' || name.trim() === '') throw wrong(what, 'names that are not empty', name);
    if (names.indexOf(name) < i) throw wrong(what, 'different names', `${name} twice`);
    if (taken.includes(name)) throw wrong(what, `other names than ${taken.join(', ')}`, name);
  });
}

/** Names with what is said of each: a list of names, or an object with descriptions or settings. */
function readKinds(what: string, given: unknown, rules: Rules): [name: string, settings: Partial<ExtractionField>][] {
  const own = Array.isArray(given) ? readTexts(`${where}: schema: ${what}`, given) : ownCopy(given);
  if (!Array.isArray(own) && !isObject(own)) throw wrong(what, 'a list of names or an object', given);
  const all = Array.isArray(own)
    ? own.map((name): [string, object] => [name, ownCopy({})])
    : Object.entries(own).map(([name, value]): [string, object] => [
        name,
        typeof value === 'string'
          ? ownCopy({ description: value })
          : readOptions(`${where}: schema: ${what}: ${name}`, value as object, rules),
      ]);
  checkNames(
    what,
    all.map(([name]) => name),
  );
  return all;
}

/** A field as gliner2 writes it: 'name::str::[a|b]::description', in any order after the name. */
function parseField(spec: string): Partial<ExtractionField> {
  const [name, ...rest] = spec.split('::') as [string, ...string[]];
  const field: Partial<ExtractionField> = ownCopy({ name });
  for (const part of rest) {
    if (part === 'str' || part === 'list') {
      field.dtype = part;
    } else if (part.startsWith('[') && part.endsWith(']')) {
      field.choices = part
        .slice(1, -1)
        .split('|')
        .map((choice) => choice.trim());
    } else {
      field.description = part;
    }
  }
  return ownCopy({ dtype: field.choices ? 'str' : 'list', ...field });
}

function readField(what: string, spec: unknown): Partial<ExtractionField> {
  if (typeof spec === 'string') return parseField(spec);
  if (!isObject(spec)) throw wrong(what, "fields as 'name' or { name }", spec);
  const { choices, ...field } = readOptions(`${where}: schema: ${what}`, spec, kFieldRules) as Partial<ExtractionField>;
  if (choices === undefined || choices === null) return ownCopy(field);
  return ownCopy({
    ...field,
    choices: typeof choices === 'string' ? [choices] : readTexts(`${where}: schema: ${what}: choices`, choices),
  });
}

function fieldOf(settings: Partial<ExtractionField>): Field {
  const { name, dtype, threshold, choices } = ownCopy(settings);
  const placed = choices?.map((choice): [string, number] => [choice, -1]);
  return { name: name as string, many: dtype !== 'str', threshold: threshold ?? null, choices: placed ?? null };
}

const described = (descriptions: readonly (readonly [name: string, description: string])[]) =>
  descriptions.map(([name, description]) => ` [DESCRIPTION] ${name}: ${description}`).join('');

/** A structure, whose choices are added to the words before the text. */
function readStructure(name: string, given: unknown, words: string[]): Part {
  const what = `structures: ${name}`;
  const own = isObject(given)
    ? (readOptions(`${where}: schema: ${what}`, given, { fields: 'any' }) as { fields?: unknown }).fields
    : given;
  if (!Array.isArray(own)) throw wrong(what, 'a list of fields', given);
  const fields = own.map((spec) => readField(what, spec));
  checkNames(
    what,
    fields.map((field) => field.name),
  );
  const inner: string[] = [];
  for (const { name: field, choices } of fields) {
    if (!choices) continue;
    if (choices.length === 0 || choices.includes('')) throw wrong(`${what}: ${field}`, 'choices that are not empty', choices);
    if (inner.length > 0) inner.push(',');
    inner.push(field as string, '(', ...choices.flatMap((choice, i) => (i > 0 ? ['|', choice] : [choice])), ')');
  }
  if (inner.length > 0) words.push('(', `${name}:`, ...inner, ')');
  const descriptions = fields.flatMap(({ name, description }) => (description ? [[name as string, description] as const] : []));
  return {
    kind: 'structure',
    name,
    text: name + described(descriptions),
    fields: fields.map(fieldOf),
  };
}

function readClasses(given: unknown): Part {
  const own = readOptions(`${where}: schema: classifications`, given as object, kClassRules) as Partial<ExtractionClassification>;
  const { task, labels, prompt, multi_label, cls_threshold, top_k, class_act } = own;
  const examples = own.examples ?? [];
  checkNames('classifications: task', [task], kTaken);
  const what = `classifications: ${task}`;
  const kinds = readKinds(`${what}: labels`, labels, {});
  const names = kinds.map(([name]) => name);
  const isExample = (each: unknown) => Array.isArray(each) && each.length === 2 && each.every((part) => typeof part === 'string');
  if (!Array.isArray(examples) || !examples.every(isExample)) throw wrong(`${what}: examples`, 'a list of [text, label]', examples);
  const shown = examples
    .filter(([, label]) => names.includes(label))
    .map(([text, label]) => ` [EXAMPLE] ${text} [OUTPUT] ${label}`);
  const descriptions = kinds.flatMap(([name, { description }]) =>
    description === undefined ? [] : [[name, description] as const],
  );
  return {
    kind: 'classes',
    name: task as string,
    text: task + (prompt ? `: ${prompt}` : '') + described(descriptions) + shown.join(''),
    fields: names.map((name) => ({ name })),
    rules: {
      multi_label: multi_label ?? false,
      cls_threshold: cls_threshold ?? 0.5,
      top_k: top_k ?? Infinity,
      class_act: class_act ?? 'auto',
    },
  };
}

/** Where each choice is among the words before the text: as in Python at the first word that is the same, whatever field it is of. */
function placeChoices({ parts, words }: Plan): void {
  const lower = words.map((word) => word.toLowerCase());
  for (const part of parts) {
    if (part.kind === 'classes') continue;
    for (const choice of part.fields.flatMap((field) => field.choices ?? [])) choice[1] = lower.indexOf(choice[0].toLowerCase());
  }
}

/** The parts in the order of the package's prompt. */
export function readSchema(given: unknown): Plan {
  if (!isObject(given)) throw new InputError(`${where}: schema: expected an object, found ${describe(given)}`);
  const own = readOptions(`${where}: schema`, given, kParts) as Record<(typeof kParts)[number], unknown>;
  const { entities, structures, relations, classifications } = own;
  const plan: Plan = { parts: [], words: [] };
  if (structures !== undefined && structures !== null) {
    if (!isObject(structures)) throw wrong('structures', 'an object', structures);
    const all = Object.entries(ownCopy(structures));
    checkNames(
      'structures',
      all.map(([name]) => name),
      kTaken,
    );
    for (const [name, fields] of all) plan.parts.push(readStructure(name, fields, plan.words));
  }
  if (entities !== undefined && entities !== null) {
    const kinds = readKinds('entities', entities, kEntityRules);
    const descriptions = kinds.flatMap(([name, { description }]) =>
      typeof description === 'string' ? [[name, description] as const] : [],
    );
    const fields = kinds.map(([name, settings]) => fieldOf({ ...settings, name }));
    plan.parts.push({ kind: 'entities', name: 'entities', text: `entities${described(descriptions)}`, fields });
  }
  if (relations !== undefined && relations !== null) {
    for (const [name, { description, threshold }] of readKinds('relations', relations, kKinds)) {
      const fields = ['head', 'tail'].map((end) => fieldOf({ name: end, dtype: 'str', ...(threshold != null && { threshold }) }));
      plan.parts.push({ kind: 'relation', name, text: description ? `${name}: ${description}` : name, fields });
    }
  }
  if (classifications !== undefined && classifications !== null) {
    if (!Array.isArray(classifications) || classifications.length === 0)
      throw wrong('classifications', 'a list of tasks', classifications);
    plan.parts.push(...classifications.map(readClasses));
  }
  if (plan.parts.length === 0) throw new InputError(`${where}: schema: expected at least one of ${kParts.join(', ')}, found none`);
  const named = plan.parts.filter(({ kind }) => kind === 'structure' || kind === 'classes');
  if (named.length > 0)
    checkNames(
      'structures and classifications',
      named.map(({ name }) => name),
    );
  placeChoices(plan);
  return plan;
}

/** The labels of all parts, and the options that divide them. */
export function requestOf({ parts, words }: Plan, threshold: number): [labels: string[], SeamSpansRequest] {
  const labels = parts.flatMap(({ fields }) => fields.map(({ name }) => name));
  const least = parts.flatMap((part) => (part.kind === 'classes' ? [] : part.fields.map((field) => field.threshold ?? threshold)));
  return [
    labels,
    {
      threshold: Math.min(threshold, ...least),
      kinds: parts.map(({ kind }) => kind),
      names: parts.map(({ text }) => text),
      sizes: parts.map(({ fields }) => fields.length),
      choices: words,
    },
  ];
}
