// Shared by the tests of our model packages.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './support.js';

/**
 * What a program finds with a package of ours: `body` answers with a value for `model`, which is the package's name and then the URL that it
 * exports. imports: names of wattn.
 */
export function withPackage(name: string, imports: string, body: string): [byName: any, byUrl: any] {
  const place = mkdtempSync(join(tmpdir(), `${name}-`));
  try {
    mkdirSync(join(place, 'node_modules'));
    symlinkSync(join(root, 'models', name.slice('wattn-'.length)), join(place, 'node_modules', name), 'junction');
    const program = `
      import { ${imports} } from ${JSON.stringify(pathToFileURL(join(root, 'dist/node.js')).href)};
      import url from '${name}';
      const answer = async (model) => { ${body} };
      console.log(JSON.stringify([await answer('${name}'), await answer(url)]));`;
    return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: place, encoding: 'utf8' }));
  } finally {
    rmSync(place, { recursive: true });
  }
}
