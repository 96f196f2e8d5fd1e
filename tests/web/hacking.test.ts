// The files that HACKING.md names exist, so its recipes can be followed.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support.js';

const text = readFileSync(join(root, 'HACKING.md'), 'utf8');
const files = ['src', 'web', 'bindings', 'tests', 'tools', 'demo', 'bench', 'examples', 'docs', 'models', 'cmake', '.github']
  .filter((folder) => existsSync(join(root, folder)))
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`))
  .filter((name) => !name.includes('node_modules'))
  .concat(readdirSync(root));
/** A path may leave out the folders above its room, as headers are included. */
const isThere = (path: string) => files.some((file) => file === path || file.endsWith(`/${path}`));

describe('HACKING.md', () => {
  const named = [...text.matchAll(/`([\w./-]+\/[\w.-]+\.(?:cpp|h|ts|mjs|py|def|md|json|yml|cmake|txt))`/g)].map(
    ([, path]) => path as string,
  );

  it('names files that are there', () => {
    expect(named.length).toBeGreaterThan(100);
    // What a build makes, and what model files are called.
    const made = /^(dist|build)\/|^(\.?\/?data|OUT)\//;
    expect(named.filter((path) => !made.test(path) && !isThere(path))).toEqual([]);
  });

  it('has a chapter for each line of its contents, in order', () => {
    const contents = [...text.matchAll(/^\d+\. \[(.+?)\]\(#(.+?)\)$/gm)].map(([, title, anchor]) => [title, anchor]);
    const chapters = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title as string);
    const anchorOf = (title: string) =>
      title
        .toLowerCase()
        .replace(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-');
    expect(contents).toEqual(chapters.map((title) => [title, anchorOf(title)]));
  });
});

it('npm run mutate reaches every room of src and of web, by tests that are there', async () => {
  const rooms = (folder: string) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${folder}/${name}`);
  const native = await import(join(root, 'tools/lib/mutate_native.mjs'));
  const web = await import(join(root, 'tools/lib/mutate_web.mjs'));
  expect(native.rooms().sort()).toEqual(rooms('src'));
  expect(web.rooms().sort()).toEqual(rooms('web'));
  expect(Object.keys(web.kInPages).filter((room) => !rooms('web').includes(room))).toEqual([]);
  expect(
    Object.values<string[]>(web.kInPages)
      .flat()
      .filter((name) => !existsSync(join(root, name))),
  ).toEqual([]);
  const mutants: { probe: { at: number } }[] = web.mutantsOf('web/core/scores.ts');
  expect(mutants.length).toBeGreaterThan(10);
  expect(mutants.filter(({ probe }) => !(probe.at >= 0))).toEqual([]);
});
