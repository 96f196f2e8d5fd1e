// Qwen3-Coder and Qwen 3.5: <tool_call><function=name><parameter=key>value</parameter></function></tool_call>.
import { UnsupportedError } from '../../core/errors.js';
import { readJsonCalls } from './json_text.js';
import { memberParts } from './python.js';
import {
  kCharacter,
  listOf,
  mark,
  mayBecome,
  skipSpace,
  type Callable,
  type CallFormat,
  type Part,
  type Section,
} from './types.js';

const kOpen = '<tool_call>';
const kClose = '</tool_call>';
const kFunction = '<function=';
const kFunctionEnd = '</function>';
const kParameter = '<parameter=';
const kParameterEnd = '</parameter>';

const typeOf = (tool: Callable | undefined, key: string) => Object(Object(tool?.parameters['properties'])[key])['type'] as unknown;

/** A value as its schema has it: a text is taken as it is, the rest is JSON. */
function valueOf(raw: string, type: unknown): unknown {
  const text = raw.replace(/^\n/, '').replace(/\n$/, '');
  if (type === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return { True: true, False: false, None: null }[text.trim()] ?? text;
  }
}

export const qwenXml: CallFormat = {
  name: 'qwen-xml',
  begins: [kOpen, kFunction],
  marks: [kOpen, kClose],
  fits: (has) => has(kFunction) && has(kParameter),
  read(text, at, tools): Section {
    const isWrapped = text.startsWith(kOpen, at);
    let i = skipSpace(text, at + (isWrapped ? kOpen.length : 0));
    const open: Section = { calls: [], end: at, state: 'open' };
    if (i >= text.length || mayBecome(text, i, kFunction)) return open;
    if (isWrapped && text[i] === '{') return readJsonCalls(text, i, kClose);
    if (!text.startsWith(kFunction, i)) return { calls: [], end: at, state: 'wrong' };
    const nameEnd = text.indexOf('>', i);
    if (nameEnd < 0) return open;
    const name = text.slice(i + kFunction.length, nameEnd).trim();
    const tool = tools.find((each) => each.name === name);
    const done: [string, unknown][] = [];
    const written = () => `{${done.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(', ')}`;
    const partly = (): Section => ({ calls: [{ name, text: written() }], end: at, state: 'open' });
    for (i = skipSpace(text, nameEnd + 1); !text.startsWith(kFunctionEnd, i); i = skipSpace(text, i)) {
      if (i >= text.length || mayBecome(text, i, kParameter) || mayBecome(text, i, kFunctionEnd)) return partly();
      if (!text.startsWith(kParameter, i)) return { calls: [], end: at, state: 'wrong' };
      const keyEnd = text.indexOf('>', i);
      const end = keyEnd < 0 ? -1 : text.indexOf(kParameterEnd, keyEnd);
      if (end < 0) return partly();
      const key = text.slice(i + kParameter.length, keyEnd).trim();
      done.push([key, valueOf(text.slice(keyEnd + 1, end), typeOf(tool, key))]);
      i = end + kParameterEnd.length;
    }
    const call = { name, text: `${written()}}`, value: Object.fromEntries(done) };
    const behind = i + kFunctionEnd.length;
    const close = skipSpace(text, behind);
    if (!isWrapped) return { calls: [call], end: behind, state: 'whole' };
    if (close >= text.length || mayBecome(text, close, kClose)) return { calls: [call], end: text.length, state: 'open' };
    return { calls: [call], end: text.startsWith(kClose, close) ? close + kClose.length : behind, state: 'whole' };
  },
  parts(tools, several) {
    const call = (tool: Callable): Part => {
      const { $defs, definitions } = tool.parameters;
      const write = (key: string, schema: Record<string, unknown> | boolean): Part => {
        const own = typeof schema === 'boolean' ? {} : schema;
        const isText = own['type'] === 'string' && !('enum' in own) && !('const' in own);
        const texts = (own['enum'] ?? ('const' in own ? [own['const']] : undefined)) as unknown[] | undefined;
        const { minLength = 0, maxLength = '', pattern, format } = own;
        if (isText && (pattern ?? format) !== undefined)
          throw new UnsupportedError(
            "tools: parameters: 'pattern' and 'format' are not supported in the form of this model's calls",
          );
        const value: Part = isText
          ? { regex: `(?![^]*${kParameterEnd})${kCharacter}{${minLength as number},${maxLength as number}}` }
          : texts?.every((each) => typeof each === 'string')
            ? { any: texts as string[] }
            : { json: { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }), ...own } };
        return [`${kParameter}${key}>\n`, value, `\n${kParameterEnd}\n`];
      };
      return [`\n${kFunction}${tool.name}>\n`, memberParts(tool.parameters, '', write), `${kFunctionEnd}\n`, mark(kClose)];
    };
    return listOf({ any: tools.map(call) }, ['\n', mark(kOpen)], several);
  },
};
