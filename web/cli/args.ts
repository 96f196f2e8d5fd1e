// The command line: commands, options, help, and the errors that are the caller's.
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, type LoadOptions, type ProgressInfo } from '../entries/index.js';
import { isHubId } from '../source/model_source.js';

type Options = NonNullable<ParseArgsConfig['options']>;
export type Values = Record<string, string | boolean | string[] | undefined>;

const kModel: Options = {
  model: { type: 'string' },
  revision: { type: 'string' },
  'local-files-only': { type: 'boolean' },
  'cache-dir': { type: 'string' },
  progress: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
};
const kCompute: Options = { dtype: { type: 'string' }, precision: { type: 'string' }, threads: { type: 'string' } };
const kTexts: Options = {
  file: { type: 'string', multiple: true },
  input: { type: 'string' },
  'max-length': { type: 'string' },
  'split-special-tokens': { type: 'boolean' },
};

export const kCommands: Record<string, Options> = {
  embed: {
    ...kModel,
    ...kCompute,
    ...kTexts,
    pooling: { type: 'string' },
    normalize: { type: 'boolean' },
    'no-normalize': { type: 'boolean' },
    prompt: { type: 'string' },
    'prompt-name': { type: 'string' },
    'on-overflow': { type: 'string' },
  },
  classify: {
    ...kModel,
    ...kCompute,
    ...kTexts,
    'on-overflow': { type: 'string' },
    'top-k': { type: 'string' },
    function: { type: 'string' },
    labels: { type: 'string' },
    'multi-label': { type: 'boolean' },
    hypothesis: { type: 'string' },
  },
  rank: {
    ...kModel,
    ...kCompute,
    ...kTexts,
    'on-overflow': { type: 'string' },
    query: { type: 'string' },
    'top-k': { type: 'string' },
    stream: { type: 'boolean' },
  },
  run: {
    ...kModel,
    ...kCompute,
    ...kTexts,
    'on-overflow': { type: 'string' },
    task: { type: 'string' },
    options: { type: 'string' },
    labels: { type: 'string' },
    question: { type: 'string' },
  },
  generate: {
    ...kModel,
    ...kCompute,
    file: { type: 'string', multiple: true },
    input: { type: 'string' },
    task: { type: 'string' },
    'max-new-tokens': { type: 'string' },
    'context-length': { type: 'string' },
    'num-beams': { type: 'string' },
    sample: { type: 'boolean' },
    temperature: { type: 'string' },
    'top-k': { type: 'string' },
    'top-p': { type: 'string' },
    seed: { type: 'string' },
    stop: { type: 'string', multiple: true },
    'full-text': { type: 'boolean' },
    chat: { type: 'boolean' },
    stream: { type: 'boolean' },
    options: { type: 'string' },
  },
  tokenize: {
    ...kModel,
    ...kTexts,
    offsets: { type: 'string' },
    'no-special': { type: 'boolean' },
    train: { type: 'string' },
    out: { type: 'string' },
    'vocab-size': { type: 'string' },
    'min-frequency': { type: 'string' },
    'special-token': { type: 'string', multiple: true },
    options: { type: 'string' },
  },
  inspect: { ...kModel, ...kCompute, json: { type: 'boolean' }, seq: { type: 'string' } },
  pack: { ...kModel, dtype: { type: 'string' }, out: { type: 'string' } },
};

export const kLaterCommands = ['bench'];

const kModelHelp = `  --model DIR           the model: a path (./dir, /dir), a URL, or a hub id (org/name)
  --revision NAME       branch, tag or commit of a hub id (default main)
  --local-files-only    never use the network: a hub id comes from the cache
  --cache-dir DIR       where downloads from hubs are kept (default: wattn in the user's folder for caches)
  --progress            progress to standard error even when that is no terminal
`;
const kComputeHelp = `  --dtype f32|q16|q8|q4 how weights are held and multiplied (f32)
  --precision exact     exact: the same bits on every machine; fast: may use fused multiply-add
  --threads N           how many compute (default: as many as are of use; the numbers do not depend on it)
`;
const kTextsHelp = `  --file FILE           read texts from FILE, one a line (- is standard input; may be repeated)
  --input auto          auto: a line that begins with { is a JSON object with "text", whose other members are carried over,
                        a JSON string is its text, any other line is a text; text: every line is a text; json: only JSON
  --max-length N        tokens, special ones included
  --split-special-tokens
                        strings like [SEP] in a text are ordinary text
`;

export const kHelp: Record<string, string> = {
  '': `Usage: wattn COMMAND --model DIR [options] [TEXT...]

  embed      {"text": .., "embedding": [..]} a line
  classify   {"text": .., "labels": [{"label": .., "score": ..}, ..]} a line
  rank       {"text": .., "score": ..} a line, best first
  run        any other task: {"text": .., "result": ..} a line
  generate   {"text": .., "generated_text": ..} a line, or the text as it comes
  tokenize   {"text": .., "ids": [..], "tokens": [..], "offsets": [[start, end], ..]} a line
  inspect    layers, shapes, parameters, mult-adds, bytes, memory
  pack       the model as one .gguf file

  wattn COMMAND --help  the options of a command
  wattn --version

Texts come from the command line, from --file, or from standard input, one a line. Results go to standard output as they come.
Exit status: 0, or 2 with one line on standard error for a wrong option, model or input.
`,
  embed: `Usage: wattn embed --model DIR [options] [TEXT...]

Writes {"text": .., "embedding": [..]} a line; with --pooling none the embedding has one array a token. A line of a text that
was cut to the longest input has "truncated": true and "tokens".

${kModelHelp}${kComputeHelp}  --pooling MODE        none, mean, cls, max, mean_sqrt_len_tokens, weightedmean, lasttoken, or several with commas
                        (default: the model's own, else none)
  --normalize, --no-normalize
                        unit length or not (default: the model's own)
  --prompt TEXT         put before every text
  --prompt-name NAME    one of the model's own prompts
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}`,
  classify: `Usage: wattn classify --model DIR [options] [TEXT...]

Writes {"text": .., "labels": [{"label": .., "score": ..}, ..]} a line, best label first. A JSON object may have a second text, "text_pair".

${kModelHelp}${kComputeHelp}  --top-k N             labels a text (all)
  --function NAME       softmax, sigmoid or none (default: as Python's pipeline chooses)
  --labels A,B,C        labels of your own, by a model of natural-language inference (zero-shot)
  --multi-label         each of those by itself
  --hypothesis TEXT     made from each of those, which {} stands for ("This example is {}.")
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}`,
  rank: `Usage: wattn rank --model DIR --query TEXT [options] [DOCUMENT...]

Writes {"text": .., "corpus_id": .., "score": ..} a line, the document that answers the query best first.

${kModelHelp}${kComputeHelp}  --query TEXT          what the documents are ranked for
  --top-k N             documents (all)
  --stream              each document as it comes, in its place, with its score
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}`,
  run: `Usage: wattn run --task TASK --model DIR [options] [TEXT...]

Writes {"text": .., "result": ..} a line; the result is what pipeline(TASK) gives.

${kModelHelp}${kComputeHelp}  --task TASK           token-classification (ner), question-answering, fill-mask, text-classification, zero-shot-classification
  --options JSON        options of the pipeline's call: {"aggregation_strategy": "simple", "stride": 32}
  --question TEXT       question-answering: asked of every text (default: the JSON object's own "question")
  --labels A,B,C        zero-shot-classification: the labels
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}`,
  generate: `Usage: wattn generate --model DIR [options] [TEXT...]

Writes {"text": .., "generated_text": .., "tokens": .., "finish_reason": "eos" | "stop" | "length"} a line; of an encoder-decoder
(T5, BART, Marian) the text that it makes of the text.

${kModelHelp}${kComputeHelp}  --context-length N    tokens that prompt and answer may have together (default: the model's own, at most 4096)
  --task TASK           translation or summarization: with the prefix and the parameters that config.json has for it
  --max-new-tokens N    tokens of an answer (default: the model's own, else 256)
  --temperature T, --top-k N, --top-p P, --seed N
                        the tokens are drawn, so; without them as the model's generation_config.json says
  --sample              the tokens are drawn
  --num-beams N         beam search
  --stop TEXT           ends an answer (may be repeated)
  --full-text           the text is in generated_text, too
  --chat                each text is a user's message: the model's chat template is put around it
  --stream              no JSON: the new text as it comes
  --options JSON        more options of the pipeline's call: {"repetition_penalty": 1.2}
  --file FILE, --input auto
                        as the other commands have them
`,
  tokenize: `Usage: wattn tokenize --model DIR [options] [TEXT...]
       wattn tokenize --train MODEL --out FILE [options] [FILE...]

Writes {"text": .., "ids": [..], "tokens": [..], "offsets": [[start, end], ..]} a line. Nothing is cut unless --max-length is given.

${kModelHelp}  --offsets utf16       unit of the offsets: utf16 (JavaScript's) or codepoint (Python's)
  --no-special          no special tokens
${kTextsHelp}
Training makes a tokenizer.json out of the lines of FILEs (or of standard input); Python's tokenizers and transformers load it too.

  --train MODEL         wordpiece, bpe, unigram, word or char
  --out FILE            where the tokenizer.json goes
  --vocab-size N        tokens, special ones included (30000; unigram 8000)
  --min-frequency N     how often something must be there to become a token
  --special-token TOKEN in place of the model's usual ones (may be repeated)
  --options JSON        more options of AutoTokenizer.train: {"normalizer": {"type": "NFC"}, "limit_alphabet": 1000, ..}
`,
  inspect: `Usage: wattn inspect --model DIR [options]

${kModelHelp}${kComputeHelp}  --seq N               tokens of the sequence that shapes and mult-adds are for (default: the model's longest)
  --json                one JSON object instead of a table
`,
  pack: `Usage: wattn pack --model DIR [--dtype q8] --out FILE.gguf

${kModelHelp}  --dtype f32|q8|q4      how matrices are written (q8: 8.5 bits a weight; q4: 4.5, at a cost in accuracy)
  --out FILE            the file to write; its size and SHA-256 go to standard output
`,
};

export function parse(command: string, args: string[]): { values: Values; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({ args, options: kCommands[command] as Options, allowPositionals: true });
    return { values: values as Values, positionals };
  } catch (error) {
    const [line] = (error as Error).message.split(/\.? To specify a positional|\n/);
    throw new InputError(`${line} (see wattn ${command} --help)`);
  }
}

export function text(values: Values, name: string): string | undefined {
  return values[name] as string | undefined;
}

export function count(values: Values, name: string): number | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  if (!/^\d{1,9}$/.test(value) || Number(value) < 1)
    throw new InputError(`--${name}: expected a whole number from 1 on, found '${value}'`);
  return Number(value);
}

export function choice<Name extends string>(values: Values, option: string, names: readonly Name[]): Name | undefined {
  const value = text(values, option);
  if (value === undefined || names.includes(value as Name)) return value as Name | undefined;
  throw new InputError(`--${option}: expected ${names.join(' or ')}, found '${value}'`);
}

export function flag(values: Values, name: string): boolean | undefined {
  return values[name] === true ? true : undefined;
}

/** The model argument. A word that could be a hub id or a folder that is there is neither taken for the one nor the other. */
export function modelOf(values: Values): string | undefined {
  const model = text(values, 'model');
  if (model === undefined) return undefined; // the bundled model
  if (isHubId(model) && existsSync(join(model, 'config.json'))) {
    throw new InputError(
      `--model: '${model}' has the form of a hub id, and there is a folder of that name: write ./${model} for the folder`,
    );
  }
  return model;
}

/** Options of loading, with the progress line on standard error. */
export function loadOptions(
  values: Values,
): Pick<LoadOptions, 'revision' | 'local_files_only' | 'cache_dir' | 'progress_callback'> {
  const { stderr } = process;
  const shown = stderr.isTTY || values['progress'] === true;
  let percent = -1;
  const show = (info: ProgressInfo) => {
    if (info.status === 'ready' && stderr.isTTY) stderr.write('\r\x1b[K');
    if (info.status !== 'progress' || Math.floor(info.progress) === percent) return;
    percent = Math.floor(info.progress);
    const line = `${info.file}: ${percent}% of ${(info.total / 1e6).toFixed(1)} MB`;
    if (stderr.isTTY) stderr.write(`\r\x1b[K${line}`);
    else if (percent % 10 === 0) stderr.write(`${line}\n`);
  };
  return {
    ...(text(values, 'revision') !== undefined && { revision: text(values, 'revision') as string }),
    ...(flag(values, 'local-files-only') && { local_files_only: true }),
    ...(text(values, 'cache-dir') !== undefined && { cache_dir: text(values, 'cache-dir') as string }),
    ...(shown && { progress_callback: show }),
  };
}

/** options without the undefined ones. */
export function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}

export function computeOptions(values: Values): LoadOptions {
  return given({
    ...loadOptions(values),
    dtype: text(values, 'dtype'),
    precision: text(values, 'precision'),
    threads: count(values, 'threads'),
  }) as LoadOptions;
}
