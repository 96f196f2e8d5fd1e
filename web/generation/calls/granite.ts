// Granite 3: <|tool_call|> or <tool_call>, and a list of calls as JSON.
import { callPart, readJsonCalls } from './json_text.js';
import { listOf, type CallFormat } from './types.js';

const kToken = '<|tool_call|>';
const kText = '<tool_call>';

export const granite: CallFormat = {
  name: 'granite',
  begins: [kToken, kText],
  marks: [kToken, kText, '</tool_call>'],
  fits: (has) => has(kToken),
  read: (text, at) =>
    text.startsWith(kToken, at)
      ? readJsonCalls(text, at + kToken.length, '')
      : readJsonCalls(text, at + kText.length, '</tool_call>'),
  parts: (tools, several) => ['[', listOf({ any: tools.map((tool) => callPart(tool)) }, ', ', several), ']'],
};
