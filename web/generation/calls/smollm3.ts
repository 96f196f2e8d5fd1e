// SmolLM3 with `python_tools`: <code>, lines of Python that call functions, </code>. (With `xml_tools` it writes as Hermes does, and with both in either way.)
import { hermes } from './hermes.js';
import { pythonPart, readPythonCall } from './python.js';
import { listOf, mark, mayBecome, skipSpace, type CallFormat, type ReadCall, type Section } from './types.js';

const kOpen = '<code>';
const kClose = '</code>';

export const smollm3: CallFormat = {
  name: 'smollm3',
  begins: [kOpen, ...hermes.begins],
  marks: [kOpen, kClose, ...hermes.marks],
  fits: (has, given) => given('python_tools') && has(kOpen),
  read(text, at, tools): Section {
    if (!text.startsWith(kOpen, at)) return hermes.read(text, at, tools);
    const calls: ReadCall[] = [];
    let i = at + kOpen.length;
    for (;;) {
      i = skipSpace(text, i);
      const rest = text.slice(i);
      if (rest === '' || mayBecome(text, i, kClose)) return { calls, end: text.length, state: 'open' };
      if (rest.startsWith(kClose)) return { calls, end: i + kClose.length, state: calls.length > 0 ? 'whole' : 'wrong' };
      const wrong: Section = { calls, end: i, state: calls.length > 0 ? 'whole' : 'wrong' };
      // What shows a result, or says something, calls nothing.
      const aside = /^(?:print\(\s*[A-Za-z_]\w*\s*\)|#[^\n]*|;)/.exec(rest);
      if (aside) {
        i += aside[0].length;
        continue;
      }
      const before = /^(?:[A-Za-z_]\w*\s*=\s*(?!=))?(?:print\(\s*)?/.exec(rest)?.[0] as string;
      if (before.length === rest.length || /^[\w\s=]*(?:\([\w\s]*)?$/.test(rest)) return { calls, end: i, state: 'open' };
      const begin = i + before.length;
      const own = readPythonCall(text, begin, tools);
      const isKnown = !own.call || tools.length === 0 || tools.some(({ name }) => name === own.call?.name);
      if (own.state === 'wrong' || !isKnown) return wrong;
      if (own.call) calls.push(own.call);
      if (own.state === 'open') return { calls, end: i, state: 'open' };
      i = own.end;
      if (!before.includes('print(')) continue;
      i = skipSpace(text, i);
      if (i < text.length && text[i++] !== ')') return wrong;
    }
  },
  parts: (tools, several) => ['\n', listOf({ any: tools.map(pythonPart) }, '\n', several), '\n', mark(kClose)],
};
