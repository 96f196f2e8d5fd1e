// An assistant's message as its parts: reasoning, text and calls, whole or while it is written.
import type { ToolCall } from '../../tokenizer/types.js';
import type { ChatDelta } from '../generation_types.js';
import type { ReasoningMarks } from './formats.js';
import { mayBecome, skipSpace, type Callable, type CallFormat, type ReadCall } from './types.js';

export interface MessageFormat {
  calls: CallFormat | undefined;
  reasoning: ReasoningMarks | undefined;
  tools: readonly Callable[];
  /** The prompt ends inside the reasoning. */
  isInside: boolean;
}

/** What a text says. */
interface Parts {
  reasoning: string;
  content: string;
  calls: PlacedCall[];
}

/** place: the same for a call whenever it is read. */
type PlacedCall = ReadCall & { place: string };

/** How much of a text is sure to be none of the marks, nor white space that a mark or the end would take away. */
function sureLength(text: string, marks: readonly string[], isEnd: boolean): number {
  if (isEnd) return text.length;
  const longest = Math.max(0, ...marks.map(({ length }) => length));
  let end = text.length;
  for (let i = Math.max(0, text.length - longest + 1); i < text.length; ++i) {
    if (!marks.some((each) => mayBecome(text, i, each))) continue;
    end = i;
    break;
  }
  return text.slice(0, end).trimEnd().length;
}

/** Two parts of a text that calls were between. */
const join = (before: string, more: string): string => (before !== '' && more !== '' ? `${before}\n${more}` : before + more);

/** Reads the calls of a text and what is around them. */
function readContent(text: string, { calls: format, tools }: MessageFormat, isEnd: boolean): Omit<Parts, 'reasoning'> {
  const calls: PlacedCall[] = [];
  if (!format) return { content: text.slice(0, sureLength(text, [], isEnd)), calls };
  const marks = format.begins.filter((each) => each !== '');
  const isBare = format.begins.includes('');
  const first = skipSpace(text, 0);
  let content = '';
  let from = 0; // what is not read
  let look = 0; // where the next mark may be
  for (;;) {
    const found = marks.map((each) => text.indexOf(each, look)).filter((i) => i >= 0);
    if (isBare && look === 0 && text[first] === '{') found.push(first);
    if (found.length === 0) break;
    const at = Math.min(...found);
    const { calls: own, end, state } = format.read(text, at, tools);
    if (state === 'wrong') {
      look = at + 1;
      continue;
    }
    const before = text.slice(from, at);
    const kept = isEnd ? own.filter(({ value }) => value) : own;
    calls.push(...kept.map((call, i) => ({ ...call, place: `${at} ${i}` })));
    if (state === 'open') {
      // What is no call, as it ends too soon, is text.
      if (isEnd && kept.length === 0) return { content: join(content, text.slice(from)), calls };
      const said = join(content, before.trimEnd());
      return { content: isEnd && kept.length < own.length ? join(said, text.slice(end)) : said, calls };
    }
    content = join(content, before.trimEnd());
    from = look = skipSpace(text, end);
  }
  const rest = text.slice(from);
  const isLast = isEnd && calls.length === 0;
  const sure = isEnd && !isLast ? rest.trimEnd() : rest.slice(0, sureLength(rest, marks, isLast));
  return { content: join(content, sure), calls };
}

/** The parts of a text. Those that a beginning gives begin those of the whole text, except calls that end too soon. */
export function readParts(text: string, format: MessageFormat, isEnd: boolean): Parts {
  const { reasoning: marks, isInside } = format;
  if (!marks) return { reasoning: '', ...readContent(text, format, isEnd) };
  const nothing = { content: '', calls: [] };
  const begin = skipSpace(text, 0);
  const open = marks.open.trimEnd();
  if (!isEnd && mayBecome(text, begin, open)) return { reasoning: '', ...nothing };
  const hasOpen = text.startsWith(open, begin);
  if (!hasOpen && !isInside) return { reasoning: '', ...readContent(text, format, isEnd) };
  const inside = skipSpace(text, hasOpen ? begin + open.length : begin);
  const close = text.indexOf(marks.close, inside);
  if (close < 0) {
    const rest = text.slice(inside);
    return { reasoning: isEnd ? rest.trimEnd() : rest.slice(0, sureLength(rest, [marks.close], false)), ...nothing };
  }
  const after = text.slice(skipSpace(text, close + marks.close.length));
  return { reasoning: text.slice(inside, close).trimEnd(), ...readContent(after, format, isEnd) };
}

const kLetters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
/** Nine letters and digits, as Mistral's templates ask for. */
const newId = (): string => Array.from({ length: 9 }, () => kLetters[Math.floor(Math.random() * kLetters.length)]).join('');

export interface ReadMessage {
  content: string;
  reasoning_content?: string;
  tool_calls?: ToolCall[];
}

/** Reads one message. */
export class MessageReader {
  private text = '';
  private readonly told = { reasoning: 0, content: 0 };
  private readonly calls = new Map<string, { id: string; index: number; length: number }>();

  constructor(private readonly format: MessageFormat) {}

  /** What a further piece of the text adds. */
  push(piece: string): ChatDelta | undefined {
    this.text += piece;
    return this.tell(readParts(this.text, this.format, false));
  }

  /** The message, whose text this is, and what it has beyond what was told. */
  end(text: string): { message: ReadMessage; delta: ChatDelta | undefined } {
    const parts = readParts(text, this.format, true);
    const delta = this.tell(parts);
    const { reasoning, content, calls } = parts;
    const tool_calls = calls.map((call): ToolCall => {
      const { name, value = {} } = call;
      return { id: this.known(call).id, type: 'function', function: { name, arguments: value } };
    });
    const message = {
      content,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(tool_calls.length > 0 && { tool_calls }),
    };
    return { message, delta };
  }

  private known({ place, id }: PlacedCall) {
    const { calls } = this;
    const own = calls.get(place) ?? { id: id ?? newId(), index: calls.size, length: -1 };
    calls.set(place, own);
    return own;
  }

  private tell({ reasoning, content, calls }: Parts): ChatDelta | undefined {
    const { told } = this;
    const tool_calls = calls.flatMap((call) => {
      if (call.text === '') return []; // nothing is known but its name
      const own = this.known(call);
      const [isFirst, more] = [own.length < 0, call.text.slice(Math.max(0, own.length))];
      if (more === '') return [];
      own.length = call.text.length;
      const { id, index } = own;
      if (!isFirst) return [{ index, function: { arguments: more } }];
      return [{ index, id, type: 'function' as const, function: { name: call.name, arguments: more } }];
    });
    const [thought, said] = [reasoning.slice(told.reasoning), content.slice(told.content)];
    told.reasoning += thought.length;
    told.content += said.length;
    if (thought === '' && said === '' && tool_calls.length === 0) return undefined;
    return {
      ...(thought !== '' && { reasoning_content: thought }),
      ...(said !== '' && { content: said }),
      ...(tool_calls.length > 0 && { tool_calls }),
    };
  }
}
