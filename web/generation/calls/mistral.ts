// Mistral: [TOOL_CALLS] and a list of calls as JSON, or, since version 11 of its tokenizers, [TOOL_CALLS]name{..}, with [CALL_ID] and [ARGS]
// where the vocabulary has them.
import { callPart, jsonEnd, objectOf, readJsonCalls, withEscapes } from './json_text.js';
import {
  listOf,
  mark,
  mayBecome,
  skipSpace,
  type Callable,
  type CallFormat,
  type Part,
  type ReadCall,
  type Section,
} from './types.js';

const kOpen = '[TOOL_CALLS]';
const kArgs = '[ARGS]';
const kId = '[CALL_ID]';

/** A name, and its arguments. */
function readNamed(text: string, begin: number): Section {
  const open: Section = { calls: [], end: begin, state: 'open' };
  const wrong: Section = { calls: [], end: begin, state: 'wrong' };
  const name = /^[\w.-]*/.exec(text.slice(begin))?.[0] as string;
  let i = begin + name.length;
  if (i >= text.length) return open;
  if (name === '') return wrong;
  const call: ReadCall = { name, text: '' };
  if (mayBecome(text, i, kId)) return open;
  if (text.startsWith(kId, i)) {
    const id = /^\w*/.exec(text.slice(i + kId.length))?.[0] as string;
    i += kId.length + id.length;
    if (i >= text.length) return open;
    call.id = id;
  }
  if (mayBecome(text, i, kArgs)) return open;
  if (text.startsWith(kArgs, i)) i += kArgs.length;
  i = skipSpace(text, i);
  if (i >= text.length) return open;
  if (text[i] !== '{') return wrong;
  const end = jsonEnd(text, i);
  call.text = withEscapes(text.slice(i, end < 0 ? undefined : end));
  if (end < 0) return { ...open, calls: [call] };
  const value = objectOf(text.slice(i, end));
  return value ? { calls: [{ ...call, value }], end, state: 'whole' } : wrong;
}

export const mistral: CallFormat = {
  name: 'mistral',
  begins: [kOpen],
  marks: [kOpen, kArgs, kId],
  fits: (has) => has(kOpen),
  read(text, at) {
    const i = skipSpace(text, at + kOpen.length);
    if (i >= text.length) return { calls: [], end: at, state: 'open' };
    return text[i] === '[' || text[i] === '{' ? readJsonCalls(text, i, '') : readNamed(text, i);
  },
  parts(tools, several, has) {
    if (!has(kArgs)) return [' [', listOf({ any: tools.map((tool) => callPart(tool)) }, ', ', several), ']'];
    const named = ({ name, parameters }: Callable): Part => [name, mark(kArgs), { json: parameters }];
    return listOf({ any: tools.map(named) }, mark(kOpen), several);
  },
};
