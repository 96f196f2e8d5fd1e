// `wattn pack`: writes a model's files as one .gguf file, smaller if asked, and says what that costs.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { choice, count, given, list, loadOptions, modelOf, noTexts, required, text, type Values } from './args.js';
import { linesOf } from './lines.js';
import { Output, report } from './output.js';
import { comparePacked, InputError, packTo, type PackOptions, type ScoredPair } from '../entries/index.js';

const cannot =
  (option: string, verb: string, file: string) =>
  (error: { code?: string }): never => {
    throw new InputError(`--${option}: cannot ${verb} ${file}: ${error.code}`);
  };

/** The lines of files. */
async function* textsOf(files: readonly string[], option: string): AsyncGenerator<string> {
  for (const file of files) {
    try {
      for await (const lines of linesOf(createReadStream(file), `--${option}: ${file}`)) {
        for (const line of lines) if (line.trim() !== '') yield line.replace(/\r$/, '');
      }
    } catch (error) {
      throw error instanceof InputError ? error : cannot(option, 'read', file)(error as { code?: string });
    }
  }
}

/**
 * Pairs of a file: two sentences and a score, separated by tabs, without quoting. A first line without a score is a header. Lines as in STS
 * Benchmark's files have four more fields before the score, which comes before the sentences, and maybe others behind them.
 */
async function readPairs(file: string): Promise<ScoredPair[]> {
  const whole = await readFile(file, 'utf8').catch(cannot('check', 'read', file));
  const rows = whole.replace(/^\uFEFF/, '').split(/\r?\n/);
  const pairs = rows.flatMap((line, i): ScoredPair[] => {
    if (line === '') return [];
    const fields = line.split('\t');
    const [sentence1, sentence2, score] = fields.length >= 7 ? [fields[5], fields[6], fields[4]] : fields;
    const value = Number(score);
    if (sentence2 !== undefined && score !== undefined && score.trim() !== '' && Number.isFinite(value))
      return [{ sentence1: sentence1 as string, sentence2, score: value }];
    if (i === 0) return [];
    throw new InputError(
      `--check: ${file}, line ${i + 1}: expected two sentences and a score, separated by tabs, found '${line.slice(0, 60)}'`,
    );
  });
  if (pairs.length === 0) throw new InputError(`--check: ${file}: expected two sentences and a score in each line, found none`);
  return pairs;
}

/** The numbers of --layers. */
function layersOf(values: Values): number[] | undefined {
  return list(values, 'layers')?.map((part) => {
    if (/^\d{1,6}$/.test(part)) return Number(part);
    throw new InputError(`--layers: expected numbers separated by commas, found '${part}'`);
  });
}

export async function pack(values: Values, positionals: string[]): Promise<void> {
  noTexts(positionals);
  const hub = text(values, 'hub');
  const out = hub === undefined ? required(values, 'out', 'the file to write') : '';
  if (hub !== undefined && text(values, 'out') !== undefined)
    throw new InputError('--out: not allowed with --hub, which chooses the file name');
  const model = modelOf(values);
  if (model === undefined) throw new InputError('--model: expected a model to pack, found none');
  const check = text(values, 'check');
  const pairs = check === undefined ? undefined : await readPairs(check);
  const corpus = values['corpus'] as string[] | undefined;
  const texts = values['calibrate'] as string[] | undefined;
  const calibrate: string[] | undefined = texts && [];
  for await (const line of textsOf(texts ?? [], 'calibrate')) calibrate?.push(line);
  const options: PackOptions = given({
    ...loadOptions(values),
    dtype: choice(values, 'dtype', ['f32', 'f16', 'q8', 'q4', 'mixed', 'native']) as PackOptions['dtype'],
    vocab: count(values, 'vocab'),
    corpus: corpus && textsOf(corpus, 'corpus'),
    calibrate,
    layers: layersOf(values),
    dim: count(values, 'dim'),
  });
  if (hub !== undefined) {
    const { file, ...about } = await (await import('./pack_hub.js')).packForHub(hub, model, options);
    const cost = pairs && (await comparePacked(model, resolve(hub, file), pairs, loadOptions(values)));
    return report({ file, ...about, ...(cost && { check: cost }) }, false);
  }
  const hash = createHash('sha256');
  const file = await Output.open('out', out);
  let packing;
  try {
    if (pairs && !file.isFile) throw new InputError(`--check: expected a file as --out, which can be read, found ${out}`);
    const write = async (chunk: Uint8Array) => {
      hash.update(chunk);
      await file.write(chunk);
    };
    packing = await packTo(model, write, options);
  } catch (error) {
    await file.drop();
    throw error;
  }
  await file.close();
  const packed = /\.gguf$/i.test(out) ? resolve(out) : pairs && { 'model.gguf': await readFile(out) };
  const cost = pairs && packed && (await comparePacked(model, packed, pairs, loadOptions(values)));
  await report({ file: out, ...packing, sha256: hash.digest('hex'), ...(cost && { check: cost }) }, file.isStdout);
}
