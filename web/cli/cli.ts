#!/usr/bin/env node
// The command `wattn`.
import { readFileSync } from 'node:fs';
import { choice, computeOptions, count, flag, given, loadOptions, modelOf, noTexts, parse, text, type Values } from './args.js';
import { kCommands } from './commands.js';
import { kHelp } from './help.js';
import { nearestOf } from '../core/options.js';
import { cacheCommand, download } from './cache.js';
import { report } from './inspect.js';
import { indexFiles, searchFile } from './search.js';
import { distillModel } from './distill.js';
import { evaluateModel } from './evaluate.js';
import { chat } from './chat.js';
import { generate } from './generate.js';
import { pack } from './pack.js';
import { redact } from './redact.js';
import { classify, rank, run } from './tasks.js';
import { train } from './train.js';
import { trainTokenizer } from './train_tokenizer.js';
import { answerAll, factFields, floatsText, toLine, write, type Item } from './lines.js';
import { AutoTokenizer, InputError, inspectModel, pipeline, type Embeddings } from '../entries/index.js';
import type { EmbedOptions, TokenizeOptions } from '../entries/index.js';

type Command = (values: Values, positionals: string[]) => Promise<void>;

function embedOptions(values: Values): EmbedOptions {
  if (flag(values, 'normalize') && flag(values, 'no-normalize'))
    throw new InputError('expected --normalize or --no-normalize, found both');
  const modes = text(values, 'pooling')?.split(',');
  return given({
    pooling: modes?.length === 1 ? modes[0] : modes,
    normalize: flag(values, 'no-normalize') ? false : flag(values, 'normalize'),
    prompt: text(values, 'prompt'),
    prompt_name: text(values, 'prompt-name'),
    task: text(values, 'model-task'),
    max_length: count(values, 'max-length'),
    on_overflow: text(values, 'on-overflow'),
    split_special_tokens: flag(values, 'split-special-tokens'),
  }) as EmbedOptions;
}

function embeddingText(out: Embeddings, i: number): string {
  const [, , hidden] = out.dims;
  const { data } = out.get(i);
  if (hidden === undefined) return floatsText(data);
  const tokens = out.tokens[i] as number;
  return `[${Array.from({ length: tokens }, (_, t) => floatsText(data.subarray(t * hidden, (t + 1) * hidden))).join(',')}]`;
}

const embed: Command = async (values, positionals) => {
  const options = embedOptions(values);
  const pipe = await pipeline('feature-extraction', modelOf(values), computeOptions(values));
  return answerAll(values, positionals, async (portion) => {
    const texts = portion.map((item) => item.text);
    const out = await pipe(texts, options);
    const line = (item: Item, i: number) =>
      toLine(item, {
        embedding: embeddingText(out, i),
        ...factFields(out.truncated[i], out.unknown[i], out.tokens[i]),
      });
    return portion.map(line);
  });
};

const tokenize: Command = async (values, positionals) => {
  if (values['train'] !== undefined) return trainTokenizer(values, positionals);
  const options: TokenizeOptions = given({
    max_length: count(values, 'max-length') as number,
    split_special_tokens: flag(values, 'split-special-tokens') as boolean,
    offsets: choice(values, 'offsets', ['utf16', 'codepoint']) as 'utf16',
    add_special_tokens: !flag(values, 'no-special'),
    return_offsets_mapping: true,
  });
  const tokenizer = await AutoTokenizer.from_pretrained(modelOf(values), loadOptions(values));
  return answerAll(values, positionals, async (portion) => {
    const texts = portion.map((item) => item.text);
    const { input_ids, offset_mapping, truncated, unknown } = tokenizer(texts, { ...options, return_tensor: false });
    const line = (item: Item, i: number) =>
      toLine(item, {
        ids: JSON.stringify(input_ids[i]),
        tokens: JSON.stringify(tokenizer.convert_ids_to_tokens(input_ids[i] as number[])),
        offsets: JSON.stringify(offset_mapping?.[i]),
        ...factFields(truncated[i], unknown[i]),
      });
    return portion.map(line);
  });
};

const inspect: Command = async (values, positionals) => {
  noTexts(positionals);
  const inspection = await inspectModel(modelOf(values), {
    ...computeOptions(values),
    seq: count(values, 'seq'),
    plan: flag(values, 'plan'),
  });
  if (inspection.plan !== undefined && !flag(values, 'json')) return write(inspection.plan);
  await write(
    flag(values, 'json') ? `${JSON.stringify(inspection)}\n` : report(modelOf(values) ?? 'the bundled model', inspection),
  );
};

const commands: Record<string, Command> = {
  embed,
  classify,
  rank,
  run,
  redact,
  generate,
  chat,
  tokenize,
  index: indexFiles,
  search: searchFile,
  inspect,
  doctor: async (...args) => (await import('./doctor.js')).doctor(...args),
  models: async (...args) => (await import('./models.js')).models(...args),
  pack,
  download,
  cache: cacheCommand,
  evaluate: evaluateModel,
  distill: distillModel,
  train,
  serve: async (...args) => (await import('./serve.js')).serve(...args),
  completion: async (...args) => (await import('./completion.js')).completion(...args),
  mcp: async (...args) => (await import('./mcp.js')).mcp(...args),
};

/** An error in one line: one of the library and of the system as it is, any other with the places in the code that lead to it. */
function lineOf(error: Error & { code?: unknown }): { line: string; code: number } {
  const isOurs = typeof error.code === 'string' && !/^ERR_|^E[A-Z]/.test(error.code);
  if (isOurs) return { line: error.message, code: 2 };
  if (error instanceof RangeError && /string length/i.test(error.message)) {
    return { line: 'expected texts whose results are shorter than 2^29 characters, found longer ones', code: 2 };
  }
  if (typeof error.code === 'string' && /^E[A-Z]/.test(error.code) && 'syscall' in error) return { line: error.message, code: 1 };
  const places = [...String(error?.stack).matchAll(/([\w.-]+:\d+:\d+)\)?$/gm)].map(([, place]) => place);
  return { line: `internal error of wattn: ${error} (${places.slice(0, 4).join(' < ')})`, code: 1 };
}

function fail(error: Error): void {
  const { line, code } = lineOf(error);
  process.stderr.write(`wattn: ${line.replace(/\s*\n\s*/g, ' ')}\n`, () => process.exit(code));
}

async function main([name = '', ...args]: string[]): Promise<void> {
  const isHelp = (word: string) => ['', '--help', '-h', 'help'].includes(word);
  const [asked = ''] = args;
  const about = name === 'help' ? (isHelp(asked) ? '' : asked) : isHelp(name) ? '' : undefined;
  if (about !== undefined && Object.hasOwn(kHelp, about)) return write(kHelp[about] as string);
  if (name === '--version') {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
    return write(`${version}\n`);
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    const { kTaskNames, taskHelp } = await import('./help_tasks.js');
    const task = about === undefined ? undefined : taskHelp(about);
    if (task !== undefined) return write(task);
    const names = Object.keys(kCommands);
    const nearest = nearestOf(about ?? name, about === undefined ? names : [...names, ...kTaskNames]);
    const hint = nearest === undefined ? ';' : `; did you mean '${nearest}'?`;
    throw new InputError(`unknown command '${about ?? name}'${hint} commands: ${names.join(', ')}`);
  }
  const { values, positionals } = parse(name, args);
  if (flag(values, 'help')) return write(kHelp[name] as string);
  return command(values, positionals);
}

process.stdout.on('error', (error: { code?: string }) => {
  if (error.code === 'EPIPE') process.exit(0); // the reader has closed the pipe
  // Others are reported by write().
});
process.stderr.on('error', () => {}); // there is nowhere to report it
process.on('uncaughtException', fail);

main(process.argv.slice(2)).catch(fail);
