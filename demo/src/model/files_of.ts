// The files of a folder, picked or dropped, by their names inside it. Nothing is read here: only names are listed.

export type ModelFiles = ReadonlyMap<string, File>;

// A checkpoint has some dozens. More is another folder picked by mistake, and listing all of it would take minutes.
const kMostFiles = 2000;

function tooMany(): Error {
  return new Error(`The folder has more than ${kMostFiles} files, so it is probably not a model folder.`);
}

/** What is not a model: hidden files, and what version control keeps. */
const isHidden = (name: string) => name.startsWith('.');

export function filesOfPicker(list: FileList): ModelFiles {
  if (list.length > kMostFiles) throw tooMany();
  const files = [...list].filter((file) => !(file.webkitRelativePath || file.name).split('/').some(isHidden));
  if (files.length === 0) throw new Error('The folder is empty.');
  return new Map(files.map((file) => [file.webkitRelativePath || file.name, file]));
}

async function readEntries(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    // At most 100 come at a time; an empty answer is the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return entries;
    entries.push(...some);
  }
}

async function walk(entry: FileSystemEntry, files: Map<string, File>): Promise<void> {
  if (isHidden(entry.name)) return;
  if (files.size >= kMostFiles) throw tooMany();
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    files.set(entry.fullPath, file);
    return;
  }
  for (const inner of await readEntries(entry as FileSystemDirectoryEntry)) await walk(inner, files);
}

/** Must be called within the drop event: what was dropped is gone after it. */
export async function filesOfDrop(transfer: DataTransfer): Promise<ModelFiles> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0) throw new Error('No files were dropped. Drop a model folder.');
  const files = new Map<string, File>();
  for (const entry of entries) await walk(entry, files);
  return files;
}

/** The folder's own name, or the file's, to show. */
export function nameOf(files: ModelFiles): string {
  const [first] = files.keys();
  const parts = (first ?? '').split('/').filter(Boolean);
  if (parts.length > 1) return parts[0] as string;
  return files.size === 1 ? (parts[0] as string) : `${files.size} files`;
}
