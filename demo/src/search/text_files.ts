// Text files that were picked or dropped.
import type { Doc } from './types.js';

const kMostBytes = 20_000_000; // of one file; a book has one million
const kMostFiles = 500;

async function toDoc(file: File): Promise<Doc> {
  if (file.size > kMostBytes) throw new Error(`${file.name} has ${file.size} bytes; this page takes at most ${kMostBytes}.`);
  const text = await file.text();
  if (text.includes('\0'))
    throw new Error(`${file.name} is not a text file: it contains null bytes. Use plain text, Markdown, CSV, ...`);
  return { name: file.name, text };
}

export async function docsOfFiles(files: Iterable<File>): Promise<Doc[]> {
  const list = [...files];
  if (list.length === 0) throw new Error('No files were dropped. Drop text files.');
  if (list.length > kMostFiles) throw new Error(`${list.length} files; this page takes at most ${kMostFiles} at once.`);
  return Promise.all(list.map(toDoc));
}

/** Files, or text that was dragged from elsewhere. */
export async function docsOfDrop(transfer: DataTransfer): Promise<Doc[]> {
  const text = transfer.getData('text/plain');
  if (transfer.files.length === 0 && text.trim() !== '') return [{ name: 'Dropped', text }];
  return docsOfFiles(transfer.files);
}
