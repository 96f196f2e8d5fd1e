// Constraints of the texts of one generation: which tokens may come next, and which must.
import { InputError, seamError } from '../core/errors.js';
import type { TaskEngine } from '../engine/task.js';
import { constraintsInstance, type ConstraintsSeam } from '../host/constraints_seam.js';
import type { SeamGenerateOptions, SeamModel } from '../host/seam.js';
import type { Instance } from '../host/wasm_loader.js';
import type { PlainFormat, PlainFormats } from './response_format.js';
import type { Part } from './calls/types.js';
import { propertiesIn } from './properties.js';
import { tokenBytes, type TokenBytes } from './token_bytes.js';

const kMostForced = 48; // bytes that are encoded at once
const kMostConstraints = 16; // that no generation uses
const kSpaces = 1;
const kLeadingSpace = 2;
const kInOrder = 4;
const kParts = 4; // ConstraintKind in C++

const isParts = (part: Part): part is readonly Part[] => Array.isArray(part);

/** A compiled format, and how many generations use it. */
interface Compiled {
  readonly constraint: number;
  users: number;
}

/** The constraints of one engine's tokenizer, with the states and masks that were reached. */
class Constraints {
  readonly seam: ConstraintsSeam;
  private readonly memory: WebAssembly.Memory;
  private readonly defined = new Set<string>();
  private readonly kept = new Map<string, Compiled>(); // those used last come last

  constructor(
    instance: Instance<ConstraintsSeam>,
    readonly tokens: number,
    readonly special: ReadonlySet<number>,
    private readonly bytes: Uint8Array,
    private readonly begins: Uint32Array, // [tokens + 1]
    readonly marks: TokenBytes['marks'],
    readonly coded: readonly number[],
  ) {
    this.seam = instance.seam;
    this.memory = instance.memory;
  }

  write(bytes: Uint8Array): number {
    const at = this.seam.room(bytes.length) >>> 0;
    new Uint8Array(this.memory.buffer).set(bytes, at);
    return bytes.length;
  }
  answer(): Uint8Array {
    const at = this.seam.answer() >>> 0;
    return new Uint8Array(this.memory.buffer).slice(at, at + this.seam.answer_bytes());
  }
  /** The text of tokens in the middle of a text. */
  text(tokens: Int32Array): string {
    const parts = Array.from(
      tokens.filter((token) => !this.marks.has(token)),
      (token) => this.bytes.subarray(this.begins[token], this.begins[token + 1]),
    );
    const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(all);
  }
  /** A copy of the mask of a state. */
  mask(constraint: number, state: number): Int32Array {
    const at = this.seam.mask(constraint, state) >>> 0;
    return new Int32Array(this.memory.buffer, at, Math.ceil(this.tokens / 32)).slice();
  }
  /** A format for a generation, which gives it back. */
  take({ kind, text, after, spaces, inOrder }: PlainFormat, leadingSpace: boolean): Compiled {
    const flags = (spaces ? kSpaces : 0) | (leadingSpace ? kLeadingSpace : 0) | (inOrder ? kInOrder : 0);
    const key = `${kind} ${flags} ${after.length} ${after}${text}`;
    let found = this.kept.get(key);
    if (!found) {
      const encoder = new TextEncoder();
      this.define(text);
      const [own, mark] = [encoder.encode(kind === kParts ? this.withMarks(text) : text), encoder.encode(after)];
      this.write(new Uint8Array([...own, ...mark]));
      const constraint = this.seam.compile(kind, own.length, mark.length, flags);
      if (constraint < 0) throw seamError(-1 - constraint, `response_format: ${new TextDecoder().decode(this.answer())}`);
      found = { constraint, users: 0 };
    }
    ++found.users;
    this.kept.delete(key);
    this.kept.set(key, found);
    return found;
  }
  /** Says what the properties of Unicode in a text match, once. */
  private define(text: string): void {
    for (const [name, ranges] of propertiesIn(text)) {
      if (this.defined.has(name)) continue;
      this.defined.add(name);
      const bytes = new TextEncoder().encode(name);
      this.write(new Uint8Array([...new Uint8Array(Int32Array.from(ranges).buffer), ...bytes]));
      this.seam.define_property(ranges.length, bytes.length);
    }
  }
  /** Parts with their marks as they are in the grammar: characters of tokens, or texts. */
  private withMarks(parts: string): string {
    const codes = new Map([...this.marks.values()].map(({ text, code }) => [text, code]));
    const resolved = (part: Part): Part => {
      if (typeof part === 'string') return part;
      if (isParts(part)) return part.map(resolved);
      if ('mark' in part) return codes.get(part.mark) ?? part.mark;
      if ('any' in part) return { any: part.any.map(resolved) };
      return 'many' in part ? { many: resolved(part.many) } : part;
    };
    return JSON.stringify(resolved(JSON.parse(parts)));
  }
  giveBack(compiled: Compiled): void {
    --compiled.users;
    for (const [key, { constraint, users }] of this.kept) {
      if (this.kept.size <= kMostConstraints) return;
      if (users > 0) continue;
      this.kept.delete(key);
      this.seam.release(constraint);
    }
  }
}

const kept = new WeakMap<TaskEngine, Promise<Constraints>>();

async function open(engine: TaskEngine, module: WebAssembly.Module): Promise<Constraints> {
  const instance = await constraintsInstance(module);
  const count = engine.call((handle) => handle.info()).vocab_size;
  const { lengths, bytes, special, marks, coded } = tokenBytes(engine, count);
  const begins = new Uint32Array(count + 1);
  for (let id = 0; id < count; ++id) begins[id + 1] = (begins[id] as number) + (lengths[id] as number);
  const out = new Constraints(instance, count, new Set(special), bytes.slice(), begins, marks, coded);
  const room = new Uint8Array(4 * count + bytes.length);
  room.set(new Uint8Array(lengths.buffer));
  room.set(bytes, 4 * count);
  out.write(room);
  instance.seam.set_vocabulary(count, bytes.length);
  return out;
}

interface Row {
  state: number;
  /** The end of what came before the mark; undefined after it. */
  before: string | undefined;
}

interface Guided {
  compiled: Compiled;
  mark: string;
  /** Whether the text may end before the mark. */
  mayEnd: boolean;
  /** Whether it has marks that are tokens. */
  hasMarks: boolean;
  rows: Row[];
}

/** The constraints of the prompts of one run: follows each text, and tells the engine before a step which tokens may come. */
export class Guide {
  private readonly guided: (Guided | undefined)[] = [];
  private hasBegun = false;

  private constructor(
    private readonly engine: TaskEngine,
    private readonly all: Constraints,
    formats: readonly (PlainFormat | null)[],
    private readonly ends: readonly number[],
    private readonly width: number,
    leadingSpace: boolean,
  ) {
    try {
      for (const format of formats) this.guided.push(format ? this.begin(format, leadingSpace) : undefined);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  private begin(format: PlainFormat, leadingSpace: boolean): Guided {
    const compiled = this.all.take(format, leadingSpace);
    const rows = [{ state: this.all.seam.start(compiled.constraint), before: format.after ? '' : undefined }];
    return { compiled, mark: format.after, mayEnd: format.mayEnd, hasMarks: format.kind === kParts, rows };
  }

  /** Gives the formats back, once all results are read. */
  end(): void {
    for (const own of this.guided.splice(0)) if (own) this.all.giveBack(own.compiled);
  }

  /** leadingSpace: the decoder removes a space before the first token, as in an encoder-decoder. */
  static async make(
    engine: TaskEngine,
    { list, module }: PlainFormats,
    options: SeamGenerateOptions,
    leadingSpace: boolean,
  ): Promise<Guide> {
    const key = engine.whole ?? engine;
    let opened = kept.get(key);
    if (!opened) kept.set(key, (opened = open(engine, module)));
    opened.catch(() => kept.delete(key));
    const { eos_token_id: ends = [], num_beams = 1, num_return_sequences = 1 } = options;
    if (ends.length === 0)
      throw new InputError("generate: option 'response_format': expected a model with an end token, or the option eos_token_id");
    return new Guide(engine, await opened, list, ends, Math.max(num_beams, num_return_sequences), leadingSpace);
  }

  /** Those of some prompts. The whole is what ends. */
  part(begin: number, end: number): Guide {
    const out = Object.create(Guide.prototype) as Guide;
    return Object.assign(out, this, { guided: this.guided.slice(begin, end), hasBegun: false });
  }

  /** Says what may come next. chosen: see GenerateAnswer.new_tokens. */
  look(chosen: readonly Int32Array[]): void {
    this.guided.forEach((own, prompt) => {
      if (!own) return;
      const tokens = chosen[prompt] as Int32Array;
      if (this.hasBegun) {
        if (tokens.length === 0) return; // it has ended
        if (this.width > 1) {
          const rows: Row[] = [];
          for (let i = 0; i < tokens.length; i += 2)
            rows.push(this.after(own, own.rows[tokens[i] as number] as Row, tokens[i + 1] as number));
          own.rows = rows;
        } else {
          for (const token of tokens) own.rows[0] = this.after(own, own.rows[0] as Row, token);
          if (this.ends.includes(tokens.at(-1) as number)) return;
        }
      }
      own.rows.forEach((row, i) => this.say(own, prompt, i, row));
    });
    this.hasBegun = true;
  }

  /** What tokens are: their text, that after the mark, and whether it is whole. Undefined for a prompt without a constraint. */
  read(prompt: number, tokens: Int32Array): { text: string; answer: string; isWhole: boolean } | undefined {
    const own = this.guided[prompt];
    if (!own) return undefined;
    let row: Row = { state: this.all.seam.start(own.compiled.constraint), before: own.mark ? '' : undefined };
    const end = tokens.findIndex((token) => this.ends.includes(token));
    const written = end < 0 ? tokens : tokens.subarray(0, end);
    let begin = 0; // after the mark
    written.forEach((token, i) => {
      if (row.before !== undefined) begin = i + 1;
      row = this.after(own, row, token);
    });
    const text = this.all.text(written);
    const behind = this.all.text(written.subarray(begin));
    // The last token before it may have the beginning of the answer.
    const mark = text.indexOf(own.mark);
    const answer = own.mark === '' || mark < 0 ? behind : text.slice(mark + own.mark.length);
    if (own.mayEnd && row.before !== undefined) return { text, answer: '', isWhole: true };
    return { text, answer, isWhole: row.state !== 0 && this.all.seam.may_end(own.compiled.constraint, row.state) === 1 };
  }

  private after({ compiled: { constraint }, mark }: Guided, { state, before }: Row, token: number): Row {
    const { seam } = this.all;
    if (state === 0) return { state, before };
    if (before === undefined) return { state: seam.after(constraint, state, token), before };
    const text = this.engine.call((handle) => handle.decode([token], false, false)).text;
    const isSpecial = this.all.special.has(token);
    const next = isSpecial
      ? seam.after_bytes(constraint, state, this.all.write(new TextEncoder().encode(text)))
      : seam.after(constraint, state, token);
    const seen = before + text;
    return { state: next, before: seen.includes(mark) ? undefined : seen.slice(-mark.length) };
  }

  private say(own: Guided, prompt: number, row: number, { state, before }: Row): void {
    const { constraint } = own.compiled;
    const tell = (mask: Int32Array, forced: readonly number[]) =>
      this.engine.call((handle: SeamModel) => handle.constrain(mask, forced, prompt * this.width + row)).taken;
    // A beam that only fills up their number: its score is too low to count.
    if (state === 0) return void tell(new Int32Array(Math.ceil(this.all.tokens / 32)).fill(-1), []);
    const forced = this.width > 1 || before !== undefined ? [] : this.forced(constraint, state);
    let next = state;
    for (const token of forced) next = this.all.seam.after(constraint, next, token);
    const taken = tell(this.mask(own, next, before), forced);
    if (taken === forced.length) return;
    next = state;
    for (const token of forced.slice(0, taken)) next = this.all.seam.after(constraint, next, token);
    tell(this.mask(own, next, before), []);
  }

  private mask({ compiled, mayEnd, hasMarks }: Guided, state: number, before: string | undefined): Int32Array {
    const { constraint } = compiled;
    const mask = this.all.mask(constraint, state);
    const set = (token: number) => (mask[token >> 5]! |= 1 << (token & 31));
    for (const token of hasMarks ? this.all.coded : this.all.marks.keys()) mask[token >> 5]! &= ~(1 << (token & 31));
    if (before !== undefined) for (const token of this.all.special) if (!this.ends.includes(token)) set(token);
    if (this.all.seam.may_end(constraint, state) || (mayEnd && before !== undefined)) this.ends.forEach(set);
    if (mask.every((word) => word === 0)) {
      throw new InputError("generate: option 'response_format': no token of this model's vocabulary can follow here");
    }
    return mask;
  }

  /** The tokens of the bytes that must follow, up to where the model has a choice. */
  private forced(constraint: number, state: number): number[] {
    if (this.all.seam.forced(constraint, state, kMostForced) < 2) return [];
    // eslint-disable-next-line no-control-regex
    const text = new TextDecoder().decode(this.all.answer()).replace(/\ufffd+$|[\u0001-\u0008\u000b\u000c\u000e-\u001f][^]*$/, '');
    if (text === '') return [];
    const { ids } = this.engine.call((handle) =>
      handle.encode([text], undefined, { add_special_tokens: false, split_special_tokens: true }),
    );
    const fitting = (own: Int32Array) => {
      this.all.write(new Uint8Array(own.slice().buffer));
      return Array.from(own.subarray(0, this.all.seam.fitting(constraint, state, own.length)));
    };
    // SentencePiece begins a text with a space, which may be a token of its own.
    const all = fitting(ids);
    return all.length > 0 ? all : fitting(ids.subarray(1));
  }
}
