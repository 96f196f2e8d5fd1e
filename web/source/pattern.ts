// Regular expressions out of files of strangers: Python's `re`, as far as patterns of module names need it. JavaScript's own engine may backtrack without
// end. This one follows all ways through a pattern at once (Thompson 1968, Pike's priorities; https://swtch.com/~rsc/regexp/regexp2.html). So a match
// takes at most (length of the program) times (length of the text) steps. What it does not know is an UnsupportedError that names the pattern.
import { UnsupportedError } from '../core/errors.js';
import { parsePattern, type Assertion, type PatternNode } from './pattern_syntax.js';

type Op =
  | { op: 'set'; has: (character: string) => boolean }
  | { op: 'split'; first: number; second: number }
  | { op: 'save'; end: boolean }
  | { op: 'at'; assertion: Assertion }
  | { op: 'look'; program: Program; negated: boolean }
  | { op: 'match' };

/** A way through the program: the next op, and where the first group began and ended. */
interface Thread {
  at: number;
  begin: number;
  end: number;
}

interface Program {
  ops: readonly Op[];
  /** When each op was last followed; see `walk`. */
  seen: Float64Array;
  /** Whether it reads the text from its end. */
  back: boolean;
}

const kMostOps = 10_000;

/** What is shared by the patterns of a file. */
export class PatternLimit {
  /** Steps that are left: seconds. A LoRA of every layer of a large model, each with a rank of its own, takes a quarter of them. */
  left = 5e7;
  private stamp = 0;
  private last: [text: string, characters: readonly string[]] = ['', []];

  nextStamp(): number {
    return ++this.stamp;
  }

  charactersOf(text: string): readonly string[] {
    if (this.last[0] !== text) this.last = [text, Array.from(text)];
    return this.last[1];
  }
}

type Split = Op & { op: 'split' };

/** Makes the program of a node. back: it reads the text from its end, as that of a lookahead does. */
class Compiler {
  private readonly ops: Op[] = [];
  private calls = 0;

  constructor(
    private readonly back: boolean,
    private readonly tooLong: () => never,
  ) {}

  program(node: PatternNode): Program {
    this.add(node);
    this.ops.push({ op: 'match' });
    return { ops: this.ops, seen: new Float64Array(this.ops.length), back: this.back };
  }

  private add(node: PatternNode): void {
    if (++this.calls > kMostOps) this.tooLong(); // and not the ops: empty groups have none, however often they are repeated
    if (node.kind === 'set') this.ops.push({ op: 'set', has: node.has });
    else if (node.kind === 'at') this.ops.push({ op: 'at', assertion: node.assertion });
    else if (node.kind === 'look') this.addLook(node);
    else if (node.kind === 'all') for (const part of this.back ? [...node.nodes].reverse() : node.nodes) this.add(part);
    else if (node.kind === 'any') this.addAny(node.nodes);
    else if (node.kind === 'repeat') this.addRepeat(node);
    else this.addGroup(node);
  }

  /** An op that goes on with the next one, and with another place, which is set later. */
  private split(): Split {
    const op: Split = { op: 'split', first: this.ops.length + 1, second: 0 };
    this.ops.push(op);
    return op;
  }

  private addLook({ part, behind, negated }: PatternNode & { kind: 'look' }): void {
    this.ops.push({ op: 'look', program: new Compiler(!behind, this.tooLong).program(part), negated });
  }

  private addAny(nodes: readonly PatternNode[]): void {
    const ends = nodes.map((part, i) => {
      const other = i + 1 < nodes.length ? this.split() : undefined;
      this.add(part);
      const end = this.split();
      if (other) other.second = this.ops.length;
      return end;
    });
    for (const end of ends) end.first = end.second = this.ops.length;
  }

  private addRepeat({ part, least, most, lazy }: PatternNode & { kind: 'repeat' }): void {
    for (let i = 0; i < least; ++i) this.add(part);
    const begin = this.ops.length;
    const splits = Array.from({ length: most === Infinity ? 1 : most - least }, () => {
      const split = this.split();
      this.add(part);
      return split;
    });
    if (most === Infinity) this.ops.push({ op: 'split', first: begin, second: begin });
    for (const split of splits) {
      split.second = this.ops.length;
      if (lazy) [split.first, split.second] = [split.second, split.first];
    }
  }

  private addGroup({ part, isFirst }: PatternNode & { kind: 'group' }): void {
    if (isFirst) this.ops.push({ op: 'save', end: false });
    this.add(part);
    if (isFirst) this.ops.push({ op: 'save', end: true });
  }
}

/** A compiled pattern. where: for errors, such as the field that has it. */
export class Pattern {
  private readonly forth: Program;
  private readonly back: Program;

  constructor(
    private readonly source: string,
    private readonly where: string,
    private readonly limit = new PatternLimit(),
  ) {
    const tooLong = () => this.refuse(`a regular expression of at most ${kMostOps} parts`);
    if (source.length > kMostOps) tooLong();
    const node = parsePattern(source, (expected) => this.refuse(expected));
    [this.forth, this.back] = [new Compiler(false, tooLong).program(node), new Compiler(true, tooLong).program(node)];
  }

  private refuse(expected: string): never {
    const shown = this.source.length <= 200 ? this.source : `${this.source.slice(0, 200)}..`;
    throw new UnsupportedError(`${this.where}: expected ${expected}, found '${shown}'`);
  }

  /** Python's `re.fullmatch(..) is not None`. Read from the end, where names of modules differ first. */
  isFullMatch(text: string): boolean {
    let isWhole = false;
    this.walk(this.back, this.limit.charactersOf(text), {}, (at) => (isWhole ||= at === 0));
    return isWhole;
  }

  /** Python's `re.match(..)`: the text of its first group, which is undefined if the group took no part. Undefined: no match. */
  match(text: string): { group: string | undefined } | undefined {
    const characters = this.limit.charactersOf(text);
    let best: Thread | undefined;
    this.walk(this.forth, characters, { first: true }, (_, thread) => (best = thread));
    return best && { group: best.end < 0 ? undefined : characters.slice(best.begin, best.end).join('') };
  }

  /** Where in a text a program, begun anywhere, ends. */
  private endsOf(program: Program, text: readonly string[]): Uint8Array {
    const ends = new Uint8Array(text.length + 1);
    this.walk(program, text, { everywhere: true }, (at) => (ends[at] = 1));
    return ends;
  }

  /**
   * Follows all ways at once, in the order in which backtracking would try them. found: told each match. first: only the one that backtracking finds, as
   * the last. everywhere: matches may begin anywhere.
   */
  private walk(
    { ops, seen, back }: Program,
    text: readonly string[],
    { first = false, everywhere = false },
    found: (at: number, thread: Thread) => void,
  ): void {
    const { limit } = this;
    const looks = new Map<Op, Uint8Array>();
    const holds = (op: Op & { op: 'look' }, at: number): boolean => {
      const ends = looks.get(op) ?? this.endsOf(op.program, text);
      looks.set(op, ends);
      return (ends[at] === 1) !== op.negated;
    };
    const open: Thread[] = [];
    /** Appends the threads that are at a character, or at the end, without reading one. stamp: of the place; no op is followed twice there. */
    const follow = (threads: Thread[], from: Thread, at: number, stamp: number): void => {
      open.push(from);
      for (let thread; (thread = open.pop());) {
        if (--limit.left < 0) this.refuse('regular expressions that take less time');
        if (seen[thread.at] === stamp) continue;
        seen[thread.at] = stamp;
        const { begin, end } = thread;
        const op = ops[thread.at] as Op;
        const next = thread.at + 1;
        if (op.op === 'set' || op.op === 'match') threads.push(thread);
        else if (op.op === 'split') open.push({ at: op.second, begin, end }, { at: op.first, begin, end });
        else if (op.op === 'save') open.push(op.end ? { at: next, begin, end: at } : { at: next, begin: at, end: -1 });
        else if (op.op === 'at' ? op.assertion(text, at) : holds(op, at)) open.push({ at: next, begin, end });
      }
    };
    let threads: Thread[] = [];
    let stamp = limit.nextStamp();
    for (let i = 0; i <= text.length; ++i) {
      const at = back ? text.length - i : i;
      if (i === 0 || everywhere) follow(threads, { at: 0, begin: -1, end: -1 }, at, stamp);
      const next: Thread[] = [];
      const [read, then] = back ? [text[at - 1], at - 1] : [text[at], at + 1];
      stamp = limit.nextStamp();
      for (const thread of threads) {
        const op = ops[thread.at] as Op;
        if (op.op === 'match') {
          found(at, thread);
          if (first) break; // those that follow are tried later
        } else if (op.op === 'set' && read !== undefined && op.has(read)) {
          follow(next, { at: thread.at + 1, begin: thread.begin, end: thread.end }, then, stamp);
        }
      }
      threads = next;
      if (threads.length === 0 && !everywhere) break;
    }
  }
}
