// LFM2: <|tool_call_start|>[name(key="text"), ..]<|tool_call_end|>, or the same calls as JSON.
import { readJsonCalls } from './json_text.js';
import { pythonPart, readPythonCall } from './python.js';
import { listOf, mark, mayBecome, skipSpace, type CallFormat, type ReadCall, type Section } from './types.js';

const kOpen = '<|tool_call_start|>';
const kClose = '<|tool_call_end|>';

export const lfm2: CallFormat = {
  name: 'lfm2',
  begins: [kOpen],
  marks: [kOpen, kClose],
  fits: (has) => has(kOpen) || has('<|tool_list_start|>'),
  read(text, at, tools): Section {
    const begin = skipSpace(text, at + kOpen.length);
    if (/^(\{|\[\s*\{)/.test(text.slice(begin))) return readJsonCalls(text, begin, kClose);
    const calls: ReadCall[] = [];
    let i = begin;
    const isList = text[i] === '[';
    if (isList) i = skipSpace(text, i + 1);
    let ended = i;
    for (;;) {
      const whole = (end: number): Section => ({ calls, end, state: calls.length > 0 ? 'whole' : 'wrong' });
      if (i >= text.length || mayBecome(text, i, kClose)) return { calls, end: text.length, state: 'open' };
      if (text.startsWith(kClose, i)) return whole(i + kClose.length);
      if (calls.length > 0 && /[\],]/.test(text[i] as string)) {
        i = skipSpace(text, i + 1);
        continue;
      }
      const own = readPythonCall(text, i, tools);
      if (own.state === 'wrong') return whole(ended);
      if (own.call) calls.push(own.call);
      if (own.state === 'open') return { calls, end: i, state: 'open' };
      ended = own.end;
      i = skipSpace(text, own.end);
    }
  },
  parts: (tools, several) => ['[', listOf({ any: tools.map(pythonPart) }, ', ', several), ']', mark(kClose)],
};
