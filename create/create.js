// Writes a project's files from a template. Nothing here asks or prints.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = dirname(fileURLToPath(import.meta.url));

/** The version of this package, which is that of the wattn that its templates use. */
export const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));

/** The templates, of which the first is the default: what each is, in a few words. */
export const kTemplates = {
  search: 'a search page for your documents that also works offline (Vite)',
  chat: 'a chat page with a small language model (Vite)',
  worker: 'a Cloudflare Worker that embeds and searches (Wrangler)',
};

/** Something that the command does not do, said in one line. status: its exit status. */
export class Refusal extends Error {
  constructor(message, status = 1) {
    super(message);
    this.status = status;
  }
}

export const usage = () => `Usage: npm create wattn [FOLDER] [-- --template NAME]

Writes a project that uses wattn into a new or empty folder (default: wattn-app).

  --template NAME  one of:
${Object.entries(kTemplates).map(([name, about]) => `                     ${name.padEnd(8)}${about}`).join('\n')}
  --help           prints this
  --version        prints the version`; // prettier-ignore

/** How many letters must be changed, added or removed to make one word of the other. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

/** `expected one of .., found ..`, with the name that was probably meant. */
function unknown(what, found, names) {
  const [nearest] = names.filter((name) => distance(name, found.toLowerCase()) <= 2);
  const hint = nearest === undefined ? '' : `; did you mean '${nearest}'?`;
  return new Refusal(`${what}: expected one of ${names.join(', ')}, found '${found}'${hint}`, 2);
}

/**
 * Reads the command's arguments.
 *
 * @param args without the program's name.
 * @returns `{ folder, template, help, isVersion }`; what is not given is undefined. A `Refusal`: anything else.
 */
export function parseArguments(args) {
  const found = { folder: undefined, template: undefined, help: false, isVersion: false };
  for (let i = 0; i < args.length; ++i) {
    const [name, inline] = args[i].startsWith('--') ? args[i].split(/=(.*)/s) : [args[i]];
    if (name === '--help' || name === '-h') found.help = true;
    else if (name === '--version') found.isVersion = true;
    else if (name === '--template' || name === '-t') {
      const value = inline ?? args[++i];
      if (value === undefined)
        throw new Refusal(`--template: expected one of ${Object.keys(kTemplates).join(', ')}, found nothing`, 2);
      if (!Object.hasOwn(kTemplates, value)) throw unknown('--template', value, Object.keys(kTemplates));
      found.template = value;
    } else if (name.startsWith('-') && name !== '-') throw unknown('options', name, ['--template', '--help', '--version']);
    else if (found.folder !== undefined) throw new Refusal(`expected one folder, found '${found.folder}' and '${name}'`, 2);
    else if (name.trim() === '') throw new Refusal('the folder: expected a name, found an empty one', 2);
    else found.folder = name;
  }
  return found;
}

/** A name that npm accepts: lower case, without what a URL would escape. */
function packageName(folder) {
  const name = basename(folder).normalize('NFKD').replace(/[\u0300-\u036f]/g, '').toLowerCase(); // prettier-ignore
  return name.replace(/[^a-z0-9~-]+/g, '-').replace(/^[-~]+|-+$/g, '') || 'wattn-app';
}

/** Refuses a place that holds anything but a new repository. */
function checkEmpty(folder, shown) {
  let entries;
  try {
    entries = readdirSync(folder).filter((name) => name !== '.git');
  } catch (error) {
    if (error.code === 'ENOENT') return;
    if (error.code === 'ENOTDIR') throw new Refusal(`${shown}: expected a new or empty folder, found a file`);
    throw new Refusal(`${shown}: ${error.message}`);
  }
  if (entries.length === 0) return;
  const rest = entries.length > 1 ? ` and ${entries.length - 1} more` : '';
  throw new Refusal(`${shown}: expected a new or empty folder, found ${entries.sort()[0]}${rest}. Nothing was changed`);
}

/** What runs the project: the package manager that runs this command. */
function manager(userAgent = '') {
  const name = userAgent.split('/')[0];
  return ['npm', 'pnpm', 'yarn', 'bun'].includes(name) ? name : 'npm';
}

/** The files of a template: their paths, and as which they are written. npm leaves `.gitignore` out of packages, so a name that begins with `_` is one with a dot. */
function filesOf(template) {
  const folder = join(home, 'templates', template);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort()
    .map((path) => ({ from: join(folder, path), to: path.replace(/(^|[/\\])_(?=[^/\\]*$)/, '$1.') }));
}

/**
 * Writes a project.
 *
 * @param place the folder, which is made if it is not there.
 * @param template one of `kTemplates`.
 * @param options userAgent: npm's `npm_config_user_agent`, which names the package manager. cwd: what `place` begins from; default: where the program runs.
 * @returns `{ where, wrote, steps }`: the folder as it is shown, the paths written, and the commands that come next. A `Refusal`: a folder that is not empty, or
 *   that cannot be written; then nothing was changed.
 */
export function create(place, template, { userAgent, cwd = process.cwd() } = {}) {
  const folder = resolve(cwd, place);
  const where = relative(cwd, folder) || '.';
  checkEmpty(folder, where);
  const files = filesOf(template).map(({ from, to }) => ({
    to,
    bytes: to === 'package.json' ? manifest(from, folder) : readFileSync(from),
  }));
  try {
    for (const { to, bytes } of files) {
      mkdirSync(dirname(join(folder, to)), { recursive: true });
      writeFileSync(join(folder, to), bytes, { flag: 'wx' });
    }
  } catch (error) {
    throw new Refusal(`${where}: ${error.message}`);
  }
  const tool = manager(userAgent);
  const enter = where === '.' ? '' : `cd ${/^[\w./\\-]+$/.test(where) ? where : JSON.stringify(where)} && `;
  return { where, wrote: files.map(({ to }) => to), steps: [`${enter}${tool} install`, `${tool} run dev`] };
}

function manifest(file, folder) {
  const about = JSON.parse(readFileSync(file, 'utf8'));
  about.name = packageName(folder);
  about.dependencies.wattn = `^${version}`;
  return `${JSON.stringify(about, null, 2)}\n`;
}
