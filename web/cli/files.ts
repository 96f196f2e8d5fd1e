// Texts, Markdown and HTML of a folder, as documents of an index.
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { Parser } from 'htmlparser2';
import { InputError, type IndexDocument } from '../entries/index.js';

const kTexts = ['.txt', '.text'];
const kMarkdown = ['.md', '.markdown', '.mdx'];
const kHtml = ['.html', '.htm', '.xhtml'];
const kKnown = [...kTexts, ...kMarkdown, ...kHtml];

// What a reader does not see, and what begins on a line of its own.
const kHidden = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'nav']);
const kLines = new Set(
  'address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main ol p pre section table td th tr ul'.split(
    ' ',
  ),
);
const kParagraphs = /^(p|h[1-6]|ul|ol|table|pre|section|article|blockquote)$/;

function readHtml(html: string): { title: string; text: string } {
  let [title, text, hidden, isTitle] = ['', '', 0, false];
  const parser = new Parser({
    onopentag(name) {
      if (name === 'title') isTitle = true;
      if (kHidden.has(name)) ++hidden;
      if (hidden === 0 && kLines.has(name)) text += kParagraphs.test(name) ? '\n\n' : '\n';
    },
    ontext(data) {
      if (isTitle) title += data;
      else if (hidden === 0) text += data.replace(/\s+/g, ' ');
    },
    onclosetag(name) {
      if (name === 'title') isTitle = false;
      if (kHidden.has(name)) --hidden;
      if (hidden === 0 && kLines.has(name) && name !== 'br') text += '\n';
    },
  });
  parser.write(html);
  parser.end();
  return { title, text: text.replace(/ *\n */g, '\n').replace(/\n{3,}/g, '\n\n') };
}

/** Without its front matter, whose title counts, as does the first heading. */
function readMarkdown(markdown: string): { title: string; text: string } {
  const [front = ''] = /^---\r?\n[\s\S]*?\r?\n---\r?\n/.exec(markdown) ?? [];
  const text = markdown.slice(front.length);
  const [, named] = /^title:\s*["']?(.*?)["']?\s*$/m.exec(front) ?? [];
  const [, heading] = /^#\s+(.+?)\s*#*$/m.exec(text) ?? [];
  return { title: named ?? heading ?? '', text };
}

function toDocument(id: string, content: string): IndexDocument | undefined {
  const type = extname(id).toLowerCase();
  const read = kHtml.includes(type)
    ? readHtml(content)
    : kMarkdown.includes(type)
      ? readMarkdown(content)
      : { title: '', text: content };
  const title = read.title.replace(/\s+/g, ' ').trim();
  const text = read.text.trim();
  return text === '' ? undefined : { id, text, ...(title !== '' && { title }) };
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
