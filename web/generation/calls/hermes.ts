// Hermes, Qwen 2.5 and 3, Granite 4, SmolLM3 (`xml_tools`), and others: <tool_call>{"name": .., "arguments": {..}}</tool_call>.
import { callPart, readJsonCalls } from './json_text.js';
import { listOf, mark, type CallFormat, type Part } from './types.js';

const kOpen = '<tool_call>';
const kClose = '</tool_call>';

export const hermes: CallFormat = {
  name: 'hermes',
  begins: [kOpen],
  marks: [kOpen, kClose],
  fits: (has) => has(kOpen),
  read: (text, at) => readJsonCalls(text, at + kOpen.length, kClose),
  parts(tools, several) {
    const call: Part = ['\n', { any: tools.map((tool) => callPart(tool)) }, '\n', mark(kClose)];
    return listOf(call, ['\n', mark(kOpen)], several);
  },
};
