// `wattn generate`: writes JSON lines, or plain text as it is generated.
import { choice, computeOptions, count, flag, given, jsonOptions, loadOptions, modelOf, text, type Values } from './args.js';
import { items, toLine, write, type Item } from './lines.js';
import {
  describeModel,
  InputError,
  pipeline,
  type ChatMessage,
  type LoadOptions,
  type TextGenerationOptions,
} from '../entries/index.js';

function number(values: Values, name: string): number | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  if (value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  throw new InputError(`--${name}: expected a number, found '${value}'`);
}

function generateOptions(values: Values): TextGenerationOptions {
  const seed = number(values, 'seed');
  const temperature = number(values, 'temperature');
  return given({
    max_new_tokens: count(values, 'max-new-tokens'),
    num_beams: count(values, 'num-beams'),
    // A temperature or a seed implies sampling.
    do_sample: flag(values, 'sample') ?? (temperature !== undefined || seed !== undefined ? true : undefined),
    temperature,
    seed,
    top_k: number(values, 'top-k'),
    top_p: number(values, 'top-p'),
    stop_strings: values['stop'] as string[] | undefined,
    return_full_text: flag(values, 'full-text') ?? false,
    ...jsonOptions(values),
  }) as TextGenerationOptions;
}

const kKeys = {
  'text2text-generation': 'generated_text',
  translation: 'translation_text',
  summarization: 'summary_text',
} as const;

/** Transforms texts with an encoder-decoder. */
async function transform(
  task: keyof typeof kKeys,
  model: string,
  load: LoadOptions,
  { return_full_text: _full, ...options }: TextGenerationOptions,
  values: Values,
  positionals: string[],
): Promise<void> {
  const other = ['full-text', 'chat', 'context-length'].find((name) => values[name] !== undefined);
  if (other) throw new InputError(`--${other}: expected a decoder, found an encoder-decoder`);
  const run = await pipeline(task, model, load);
  for await (const portion of items(values, positionals)) {
    for (const item of portion) {
      if (flag(values, 'stream')) {
        for await (const piece of run.stream(item.text, options)) await write(piece);
        await write('\n');
        continue;
      }
      const made = (await run(item.text, options)) as unknown as (Record<string, string> & {
        tokens: number[];
        finish_reason: string;
        truncated?: true;
      })[];
      const line = (one: (typeof made)[number]) =>
        toLine(item, {
          [kKeys[task]]: JSON.stringify(one[kKeys[task]]),
          tokens: String(one.tokens.length),
          finish_reason: JSON.stringify(one.finish_reason),
          ...(one.truncated && { truncated: 'true' }),
        });
      await write(made.map(line).join(''));
    }
  }
}

export async function generate(values: Values, positionals: string[]): Promise<void> {
  const options = generateOptions(values);
  const context_length = count(values, 'context-length');
  const load = { ...computeOptions(values), ...(context_length && { context_length }) } as LoadOptions;
  const model = modelOf(values);
  if (model === undefined) throw new InputError('expected --model: the bundled model generates no text');
  const tasks = ['text-generation', 'text2text-generation', 'translation', 'summarization'] as const;
  const ownTask = async () => ((await describeModel(model, loadOptions(values))).kind === 'encoder-decoder' ? tasks[1] : tasks[0]);
  const task = choice(values, 'task', tasks) ?? (await ownTask());
  if (task !== 'text-generation') return transform(task, model, load, options, values, positionals);
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
