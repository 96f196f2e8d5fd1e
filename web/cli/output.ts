// Files that commands write. A regular file is replaced as a whole. The bytes go into a file beside it, which takes its name once they are on
// the disk. So there is the old file or the new one, whatever happens. Anything else (a device, a pipe) is written through and stays what
// it is.
import { fstatSync, type Stats } from 'node:fs';
import { access, constants, open, readlink, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { write } from './lines.js';
import { begun, finished } from './signals.js';
import { InputError } from '../entries/index.js';

const codeOf = (error: unknown) => (error as { code?: string }).code ?? String(error);

/** What a path leads to, through symbolic links; also where the last of them leads to nothing yet. */
async function targetOf(file: string): Promise<string> {
  const target = await readlink(file).catch(() => undefined);
  return target === undefined ? file : targetOf(resolve(await realpath(dirname(file)), target));
}

function isStandardOutput(found: Stats): boolean {
  const own = fstatSync(1);
  return found.ino !== 0 && own.dev === found.dev && own.ino === found.ino;
}

/** A file that a command writes, named by one of its options. */
export class Output {
  private constructor(
    private readonly fail: (error: unknown) => never,
    /** undefined: it is standard output. */
    private readonly handle: FileHandle | undefined,
    /** The file that is renamed to target; undefined: it is written through. */
    private readonly part: string | undefined,
    private readonly target: string,
  ) {}

  /** Then there is no room for anything else in standard output. */
  get isStdout(): boolean {
    return this.handle === undefined;
  }
  /** Whether it can be read once it is written. */
  get isFile(): boolean {
    return this.part !== undefined;
  }

  static async open(option: string, file: string): Promise<Output> {
    const fail = (error: unknown): never => {
      throw new InputError(`--${option}: cannot write ${file}: ${codeOf(error)}`);
    };
    const found = await stat(file).catch((error: unknown) => (codeOf(error) === 'ENOENT' ? undefined : fail(error)));
    if (found?.isDirectory()) fail({ code: 'EISDIR' });
    // As a regular file, too: a shell has opened it, and goes on in it.
    const isDevice = found && (!found.isFile() || /^\/(dev|proc)\//.test(resolve(file)));
    if (isDevice && isStandardOutput(found)) return new Output(fail, undefined, undefined, file);
    if (isDevice) return new Output(fail, await open(file, 'w').catch(fail), undefined, file);
    const target = await targetOf(file).catch(fail);
    if (found) await access(target, constants.W_OK).catch(fail);
    const part = `${target}.${process.pid}.part`;
    begun(part);
    try {
      await rm(part, { force: true });
      const handle = await open(part, 'wx');
      if (found) await handle.chmod(found.mode & 0o777);
      return new Output(fail, handle, part, target);
    } catch (error) {
      finished(part, true);
      return fail(error);
    }
  }

  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.handle) await this.handle.writeFile(bytes).catch(this.fail);
    else await write(bytes);
  }

  /** After everything was written. */
  async close(): Promise<void> {
    const { handle, part, target } = this;
    try {
      if (part) await handle?.sync();
      await handle?.close();
      if (!part) return;
      await rename(part, target);
      finished(part);
    } catch (error) {
      await this.drop();
      this.fail(error);
    }
    await syncFolder(dirname(target));
  }

  /** Leaves a regular file as it was. */
  async drop(): Promise<void> {
    await this.handle?.close().catch(() => {});
    if (this.part) finished(this.part, true);
  }
}

/** So that the new name survives a loss of power. Not every system can. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close().catch(() => {});
}

/** Writes a file whole. option: the one that names it, or its folder. Answers whether it is standard output. */
export async function writeOut(option: string, file: string, bytes: string | Uint8Array): Promise<boolean> {
  const output = await Output.open(option, file);
  try {
    await output.write(bytes);
  } catch (error) {
    await output.drop();
    throw error;
  }
  await output.close();
  return output.isStdout;
}

/** Writes the line about a file: to standard error if the file itself is standard output. */
export async function report(about: object, isStdout: boolean): Promise<void> {
  const line = `${JSON.stringify(about)}\n`;
  if (isStdout) process.stderr.write(line);
  else await write(line);
}
