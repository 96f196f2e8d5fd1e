// What the formats of calls share.

/** A function that a model may call, as its format and its constraint need it. */
export interface Callable {
  name: string;
  /** A JSON Schema of an object. */
  parameters: Record<string, unknown>;
  /** Whether calls of it are always constrained (OpenAI's `strict`). */
  strict: boolean;
}

/** A call as far as it was written. */
export interface ReadCall {
  name: string;
  /** The arguments as JSON, as far as they were written. */
  text: string;
  /** The arguments; undefined: they go on. */
  value?: Record<string, unknown>;
  /** The name that the model gave to the call. */
  id?: string;
}

/** What begins with one of a format's marks. */
export interface Section {
  calls: ReadCall[];
  /** Behind the calls. Of an open section: where the last call without a value begins, else the end of the text. */
  end: number;
  /** `open`: the text ends before the section does. `wrong`: these are no calls, whatever follows. */
  state: 'whole' | 'open' | 'wrong';
}

/** A part of a constraint (src/constraints/parts.h), and marks that may be tokens of their own. */
export type Part =
  string | readonly Part[] | { any: readonly Part[] } | { many: Part } | { regex: string } | { json: unknown } | { mark: string };

/** How a family of models writes calls. */
export interface CallFormat {
  readonly name: string;
  /** Texts that calls begin with; the first one is what a constraint writes. `''`: a call may be the whole text. */
  readonly begins: readonly string[];
  /** All its marks, which may be special tokens. */
  readonly marks: readonly string[];
  /** Whether a model has the format. has: whether its template or its vocabulary has a text. given: whether the template is given a variable. */
  fits(has: (text: string) => boolean, given: (variable: string) => boolean): boolean;
  /** at: where one of `begins` is. */
  read(text: string, at: number, tools: readonly Callable[]): Section;
  /** What follows `begins[0]`. several: more than one call may come. has: as of `fits`. */
  parts(tools: readonly Callable[], several: boolean, has: (text: string) => boolean): Part;
}

export const mark = (text: string): Part => ({ mark: text });

/** One part, or more of it with a text between them. */
export const listOf = (each: Part, between: Part, several: boolean): Part =>
  several ? [each, { any: ['', { many: [between, each] }] }] : each;

/** Whether a text ends within a mark that begins at `at`. */
export const mayBecome = (text: string, at: number, whole: string): boolean =>
  text.length - at < whole.length && whole.startsWith(text.slice(at));

const kSpace = /[^\s]/g;
/** The index of the next character that is no white space. */
export function skipSpace(text: string, at: number): number {
  kSpace.lastIndex = at;
  return kSpace.exec(text)?.index ?? text.length;
}

/** Any character but those that marks are in a grammar (web/generation/token_bytes.ts), as an expression. */
export const kCharacter = '[^\\u0000-\\u0008\\u000b-\\u001f]';
