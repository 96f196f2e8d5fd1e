// `wattn chat`: a conversation in a terminal, or of the lines of standard input.
import { computeOptions, count, flag, modelOf, text, type Values } from './args.js';
import { Conversation, converse, kDim, kPlain, type Terminal } from './conversation.js';
import { formatOf, generateOptions } from './generate.js';
import { writeOut } from './output.js';
import { InputError, pipeline, type LoadOptions } from '../entries/index.js';

export async function chat(values: Values, positionals: string[]): Promise<void> {
  const model = modelOf(values);
  if (model === undefined) throw new InputError('expected --model: the bundled model generates no text');
  const { return_full_text: _, ...options } = { ...generateOptions(values), ...(await formatOf(values)) };
  const context_length = count(values, 'context-length');
  const load = { ...computeOptions(values), ...(context_length && { context_length }) } as LoadOptions;
  const generate = await pipeline('text-generation', model, load);
  const isInteractive = Boolean(process.stdin.isTTY && process.stdout.isTTY);
  const save = (file: string, text: string) => writeOut('history', file, text);
  const terminal: Terminal = { input: process.stdin, output: process.stdout, notes: process.stderr, isInteractive, save };
  const thinks = flag(values, 'no-thinking') ? { chat_template_kwargs: { enable_thinking: false } } : {};
  const conversation = new Conversation(
    generate,
    terminal,
    { parse_response: options.response_format === undefined, ...thinks, ...options },
    text(values, 'system'),
    text(values, 'history'),
  );
  await conversation.begin();
  for (const file of (values['file'] as string[] | undefined) ?? []) await conversation.attach(file);
  if (positionals.length > 0) {
    await conversation.hear(positionals.join(' '));
    if (!isInteractive) return;
  } else if (isInteractive) process.stderr.write(`${kDim}${model}; /help lists the commands${kPlain}\n`);
  await converse(conversation, terminal);
}
