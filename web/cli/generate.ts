// `wattn generate`: writes JSON lines, or plain text as it is generated.
import { readFile } from 'node:fs/promises';
import {
  choice,
  computeOptions,
  count,
  flag,
  given,
  jsonOptions,
  loadOptions,
  modelOf,
  number,
  text,
  type Values,
} from './args.js';
import { factFields, items, toLine, write, type Item } from './lines.js';
import {
  describeModel,
  InputError,
  pipeline,
  type ChatMessage,
  type LoadOptions,
  type ResponseFormat,
  type TextGenerationOptions,
} from '../entries/index.js';

export function generateOptions(values: Values): TextGenerationOptions {
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

/** The JSON of --schema FILE. */
export async function readSchema(values: Values): Promise<object | undefined> {
  const file = text(values, 'schema');
  if (file === undefined) return undefined;
  const wrong = (what: string) => (cause: unknown) => {
    throw new InputError(`--schema: ${what} '${file}': ${(cause as Error).message}`, { cause });
  };
  const json = await readFile(file, 'utf8').catch(wrong('cannot read'));
  return Promise.resolve(json)
    .then((own) => JSON.parse(own) as object)
    .catch(wrong('expected JSON in'));
}

/** The format of --schema FILE. */
export async function formatOf(values: Values): Promise<{ response_format?: ResponseFormat }> {
  const json_schema = await readSchema(values);
  return json_schema === undefined ? {} : { response_format: { type: 'json_schema', json_schema } };
}

const kKeys = {
  'text-generation': 'generated_text',
  'text2text-generation': 'generated_text',
  translation: 'translation_text',
  summarization: 'summary_text',
} as const;
type TaskName = keyof typeof kKeys;
type Generated = Record<string, string> & {
  tokens: number[];
  finish_reason: string;
  parsed?: unknown;
  truncated?: true;
  unknown?: number;
};
type Prompt = string | ChatMessage[];
interface Run {
  (prompts: Prompt | Prompt[], options: TextGenerationOptions): Promise<unknown>;
  stream(prompt: Prompt, options: TextGenerationOptions): AsyncIterable<string>;
}

export async function generate(values: Values, positionals: string[]): Promise<void> {
  const { return_full_text, ...options } = { ...generateOptions(values), ...(await formatOf(values)) };
  const context_length = count(values, 'context-length');
  const load = { ...computeOptions(values), ...(context_length && { context_length }) } as LoadOptions;
  const model = modelOf(values);
  if (model === undefined) throw new InputError('expected --model: the bundled model generates no text');
  const ownTask = async (): Promise<TaskName> =>
    (await describeModel(model, loadOptions(values))).kind === 'encoder-decoder' ? 'text2text-generation' : 'text-generation';
  const task = choice(values, 'task', Object.keys(kKeys) as TaskName[]) ?? (await ownTask());
  const isDecoder = task === 'text-generation';
  const other = ['full-text', 'chat', 'context-length', 'schema'].find((name) => values[name] !== undefined);
  if (!isDecoder && other) throw new InputError(`--${other}: expected a decoder, found an encoder-decoder`);
  const run = (await pipeline(task, model, load)) as unknown as Run;
  const toPrompt = ({ text }: Item): Prompt => (flag(values, 'chat') ? [{ role: 'user', content: text }] : text);
  const lines = (item: Item, made: Generated[]) =>
    made.map((one) =>
      toLine(item, {
        [kKeys[task]]: JSON.stringify(one[kKeys[task]]),
        ...(one.parsed !== undefined && { parsed: JSON.stringify(one.parsed) }),
        tokens: String(one.tokens.length),
        finish_reason: JSON.stringify(one.finish_reason),
        ...factFields(one.truncated, one.unknown),
      }),
    );
  for await (const portion of items(values, positionals)) {
    if (isDecoder && !flag(values, 'stream')) {
      const out = (await run(portion.map(toPrompt), {
        ...options,
        return_full_text: return_full_text as boolean,
      })) as Generated[][];
      await write(portion.flatMap((item, i) => lines(item, out[i] as Generated[])).join(''));
      continue;
    }
    for (const item of portion) {
      if (flag(values, 'stream')) {
        for await (const piece of run.stream(toPrompt(item), options)) await write(piece);
        await write('\n');
      } else {
        await write(lines(item, (await run(item.text, options)) as Generated[]).join(''));
      }
    }
  }
}
