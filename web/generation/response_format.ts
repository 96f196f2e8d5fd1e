// What `response_format` may be: checked on the caller's side, and sent beside the engine as plain data.
import { describe, InputError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { compileConstraints } from '../host/constraints_host.js';

/** JSON that satisfies a schema: the schema itself, or OpenAI's object around it. */
export interface JsonSchemaFormat extends FormatOptions {
  /** JSON that satisfies a schema. */
  type: 'json_schema';
  /** The schema, or `{ name, schema, strict }`. */
  json_schema: object | boolean;
  /** `'schema'`: keys must appear in the schema's order, so more of the text is forced. Default `'any'`. */
  key_order?: 'any' | 'schema';
  /** Allows whitespace between the tokens of JSON: a space, or a line break and up to 32 spaces. Default `false`: the shortest form. */
  spaces?: boolean;
}
/** Any JSON object. */
export interface JsonObjectFormat extends FormatOptions {
  /** Any JSON object. */
  type: 'json_object';
  /** The same as for `'json_schema'`. */
  spaces?: boolean;
}
/** A text that matches a JavaScript regular expression as a whole. */
export interface RegexFormat extends FormatOptions {
  /** A text that matches a regular expression. */
  type: 'regex';
  /** A pattern without flags other than `u` and `v`. */
  regex: string | RegExp;
}
/** A text that follows a grammar in llama.cpp's GBNF. */
export interface GrammarFormat extends FormatOptions {
  /** A text that follows a grammar. */
  type: 'grammar';
  /** The rules; `root` describes the whole text. */
  grammar: string;
}
/** One of several texts. */
export interface ChoiceFormat extends FormatOptions {
  /** One of several texts. */
  type: 'choice';
  /** The texts to choose from; at least one. */
  choice: readonly string[];
}
/** Any text: no constraint. */
export interface TextFormat {
  /** Accepts any text. */
  type: 'text';
}
/** Options of every format with a constraint. */
export interface FormatOptions {
  /** A marker after which the constrained text begins, such as `'</think>'`. The text before it is free. */
  after?: string;
}

/** A constraint on generated text. */
export type ResponseFormat = JsonSchemaFormat | JsonObjectFormat | RegexFormat | GrammarFormat | ChoiceFormat | TextFormat;

/** A format as it is sent beside the engine. */
export interface PlainFormat {
  kind: 0 | 1 | 2 | 3 | 4; // ConstraintKind in C++
  text: string;
  after: string;
  spaces: boolean;
  inOrder: boolean;
  isJson: boolean;
  /** The text may end before the mark. */
  mayEnd: boolean;
}

/** The formats of one call: of all its prompts, or one for each. */
export interface PlainFormats {
  list: (PlainFormat | null)[];
  module: WebAssembly.Module;
}

const kRules: Record<string, Rules> = {
  json_schema: { json_schema: 'any', spaces: 'boolean', key_order: ['any', 'schema'] },
  json_object: { spaces: 'boolean' },
  regex: { regex: 'any' },
  grammar: { grammar: 'string' },
  choice: { choice: 'any' },
  text: {},
};

function schemaOf(where: string, given: unknown): unknown {
  if (typeof given === 'boolean') return given;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new InputError(`${where}: 'json_schema': expected a schema, found ${describe(given)}`);
  }
  // OpenAI's object has a name and a schema; a schema has no keyword 'schema'.
  return 'schema' in given ? given.schema : given;
}

/** Which is undefined for a text without a constraint. */
export function readFormat(where: string, given: unknown): PlainFormat | undefined {
  const type = (given as { type?: unknown } | null)?.type;
  const rules = typeof type === 'string' && Object.hasOwn(kRules, type) ? kRules[type] : undefined;
  if (!rules) {
    const names = Object.keys(kRules).map((name) => `'${name}'`);
    throw new InputError(`${where}: expected an object with type ${names.join(', ')}, found ${describe(type ?? given)}`);
  }
  const own = readOptions(where, given, { type: 'string', after: 'string', ...rules }) as unknown as Record<string, unknown>;
  const out = {
    text: '',
    after: (own.after as string) ?? '',
    spaces: own.spaces === true,
    inOrder: own.key_order === 'schema',
    isJson: false,
    mayEnd: false,
  };
  switch (type) {
    case 'json_schema':
      return { ...out, kind: 0, text: JSON.stringify(schemaOf(where, own.json_schema)), isJson: true };
    case 'json_object':
      return { ...out, kind: 0, text: '{"type":"object"}', isJson: true };
    case 'regex': {
      const { regex } = own;
      const isRegExp = regex instanceof RegExp;
      if (!isRegExp && typeof regex !== 'string')
        throw new InputError(`${where}: 'regex': expected a text or a RegExp, found ${describe(regex)}`);
      if (isRegExp && /[^uvdg]/.test(regex.flags))
        throw new InputError(`${where}: 'regex': expected no flags but u and v, found '${regex.flags}'`);
      return { ...out, kind: 1, text: isRegExp ? regex.source : regex };
    }
    case 'grammar':
      if (typeof own.grammar !== 'string')
        throw new InputError(`${where}: 'grammar': expected a text, found ${describe(own.grammar)}`);
      return { ...out, kind: 2, text: own.grammar };
    case 'choice': {
      const { choice } = own;
      if (!Array.isArray(choice) || choice.length === 0 || choice.some((each) => typeof each !== 'string' || each === '')) {
        throw new InputError(`${where}: 'choice': expected a list of texts that are not empty, found ${describe(choice)}`);
      }
      return { ...out, kind: 3, text: JSON.stringify(choice) };
    }
    default:
      return undefined;
  }
}

/** The formats of so many prompts; undefined if none has a constraint. */
export async function readFormats(given: unknown, prompts: number): Promise<PlainFormats | undefined> {
  const where = "generate: option 'response_format'";
  const list = Array.isArray(given) ? given : undefined;
  if (list && list.length !== prompts)
    throw new InputError(`${where}: expected one for each of ${prompts} prompts, found ${list.length}`);
  const one = list ? undefined : readFormat(where, given);
  const formats = list
    ? list.map((each) => (each === null || each === undefined ? null : (readFormat(where, each) ?? null)))
    : Array.from({ length: prompts }, () => one ?? null);
  return withModule(formats);
}

/** Formats with what runs them; undefined if there are none. */
export async function withModule(list: (PlainFormat | null)[]): Promise<PlainFormats | undefined> {
  return list.some((each) => each) ? { list, module: await compileConstraints() } : undefined;
}
