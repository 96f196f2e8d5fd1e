// Writes the repository's address into the packages' package.json and SECURITY.md. publish.yml runs it, because the sources name no host. `node
// tools/set_addresses.mjs https://github.com/OWNER/NAME`
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, root } from './lib/shell.mjs';

const address = process.argv[2]?.replace(/\/$/, '') ?? '';
if (!/^https:\/\/[^/]+\/[^/]+\/[^/]+$/.test(address)) fail(`expected the address of a repository, found '${address}'`);

for (const directory of ['.', 'models/base', 'models/large', 'models/story', 'models/pii', 'models/multi', 'create']) {
  const file = join(root, directory, 'package.json');
  const about = JSON.parse(readFileSync(file, 'utf8'));
  const repository = { type: 'git', url: `git+${address}.git`, directory };
  Object.assign(about, { repository, homepage: `${address}#readme`, bugs: { url: `${address}/issues` } });
  writeFileSync(file, `${JSON.stringify(about, null, 2)}\n`);
}

const kWhere = 'the private vulnerability reports of the repository';
const security = join(root, 'SECURITY.md');
const text = readFileSync(security, 'utf8');
if (!text.includes(kWhere)) fail(`SECURITY.md: expected '${kWhere}', found none`);
writeFileSync(security, text.replace(kWhere, `[${kWhere}](${address}/security/advisories/new)`));
