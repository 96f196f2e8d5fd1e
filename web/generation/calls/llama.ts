// Llama 3: {"name": .., "parameters": {..}} as the whole text or behind <|python_tag|>, several with semicolons between them; tools of Llama's own are
// written as name.call(key=value).
import { callPart, readJsonCalls } from './json_text.js';
import { readPythonCall } from './python.js';
import { listOf, skipSpace, type CallFormat, type Section } from './types.js';

const kTag = '<|python_tag|>';

export const llama: CallFormat = {
  name: 'llama',
  begins: ['', kTag],
  marks: [kTag],
  fits: (has) => has(kTag) || (has('"parameters": ') && has('<|eot_id|>')),
  read(text, at, tools): Section {
    const isTagged = text.startsWith(kTag, at);
    const i = skipSpace(text, at + (isTagged ? kTag.length : 0));
    if (i >= text.length) return { calls: [], end: at, state: 'open' };
    if (text[i] === '{') {
      const own = readJsonCalls(text, i, '', ';');
      // Other JSON is an answer.
      const isKnown = tools.length === 0 || isTagged || own.calls.every(({ name }) => tools.some((tool) => tool.name === name));
      return isKnown ? own : { calls: [], end: at, state: 'wrong' };
    }
    if (!isTagged) return { calls: [], end: at, state: 'wrong' };
    const own = readPythonCall(text, i, tools);
    const calls = own.call ? [{ ...own.call, name: own.call.name.replace(/\.call$/, '') }] : [];
    return { calls, end: own.state === 'whole' ? own.end : i, state: own.state };
  },
  parts: (tools, several) => listOf({ any: tools.map((tool) => callPart(tool, 'parameters')) }, '; ', several),
};
