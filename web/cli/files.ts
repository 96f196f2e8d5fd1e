// Texts, Markdown and HTML of a folder, as documents of an index.
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { InputError, type IndexDocument } from '../entries/index.js';
import { kKnown, toDocument } from './markup.js';

const cannotRead = (path: string) => (error: { code?: string }) => {
  throw new InputError(`cannot read ${path}: ${error.code}`);
};

/** The files under the given folders, and given files. Ids are paths from where the command runs; names with a dot before them are left out. */
export async function readDocuments(paths: readonly string[]): Promise<{ documents: IndexDocument[]; empty: number }> {
  const files: string[] = [];
  for (const path of paths) {
    const found = await stat(path).catch(cannotRead(path));
    if (found.isFile()) files.push(path);
    const entries = found.isDirectory()
      ? await readdir(path, { recursive: true, withFileTypes: true }).catch(cannotRead(path))
      : [];
    for (const entry of entries) {
      const file = join(entry.parentPath ?? entry.path, entry.name);
      const isHidden = relative(path, file)
        .split(sep)
        .some((part) => part.startsWith('.') || part === 'node_modules');
      if (entry.isFile() && !isHidden && kKnown.includes(extname(file).toLowerCase())) files.push(file);
    }
  }
  const documents: IndexDocument[] = [];
  for (const file of [...new Set(files)].sort()) {
    const document = toDocument(relative('.', file).split(sep).join('/'), await readFile(file, 'utf8').catch(cannotRead(file)));
    if (document) documents.push(document);
  }
  return { documents, empty: new Set(files).size - documents.length };
}
