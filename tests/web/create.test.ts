// The package create-wattn (create/): its files, errors and questions. tools/check_fixtures.mjs installs, builds and opens the projects.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { root } from './support.js';

const home = join(root, 'create');
const json = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8'));
const about = json(home, 'package.json');
const { choose } = await import(join(home, 'choose.js'));
const { create, kTemplates, parseArguments } = await import(join(home, 'create.js'));
const kNames = Object.keys(kTemplates);
const kAlways = ['.gitignore', 'README.md', 'package.json', 'tsconfig.json'];

let place: string;
beforeEach(() => (place = mkdtempSync(join(root, 'node_modules/.create-')))); // where types are found
afterEach(() => rmSync(place, { recursive: true }));

/** Runs the command without a terminal. */
function command(...args: string[]) {
  const env = { ...process.env, npm_config_user_agent: 'npm/11.0.0 node/v24' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(home, 'index.js'), ...args], {
    cwd: place,
    encoding: 'utf8',
    env,
  });
  return { status, stdout, stderr };
}

describe('the package', () => {
  it('has the version of wattn, and no dependencies', () => {
    expect(about.version).toBe(json(root, 'package.json').version);
    expect([about.dependencies, about.peerDependencies, about.scripts.postinstall]).toEqual([undefined, undefined, undefined]);
    expect(about.engines.node).toBe('>=20');
  });

  it('packs its program and all files of the templates, and nothing else', () => {
    const [{ files, size }] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: home, encoding: 'utf8' }));
    const packed = files.map(({ path }: { path: string }) => path).sort();
    const templates = readdirSync(join(home, 'templates'), { recursive: true, withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? [join(entry.parentPath ?? entry.path, entry.name).slice(home.length + 1)] : [],
    );
    const own = ['LICENSE', 'NOTICE', 'README.md', 'SECURITY.md', 'choose.js', 'create.js', 'index.js', 'package.json'];
    expect(packed).toEqual([...own, ...templates].sort());
    expect(size).toBeLessThan(40_000);
  });

  it('describes each template in README', () => {
    const readme = readFileSync(join(home, 'README.md'), 'utf8');
    for (const name of kNames) expect(readme).toMatch(new RegExp(`^\\| \`${name}\``, 'm'));
  });
});

describe('a project', () => {
  it.each(kNames)('%s is written whole', (template) => {
    const { status, stdout, stderr } = command('My App', '--template', template);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('  cd "My App" && npm install\n  npm run dev\n');
    const folder = join(place, 'My App');
    expect(kAlways.filter((file) => !existsSync(join(folder, file)))).toEqual([]);
    const own = json(folder, 'package.json');
    expect([own.name, own.private, own.dependencies.wattn]).toEqual(['my-app', true, `^${about.version}`]);
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toContain('node_modules');
    // README names the files, and what the page names is there.
    const named = [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/`((?:src|public)\/[\w.]+)`/g)].map(
      ([, path]) => path!,
    );
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  });

  it.each(['search', 'chat'])('%s has types that compile', (template) => {
    const { where } = create('app', template, { cwd: place });
    const folder = join(place, where);
    const paths = { wattn: [join(root, 'dist/types/entries/index.d.ts')] };
    const { include } = json(folder, 'tsconfig.json');
    writeFileSync(
      join(folder, 'tsconfig.test.json'),
      JSON.stringify({ extends: './tsconfig.json', compilerOptions: { paths }, include }),
    );
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.test.json'], { cwd: folder, encoding: 'utf8' });
    expect([stdout, status]).toEqual(['', 0]);
  });

  it.each([
    ['npm/11.0.0 node/v24', ['cd app && npm install', 'npm run dev']],
    ['pnpm/10.1.0 npm/? node/v24', ['cd app && pnpm install', 'pnpm run dev']],
    ['bun/1.3.0', ['cd app && bun install', 'bun run dev']],
    ['other/1.0', ['cd app && npm install', 'npm run dev']],
    [undefined, ['cd app && npm install', 'npm run dev']],
  ])('started by %s', (userAgent, steps) => {
    expect(create('app', 'search', { cwd: place, userAgent }).steps).toEqual(steps);
  });

  it('may be in the current folder, in one of several names, beside a new repository', () => {
    expect(create('.', 'search', { cwd: place }).steps[0]).toBe('npm install');
    const nested = create('packages/Ünser Büro!', 'worker', { cwd: place });
    expect(json(place, nested.where, 'package.json').name).toBe('unser-buro');
    mkdirSync(join(place, 'new/.git'), { recursive: true });
    expect(create('new', 'chat', { cwd: place }).wrote).toContain('.gitignore');
  });

  it('has the default template and folder where nobody can be asked, and says so', () => {
    const { status, stdout } = command();
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^No interactive terminal: using the template 'search' \(choose another with --template chat or worker\)\.\n/,
    );
    expect(existsSync(join(place, 'wattn-app/src/library.ts'))).toBe(true);
  });
});

describe('refusals', () => {
  const write = (path: string) => {
    mkdirSync(join(place, path, '..'), { recursive: true });
    writeFileSync(join(place, path), 'mine');
  };
  it.each<[string, string[], string[], RegExp, number]>([
    ['a folder with a file', ['app/notes.txt'], ['app'], /^create-wattn: app: expected a new or empty folder, found notes\.txt\. Nothing was changed\n$/, 1],
    ['a folder with files', ['app/b', 'app/a'], ['app'], /: app: expected a new or empty folder, found a and 1 more\. Nothing/, 1],
    ['a hidden file', ['app/.env'], ['app'], /found \.env\. Nothing/, 1],
    ['a file', ['app'], ['app'], /: app: expected a new or empty folder, found a file\n$/, 1],
    ['a folder in a file', ['app'], ['app/inside'], /app.inside: /, 1],
    ['an unknown template', [], ['app', '--template', 'serach'], /--template: expected one of search, chat, worker, found 'serach'; did you mean 'search'\?/, 2],
    ['a template unlike any', [], ['app', '-t', 'react'], /expected one of search, chat, worker, found 'react'\n$/, 2],
    ['a name of Object.prototype', [], ['app', '-t', 'toString'], /found 'toString'\n$/, 2],
    ['no template', [], ['app', '--template'], /--template: expected one of search, chat, worker, found nothing/, 2],
    ['an unknown option', [], ['app', '--templat', 'chat'], /options: expected one of --template, --help, --version, found '--templat'; did you mean '--template'\?/, 2],
    ['two folders', [], ['app', 'other'], /expected one folder, found 'app' and 'other'/, 2],
    ['an empty name', [], [''], /the folder: expected a name, found an empty one/, 2],
  ])('%s', (_, files, args, message, status) => {
    files.forEach(write);
    const found = command(...args);
    expect(found.stderr).toMatch(message);
    expect(found.stderr).not.toContain('    at ');
    expect(found.status).toBe(status);
    const left = readdirSync(place, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(left.length).toBe(files.length);
    for (const file of files) expect(readFileSync(join(place, file), 'utf8')).toBe('mine');
  }); // prettier-ignore

  it('are not needed for help and the version', () => {
    expect(command('--version').stdout).toBe(`${about.version}\n`);
    const { stdout } = command('app', '--help');
    for (const name of kNames) expect(stdout).toContain(`  ${name} `);
    expect(readdirSync(place)).toEqual([]);
    expect(parseArguments(['a', '--template=chat'])).toMatchObject({ folder: 'a', template: 'chat' });
  });
});

describe('the question', () => {
  const kUp = '\x1b[A';
  const kDown = '\x1b[B';
  const rows = ['one', 'two', 'three'].map((name) => ({ name, about: `the ${name}` }));
  /** What keys answer, what was drawn, and in which modes the terminal was. */
  async function ask(...keys: string[]) {
    const modes: boolean[] = [];
    const input = Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => void modes.push(mode) });
    const output = new PassThrough();
    const answer = choose('Which?', rows, input, output);
    for (const key of keys) input.write(key);
    const number = await answer;
    expect([modes, input.isPaused(), input.listenerCount('keypress')]).toEqual([[true, false], true, 0]);
    return { number, drawn: String(output.read()) };
  }
  it.each<[string, string[], number | undefined]>([
    ['Enter', ['\r'], 0],
    ['down', [kDown, '\r'], 1],
    ['up from the first', [kUp, '\r'], 2],
    ['down from the last', [kDown, kDown, kDown, '\r'], 0],
    ['letters', ['j', 'j', 'k', '\n'], 1],
    ['a number', ['3', '\r'], 2],
    ['a number that is none of them', ['9', '0', 'x', '\r'], 0],
    ['Ctrl+C', [kDown, '\x03'], undefined],
    ['Ctrl+D', ['\x04'], undefined],
  ])('%s', async (_, keys, number) => {
    expect((await ask(...keys)).number).toBe(number);
  });
  it('draws the rows, and the chosen one anew', async () => {
    const { drawn } = await ask(kDown, '\r');
    const plain = drawn.replaceAll(/\x1b\[(2K|3[69]m)/g, '');
    expect(plain).toContain('> 1. one    the one\n  2. two    the two\n  3. three  the three\n');
    expect(plain).toContain('\x1b[4AWhich? (arrow keys or a number, then Enter)\n  1. one    the one\n> 2. two    the two\n');
  });
  it('ends when the input does', async () => {
    const input = new PassThrough();
    const answer = choose('Which?', rows, input, new PassThrough());
    input.end();
    expect(await answer).toBeUndefined();
  });
});
