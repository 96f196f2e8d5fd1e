// The command generate: texts in; out come JSON lines, or plain text as it is made.
import { computeOptions, count, flag, given, modelOf, text, type Values } from './cli_args.js';
import { items, toLine, write, type Item } from './cli_lines.js';
import { InputError, pipeline, type ChatMessage, type LoadOptions, type TextGenerationOptions } from './node.js';

function number(values: Values, name: string): number | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  if (value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  throw new InputError(`--${name}: expected a number, found '${value}'`);
}

function generateOptions(values: Values): TextGenerationOptions {
  const seed = number(values, 'seed');
  const temperature = number(values, 'temperature');
  const json = text(values, 'options');
  let more: object = {};
  try {
    if (json !== undefined) more = JSON.parse(json) as object;
  } catch (error) {
    throw new InputError(`--options: expected JSON, found ${(error as Error).message}`);
  }
  return given({
    max_new_tokens: count(values, 'max-new-tokens'),
    num_beams: count(values, 'num-beams'),
    // Whoever says how to draw wants to draw.
    do_sample: flag(values, 'sample') ?? (temperature !== undefined || seed !== undefined ? true : undefined),
    temperature,
    seed,
    top_k: number(values, 'top-k'),
    top_p: number(values, 'top-p'),
    stop_strings: values['stop'] as string[] | undefined,
    return_full_text: flag(values, 'full-text') ?? false,
    ...more,
  }) as TextGenerationOptions;
}

export async function generate(values: Values, positionals: string[]): Promise<void> {
  const options = generateOptions(values);
  const context_length = count(values, 'context-length');
  const load = { ...computeOptions(values), ...(context_length && { context_length }) } as LoadOptions;
  const model = modelOf(values);
  if (model === undefined) throw new InputError('expected --model: the bundled model generates no text');
  const run = await pipeline('text-generation', model, load);
  const isChat = flag(values, 'chat') ?? false;
  const toPrompt = ({ text }: Item): string | ChatMessage[] => (isChat ? [{ role: 'user', content: text }] : text);
  for await (const portion of items(values, positionals)) {
    if (flag(values, 'stream')) {
      const { return_full_text: _full, ...rest } = options;
      for (const item of portion) {
        for await (const piece of run.stream(toPrompt(item), rest)) await write(piece);
        await write('\n');
      }
      continue;
    }
    const out = await run(portion.map(toPrompt) as string[], options);
    const line = (item: Item, i: number) =>
      (out[i] as (typeof out)[number]).map(({ generated_text, tokens, finish_reason }) =>
        toLine(item, {
          generated_text: JSON.stringify(generated_text),
          tokens: String(tokens.length),
          finish_reason: JSON.stringify(finish_reason),
        }),
      );
    await write(portion.flatMap(line).join(''));
  }
}
