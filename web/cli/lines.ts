// Reads texts and writes lines as a stream: memory holds only the texts in work.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { choice, type Values } from './args.js';
import { megabytes, Progress } from './progress.js';
import { parseJson } from '../core/json.js';
import { floatText } from '../core/texts.js';
import { InputError } from '../entries/index.js';

/** One text, with the JSON object it came in. */
export interface Item {
  text: string;
  members: Record<string, unknown> | undefined;
}

type Form = 'auto' | 'text' | 'json';

/** Maximum texts per call. Fewer are used if input arrives slowly. */
const kMostTexts = 256;

function fromJson(line: string, place: string): Item {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch (error) {
    throw new InputError(`${place}: expected JSON, found ${(error as Error).message}`);
  }
  if (typeof value === 'string') return { text: value, members: undefined };
  const text = (value as { text?: unknown } | null)?.text;
  if (typeof text === 'string') return { text, members: value as Record<string, unknown> };
  throw new InputError(`${place}: expected a JSON object with a string "text", or a JSON string; found ${line.slice(0, 60)}`);
}

function isJsonString(line: string): boolean {
  if (!/^\s*".*"\s*$/.test(line)) return false;
  try {
    return typeof parseJson(line) === 'string';
  } catch {
    return false;
  }
}

function toItem(line: string, form: Form, place: string): Item {
  if (form === 'json') return fromJson(line, place);
  if (form === 'text') return { text: line, members: undefined };
  if (/^\s*\{/.test(line)) {
    try {
      return fromJson(line, place);
    } catch (error) {
      throw new InputError(`${(error as Error).message} (--input text reads every line as plain text)`);
    }
  }
  return isJsonString(line) ? fromJson(line, place) : { text: line, members: undefined };
}

/** Characters of a line, at most: JSON may write each in six, and a string has fewer than 2^29. */
const kLongestLine = 2 ** 26;

/** The lines of a stream, some at a time. name: of the stream, for messages. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  let [length, line] = [0, 1];
  const cut = (text: string) => {
    const end = text.indexOf('\n');
    length += end < 0 ? text.length : end;
    if (length > kLongestLine)
      throw new InputError(`${name}, line ${line}: expected at most ${kLongestLine} characters, found more`);
    if (end < 0) {
      rest.push(text);
      return [];
    }
    const lines = (rest.join('') + text).split('\n');
    rest = [lines.pop() as string];
    length = (rest[0] as string).length;
    line += lines.length;
    return lines;
  };
  for await (const chunk of stream) yield cut(decoder.decode(chunk, { stream: true }));
  const lines = cut(decoder.decode());
  const last = rest.join('');
  yield last === '' ? lines : [...lines, last];
}

/** Passes a stream on and counts its bytes. */
async function* countedBytes(stream: AsyncIterable<Uint8Array>, read: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    read(chunk.length);
    yield chunk;
  }
}

async function* itemsOf(file: string, form: Form, read: (bytes: number) => void): AsyncGenerator<Item[]> {
  const stream = countedBytes(file === '-' ? process.stdin : createReadStream(file), read);
  const name = file === '-' ? 'standard input' : file;
  let number = 0;
  try {
    for await (const lines of linesOf(stream, name)) {
      for (let begin = 0; begin < lines.length; begin += kMostTexts) {
        yield lines
          .slice(begin, begin + kMostTexts)
          .map((line) => toItem(line.replace(/\r$/, ''), form, `${name}, line ${++number}`));
      }
    }
  } catch (error) {
    const { code } = error as { code?: unknown };
    throw typeof code === 'string' && /^E[A-Z]+$/.test(code) ? new InputError(`--file: cannot read ${name}: ${code}`) : error;
  }
}

/** Bytes of the files; undefined if one of them is no regular file, such as standard input. */
async function bytesOf(files: readonly string[]): Promise<number | undefined> {
  const found = await Promise.all(files.map((file) => (file === '-' ? undefined : stat(file).catch(() => undefined))));
  return found.every((one) => one?.isFile()) ? found.reduce((sum, one) => sum + (one?.size ?? 0), 0) : undefined;
}

/** All texts, in portions as they arrive. shows: how much of the files has been answered, as each portion is done. */
export async function* items(values: Values, positionals: readonly string[], shows = true): AsyncGenerator<Item[]> {
  const form = choice(values, 'input', ['auto', 'text', 'json']) ?? 'auto';
  const files = values['file'] as string[] | undefined;
  if (positionals.length > 0 && files) throw new InputError('expected texts or --file, found both');
  for (let begin = 0; begin < positionals.length; begin += kMostTexts) {
    yield positionals.slice(begin, begin + kMostTexts).map((text) => ({ text, members: undefined }));
  }
  if (positionals.length > 0) return;
  if (!files && process.stdin.isTTY) process.stderr.write('reading texts from standard input, one per line; end with Ctrl-D\n');
  const asks = !files && process.stdin.isTTY; // whoever types sees the answers
  const bar = shows && !asks ? new Progress(values, megabytes, true) : undefined;
  const total = bar && (await bytesOf(files ?? ['-']));
  let done = 0;
  let texts = 0;
  for (const file of files ?? ['-']) {
    for await (const portion of itemsOf(file, form, (bytes) => (done += bytes))) {
      yield portion;
      texts += portion.length;
      bar?.show({ done, total, more: `${texts} texts` });
    }
  }
  bar?.end();
}

/** Reads texts in portions and writes the lines that `answer` makes of each. */
export async function answerAll(
  values: Values,
  positionals: readonly string[],
  answer: (portion: Item[]) => Promise<string[]>,
): Promise<void> {
  for await (const portion of items(values, positionals)) await write((await answer(portion)).join(''));
}

/** Writes to standard output, waiting if the reader is slow. */
export function write(output: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(output, (error) => {
      if (error) reject(new InputError(`standard output: cannot write: ${(error as { code?: string }).code}`));
      else resolve();
    });
  });
}

/** One line of output: the members of the input object, then the fields. fields: JSON text by name. */
export function toLine({ text, members }: Item, fields: Record<string, string>): string {
  const own = Object.entries(fields).map(([name, json]) => `${JSON.stringify(name)}: ${json}`);
  const carried = Object.entries(members ?? { text })
    .filter(([name]) => !Object.hasOwn(fields, name))
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{${[...carried, ...own].join(', ')}}\n`;
}

/** The fields of a line about its text: only what is out of the ordinary. tokens: with truncation, how many were kept. */
export function factFields(truncated: boolean | undefined, unknown = 0, tokens?: number): Record<string, string> {
  return {
    ...(truncated && { truncated: 'true', ...(tokens !== undefined && { tokens: String(tokens) }) }),
    ...(unknown > 0 && { unknown: floatText(unknown) }),
  };
}

export function floatsText(values: Float32Array): string {
  return `[${Array.from(values, floatText).join(',')}]`;
}
