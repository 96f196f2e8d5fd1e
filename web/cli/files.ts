// Texts, Markdown and HTML of a folder, as documents of an index.
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { InputError, type IndexDocument } from '../entries/index.js';
import { readHtml } from './html.js';

const kTexts = ['.txt', '.text'];
const kMarkdown = ['.md', '.markdown', '.mdx'];
const kHtml = ['.html', '.htm', '.xhtml'];
const kKnown = [...kTexts, ...kMarkdown, ...kHtml];

/** A value of front matter without the quotes around it. */
function unquoted(value: string): string {
  const text = value.trim();
  const from = /^["']/.test(text) ? 1 : 0;
  return text.slice(from, /["']$/.test(text) ? -1 : undefined).trim();
}

/** A heading without the number signs that may end it. */
function withoutSigns(heading: string): string {
  let end = heading.trimEnd().length;
  while (end > 1 && heading[end - 1] === '#') --end;
  return heading.slice(0, end).trimEnd();
}

/** Without its front matter, whose title counts, as does the first heading. No expression here looks twice at the same characters. */
function readMarkdown(markdown: string): { title: string; text: string } {
  const [front = ''] = /^---\r?\n[^]*?\n---\r?\n/.exec(markdown) ?? [];
  const text = markdown.slice(front.length);
  const [, named = ''] = /^title:(.*)$/m.exec(front) ?? [];
  const [, heading = ''] = /^#[ \t]+(\S.*)$/m.exec(text) ?? [];
  return { title: unquoted(named) || withoutSigns(heading), text };
}

/** A longer title is a part of the text: an index reads titles with every part of it. */
const kLongestTitle = 1000;

function toDocument(id: string, content: string): IndexDocument | undefined {
  const type = extname(id).toLowerCase();
  const read = kHtml.includes(type)
    ? readHtml(content)
    : kMarkdown.includes(type)
      ? readMarkdown(content)
      : { title: '', text: content };
  const title = read.title.replace(/\s+/g, ' ').trim();
  const isLong = title.length > kLongestTitle;
  const text = `${isLong ? `${title}\n\n` : ''}${read.text}`.trim();
  return text === '' ? undefined : { id, text, ...(title !== '' && !isLong && { title }) };
}

/** The files under the given folders, and given files. Ids are paths from where the command runs; names with a dot before them are left out. */
export async function readDocuments(paths: readonly string[]): Promise<{ documents: IndexDocument[]; empty: number }> {
  const files: string[] = [];
  for (const path of paths) {
    const found = await stat(path).catch((error: { code?: string }) => {
      throw new InputError(`cannot read ${path}: ${error.code}`);
    });
    if (found.isFile()) files.push(path);
    const entries = found.isDirectory() ? await readdir(path, { recursive: true, withFileTypes: true }) : [];
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
    const document = toDocument(relative('.', file).split(sep).join('/'), await readFile(file, 'utf8'));
    if (document) documents.push(document);
  }
  return { documents, empty: new Set(files).size - documents.length };
}
