// Names of indexes, which are also names of folders.
import { describe, InputError } from '../core/errors.js';

const kMostChars = 200;
/** Windows opens these as devices, with any extension. */
const kDevices = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])(\.|$)/i;
const kSurrogates = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** An `InputError` unless every store can keep an index of this name, and nothing else has it. */
export function checkName(where: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '' || name.length > kMostChars) {
    throw new InputError(`${where}: expected a name of 1 to ${kMostChars} characters, found ${describe(name)}`);
  }
  const wrong = (what: string) => new InputError(`${where}: expected the name of an index, found ${describe(name)}, which ${what}`);
  if (/^\.+$/.test(name)) throw wrong('names another folder');
  if (/[/\\]/.test(name)) throw wrong("is a path: set the option 'store' to choose a folder");
  if (kSurrogates.test(name)) throw wrong('has a lone surrogate');
  if (kDevices.test(name)) throw wrong('Windows reserves for a device');
}

/** The name of its folder. */
export const folderOf = (name: string): string => encodeURIComponent(name);

/** The index whose folder it is. */
export function indexOf(folder: string): string | undefined {
  try {
    const name = decodeURIComponent(folder);
    return folderOf(name) === folder ? name : undefined;
  } catch {
    return undefined;
  }
}
