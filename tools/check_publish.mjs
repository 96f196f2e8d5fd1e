// The checks before a release, run by `npm publish` and publish.yml. package.json has the addresses that the package page needs to resolve
// README's relative links. SECURITY.md says where to report, the version is in CHANGELOG, and the packed files are built. tools/set_addresses.mjs
// sets the addresses.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, root } from './lib/shell.mjs';

const folder = process.cwd();
const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

const missing = ['repository', 'homepage', 'bugs'].filter((name) => !about[name]?.url && typeof about[name] !== 'string');
if (missing.length > 0) fail(`package.json: expected ${missing.join(', ')}, found none: run tools/set_addresses.mjs`);
if (!about.files.includes('SECURITY.md')) fail('package.json: files: expected SECURITY.md, found none');
if (!readFileSync(join(root, 'SECURITY.md'), 'utf8').includes('/security/advisories/new)'))
  fail('SECURITY.md: expected the address for reports, found none: run tools/set_addresses.mjs');

const readme = readFileSync(join(folder, 'README.md'), 'utf8');
const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link);
const broken = links.filter((link) => !existsSync(join(folder, link)));
if (broken.length > 0) fail(`README.md: expected links to files of the repository, found ${broken.join(', ')}`);

const changes = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
if (!changes.includes(`\n## ${about.version}`)) fail(`CHANGELOG.md: expected a heading '## ${about.version}', found none`);

const files = (value) => (typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(files));
const unbuilt = [...files(about.exports), ...files(about.bin)].filter((file) => !existsSync(join(folder, file)));
if (unbuilt.length > 0) fail(`expected ${unbuilt.join(', ')}, found none: npm run build makes them`);
console.log(`note: ${about.name} ${about.version} can be published`);
