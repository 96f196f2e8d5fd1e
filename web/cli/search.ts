// `wattn index` and `wattn search`: a folder's texts in one file that can be searched, here and in pages.
import { readFile, stat } from 'node:fs/promises';
import { choice, computeOptions, count, flag, given, modelOf, number, required, text, type Values } from './args.js';
import { readDocuments } from './files.js';
import { write } from './lines.js';
import { report, writeOut } from './output.js';
import { counted, Progress } from './progress.js';
import { Index, InputError, pipeline, type IndexOptions, type IndexSearchOptions } from '../entries/index.js';

/** An index of these bytes in memory. */
async function openIndex(
  values: Values,
  bytes: Uint8Array | undefined,
  options: IndexOptions,
): Promise<{ index: Index; close: () => Promise<void> }> {
  const wordsOnly = flag(values, 'words') ?? choice(values, 'mode', ['hybrid', 'words', 'meaning']) === 'words';
  const embed = wordsOnly ? undefined : await pipeline('feature-extraction', modelOf(values), computeOptions(values));
  const index = await Index.open('file', { ...options, embed, store: 'memory' });
  if (bytes) await index.import_file(bytes);
  const close = async () => {
    await Promise.all([index.dispose(), embed?.dispose()]);
  };
  return { index, close };
}

const codeOf = (error: unknown) => (error as { code?: string }).code;

/** The bytes of the index that there is. A device or a pipe has none, and reading one might wait forever. */
async function readBefore(out: string): Promise<Uint8Array | undefined> {
  const found = await stat(out);
  return found.isFile() && found.size > 0 && !/^\/(dev|proc)\//.test(out) ? readFile(out) : undefined;
}

export async function indexFiles(values: Values, positionals: string[]): Promise<void> {
  if (text(values, 'static') !== undefined) return (await import('./static_index.js')).indexSite(values, positionals);
  if (text(values, 'base') !== undefined) throw new InputError('--base: expected --static with it, found none');
  const out = required(values, 'out', 'the file to write');
  if (positionals.length === 0) throw new InputError('expected the folder to index, found none');
  const { documents, empty } = await readDocuments(positionals);
  if (documents.length === 0) throw new InputError(`found no .txt, .md or .html file with words in ${positionals.join(', ')}`);
  const before = await readBefore(out).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new InputError(`--out: cannot read ${out}: ${codeOf(error)}`);
  });
  const chunk = given({ max_tokens: count(values, 'max-tokens'), overlap: number(values, 'overlap') });
  const precision = choice(values, 'vectors', ['int8', 'binary', 'float32']);
  const { index, close } = await openIndex(
    values,
    before,
    given({ chunk: flag(values, 'words') ? false : chunk, precision, language: values['language'] }) as IndexOptions,
  );
  const bar = new Progress(values, counted('documents'));
  const work = index.add(documents);
  for await (const { done, total, seconds_left } of work) bar.show({ done, total, left: seconds_left });
  bar.end();
  const done = await work;
  const present = new Set(documents.map(({ id }) => id));
  const removed = await index.delete(index.ids().filter((id) => !present.has(id)));
  const bytes = await index.export();
  const isStdout = await writeOut('out', out, bytes);
  const { chunks } = index.info();
  await report({ out, bytes: bytes.length, documents: index.size, chunks, ...done, removed, empty }, isStdout);
  await close();
}

export async function searchFile(values: Values, [file, ...queries]: string[]): Promise<void> {
  if (file === undefined || queries.length === 0)
    throw new InputError('expected the file of an index and a query: wattn search notes.wattn "the query"');
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new InputError(`cannot read ${file}: ${codeOf(error)}`);
  });
  const { index, close } = await openIndex(values, bytes, {});
  const options = given({
    top_k: count(values, 'top-k'),
    mode: choice(values, 'mode', ['hybrid', 'words', 'meaning']),
    syntax: choice(values, 'syntax', ['auto', 'always', 'never']),
    prefix: flag(values, 'prefix'),
    fuzzy: flag(values, 'fuzzy'),
  }) as IndexSearchOptions;
  for (const query of queries) {
    for (const { id, score, text: found, start, end, headings, why, document } of await index.search(query, options)) {
      const { title } = document;
      const hit = {
        ...(queries.length > 1 && { query }),
        id,
        ...(title !== undefined && { title }),
        score,
        start,
        end,
        ...(headings.length > 0 && { headings }),
        text: found,
        why,
      };
      await write(`${JSON.stringify(hit)}\n`);
    }
  }
  await close();
}
