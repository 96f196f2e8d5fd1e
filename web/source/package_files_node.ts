// Where Node finds the package's own files, and other packages. A bundler may have moved the script away from both. Those that understand
// `new URL('./file', import.meta.url)` copy the files and change the URL; others leave a URL of the new script or of the machine that built it, or
// none.
import { existsSync } from 'node:fs';
import nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { UnsupportedError } from '../core/errors.js';
import { fsSync, paths } from './files_node.js';

/** A variable of CommonJS, which the bundle of a caller may be. */
declare const __dirname: string | undefined;

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const pathOf = (url: string | URL | undefined) => attempt(() => fileURLToPath(String(url)));

/** Where wattn's files may be, most likely first: with this script, the program, a single executable. Not in the current folder: workers are run from these. */
function folders(): string[] {
  const scripts = [pathOf(import.meta.url), process.argv[1], process.execPath].map((path) => path && paths.dirname(path));
  scripts.splice(1, 0, typeof __dirname === 'string' ? __dirname : undefined);
  return [...new Set(scripts)].filter((folder): folder is string => !!folder);
}

/** Not by its name, as webpack follows createRequire, and warns where it cannot. */
const requireFrom = Reflect.get(nodeModule, 'createRequire') as typeof nodeModule.createRequire;

/** The path that `require.resolve` finds from the first of the folders that has it. */
function resolvedFrom(from: readonly (string | undefined)[], file: string): string | undefined {
  for (const folder of from) {
    const found = folder && attempt(() => requireFrom(paths.join(folder, 'program.js')).resolve(file));
    if (found) return found;
  }
  return undefined;
}

/** The URL of a file of an installed package, `name/file`. The package of the current folder comes before one that wattn sees. */
export function installed(file: string): string | undefined {
  const path = resolvedFrom([attempt(() => process.cwd()), ...folders()], file);
  return path === undefined ? undefined : pathToFileURL(path).href;
}

/** A module of Node that is loaded when it is first needed. */
export const builtin = (name: string): unknown => requireFrom(process.execPath)(name);

/** The exports of a package that wattn or the program sees; throws if there is none. */
export const fromInstalled = (name: string): unknown => builtin(resolvedFrom(folders(), name) ?? name);

/**
 * Whether each file is beside this script. Tools that copy what a server needs (@vercel/nft, in Next's standalone output, Nuxt, Vercel) find files where
 * a call of fs names them in this form.
 */
const kBeside: Record<string, () => boolean> = {
  'wattn-simd.wasm': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-simd.wasm')),
  'wattn-relaxed.wasm': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-relaxed.wasm')),
  'wattn-full-simd.wasm': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-full-simd.wasm')),
  'wattn-full-relaxed.wasm': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-full-relaxed.wasm')),
  'wattn-tokenizer.wasm': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-tokenizer.wasm')),
  'wattn-nn.wasm': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-nn.wasm')),
  'wattn-constraints.wasm': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-constraints.wasm')),
  'wattn-search.wasm': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-search.wasm')),
  'wattn-default.gguf': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-default.gguf')),
  'wattn-worker.mjs': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-worker.mjs')),
  'wattn-train-worker.mjs': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-train-worker.mjs')),
  'wattn-thread.mjs': () => existsSync(join(dirname(fileURLToPath(import.meta.url)), 'wattn-thread.mjs')),
};

/** Whether a URL leads to a file, or to what is no file: a server of modules, or bytes in the URL. */
function isThere(url: URL | undefined): url is URL {
  const path = pathOf(url);
  return path === undefined ? attempt(() => new URL(url!).protocol !== 'file:') === true : fsSync.existsSync(path);
}

/** Where an installed wattn would be that a script in this folder sees. Its package.json, which require.resolve reads, may not have been copied. */
function packages(folder: string): string[] {
  const up = paths.dirname(folder);
  return [paths.join(folder, 'node_modules/wattn/dist'), ...(up === folder ? [] : packages(up))];
}

/** Whether the form that bundlers recognise leads to a file. */
export const leadsToFile = (literal: () => URL) => isThere(attempt(literal));

/** The URL of a file of wattn. literal: makes it in the form that bundlers recognise. */
export function ownFile(file: string, literal?: () => URL): URL {
  const url = literal && attempt(literal);
  if (isThere(url)) return url;
  if (attempt(kBeside[file]!)) return Reflect.construct(URL, [file, import.meta.url]) as URL; // in no form that webpack warns of
  const beside = folders();
  const places = [...beside, ...beside.flatMap(packages)].map((folder) => paths.join(folder, file));
  const found = places.find((place) => fsSync.existsSync(place));
  if (found !== undefined) return pathToFileURL(found);
  const remedy = process.env['NEXT_RUNTIME']
    ? "set serverExternalPackages: ['wattn'] in Next's configuration"
    : 'copy node_modules/wattn/dist/wattn-* beside the script';
  throw new UnsupportedError(
    `${file}: found neither beside this script (in ${beside.join(', ')}) nor in an installed wattn: ${remedy}`,
  );
}
