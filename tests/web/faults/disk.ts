// A disk that loses unsynced data. It follows a folder of the real file system, and records which content of each file and which names in each
// folder were synced. A sync of a file keeps its content, not its name; a sync of a folder keeps its names. Names change in order: after a loss of
// power some of the last changes in a folder are missing, never one in the middle. Contents that were not synced may be anything.
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { calls, type Call } from './calls.js';

/**
 * What remains after a loss of power. `nothing`: only what was synced. `empty`, `zeros`, `half`: all names, and contents that were not synced are empty,
 * zeros, or half there. A number: a choice for each folder and file, by this seed.
 */
export type Loss = 'nothing' | 'empty' | 'zeros' | 'half' | number;

type Entry = { id: string; kind: 'file' | 'folder' | 'other'; target?: string };
type Names = Map<string, Entry>;

const kChangesNames = 'appendFile copyFile cp link mkdir mkdtemp open rename rm rmdir unlink writeFile'.split(' ');

export class Disk {
  private readonly fs = calls.real;
  private readonly top: string;
  /** The names in each folder: those that were synced, then each state since. */
  private readonly states = new Map<string, Names[]>();
  /** Synced contents. */
  private readonly synced = new Map<string, Buffer>();
  /** Files are held open, so that their content can be read after their last name is gone, and their number is not used again. */
  private readonly held = new Map<string, number>();

  /** All that is in the folder now counts as synced. */
  constructor(private readonly folder: string) {
    this.top = this.idOf(folder);
    this.look();
    for (const [id, states] of this.states) this.states.set(id, states.slice(-1));
    for (const id of this.held.keys()) this.synced.set(id, this.contentOf(id));
  }

  private idOf(path: string): string {
    return String(this.fs.lstatSync(path, { bigint: true }).ino);
  }

  private contentOf(id: string): Buffer {
    const fd = this.held.get(id) as number;
    const bytes = Buffer.alloc(this.fs.fstatSync(fd).size);
    let at = 0;
    for (let read = 1; at < bytes.length && read > 0; at += read) read = this.fs.readSync(fd, bytes, at, bytes.length - at, at);
    return bytes.subarray(0, at);
  }

  private entryOf(path: string, found: Dirent): Entry {
    const entry: Entry = { id: this.idOf(path), kind: found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other' };
    if (found.isSymbolicLink()) entry.target = this.fs.readlinkSync(path);
    if (entry.kind === 'file' && !this.held.has(entry.id)) this.held.set(entry.id, this.fs.openSync(path, 'r'));
    if (entry.kind === 'folder') this.look(path);
    return entry;
  }

  /** Takes the names of every folder as they are now. */
  look(path = this.folder): void {
    const names: Names = new Map();
    for (const found of this.fs.readdirSync(path, { withFileTypes: true })) {
      try {
        names.set(found.name, this.entryOf(join(path, found.name), found));
      } catch (error) {
        // A call under way has taken the name away since. Its own end is looked at.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    const id = this.idOf(path);
    const states = this.states.get(id) ?? [new Map<string, Entry>()];
    const text = (state: Names | undefined) => JSON.stringify([...(state ?? [])].sort());
    if (text(names) !== text(states.at(-1))) states.push(names);
    this.states.set(id, states);
  }

  private readonly syncs = new Map<Call, () => void>();

  /** To be called before a call: what a sync keeps is what was there when it began. */
  begins(call: Call): void {
    if (!/sync$/.test(call.name) || call.fd === undefined) return;
    const id = String(this.fs.fstatSync(call.fd, { bigint: true }).ino);
    const states = this.states.get(id);
    const state = states?.at(-1);
    if (states && state) this.syncs.set(call, () => void states.splice(0, states.indexOf(state)));
    else if (this.held.has(id)) {
      const content = this.contentOf(id);
      this.syncs.set(call, () => this.synced.set(id, content));
    }
  }

  /** To be called after a call that succeeded. */
  ended(call: Call): void {
    if (kChangesNames.includes(call.name)) this.look();
    this.syncs.get(call)?.();
    this.syncs.delete(call);
    if (call.flush && call.paths[0]) this.synced.set(this.idOf(call.paths[0]), this.contentOf(this.idOf(call.paths[0])));
  }

  /** Brings the folder to a state in which a loss of power may leave it. */
  lose(loss: Loss): void {
    this.look(); // at what ended meanwhile
    const random = new Random(typeof loss === 'number' ? loss : 0);
    const files: [path: string, content: Buffer, touched: Date][] = [];
    const folders: string[] = [];
    const links: [path: string, target: string][] = [];
    const chosen = new Map<string, Buffer>(); // a file with two names is one file
    const visit = (path: string, id: string) => {
      const states = this.states.get(id) ?? [new Map<string, Entry>()];
      const at = loss === 'nothing' ? 0 : typeof loss === 'string' ? states.length - 1 : random.below(states.length);
      for (const [name, entry] of states[at] as Names) {
        const inside = join(path, name);
        if (entry.target !== undefined) links.push([inside, entry.target]);
        if (entry.kind === 'folder') {
          folders.push(inside);
          visit(inside, entry.id);
        }
        if (entry.kind !== 'file') continue;
        const content = chosen.get(entry.id) ?? this.remains(entry.id, loss, random);
        chosen.set(entry.id, content);
        files.push([inside, content, this.fs.fstatSync(this.held.get(entry.id) as number).mtime]);
      }
    };
    visit(this.folder, this.top);
    for (const name of this.fs.readdirSync(this.folder)) this.fs.rmSync(join(this.folder, name), { recursive: true });
    for (const path of folders) this.fs.mkdirSync(path);
    for (const [path, target] of links) this.fs.symlinkSync(target, path);
    for (const [path, content, touched] of files) {
      this.fs.writeFileSync(path, content);
      this.fs.utimesSync(path, touched, touched);
    }
  }

  /** The content of a file after the loss. What was synced and then appended to keeps its beginning. */
  private remains(id: string, loss: Loss, random: Random): Buffer {
    const now = this.contentOf(id);
    const synced = this.synced.get(id);
    if (synced?.equals(now)) return now;
    const kinds = ['nothing', 'empty', 'zeros', 'half', 'all'];
    const kind = typeof loss === 'string' ? loss : kinds[random.below(kinds.length)];
    if (kind === 'all') return now;
    if (kind === 'nothing') return synced ?? Buffer.alloc(0);
    const kept = synced && now.subarray(0, synced.length).equals(synced) ? synced.length : 0;
    const rest = now.subarray(kept);
    const tail =
      kind === 'empty' ? rest.subarray(0, 0) : kind === 'zeros' ? Buffer.alloc(rest.length) : rest.subarray(0, rest.length >> 1);
    return Buffer.concat([now.subarray(0, kept), tail]);
  }

  /** Lets go of the files. */
  close(): void {
    for (const fd of this.held.values()) this.fs.closeSync(fd);
    this.held.clear();
  }
}

export class Random {
  constructor(private state: number) {}

  below(limit: number): number {
    this.state = (Math.imul(this.state ^ 0x5bd1e995, 1103515245) + 12345) >>> 0;
    return Math.floor(((this.state >>> 4) / 2 ** 28) * limit);
  }
}
