// Unpacks Debian packages into a private folder, without touching the system's. Node built-ins only.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from './shell.mjs';

/** The release whose packages are fetched. */
export const kDonorSuite = 'trixie';

/** Entries of this machine's apt sources that name its own Debian release, with the suite changed to the donor's. */
function donorSources() {
  const codename = /^VERSION_CODENAME=(\S+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
  const folder = '/etc/apt/sources.list.d';
  const files = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  const deb822 = [];
  const oneLine = [];
  for (const file of ['/etc/apt/sources.list', ...files].filter((path) => existsSync(path))) {
    const text = readFileSync(file, 'utf8').replace(/^#.*\n/gm, '');
    if (file.endsWith('.sources')) {
      for (const stanza of text.split(/\n\s*\n/)) {
        const suites = /^Suites:(.*)$/m.exec(stanza)?.[1].trim().split(/\s+/) ?? [];
        if (!/^Types:.*\bdeb\b/m.test(stanza) || !suites.includes(codename)) continue;
        deb822.push(
          stanza
            .trim()
            .replace(/^Types:.*$/m, 'Types: deb')
            .replace(/^Suites:.*$/m, `Suites: ${kDonorSuite}`),
        );
      }
    } else {
      const entry = new RegExp(`^(deb\\s+(?:\\[[^\\]]*\\]\\s+)?\\S+\\s+)${codename}(\\s.*)$`, 'gm');
      for (const match of text.matchAll(entry)) oneLine.push(`${match[1]}${kDonorSuite}${match[2]}`);
    }
  }
  return { deb822, oneLine };
}

/**
 * Fetches packages into `folder`/tree and gives that path; undefined where this is no Debian whose sources could be used. architecture:
 * another one than this machine's. skipped: patterns of files to leave out.
 */
export function unpackPackages(folder, packages, { architecture, skipped = [] } = {}) {
  const sources = donorSources();
  if (sources.deb822.length + sources.oneLine.length === 0) return undefined;
  const apt = join(folder, 'apt');
  for (const part of ['parts', 'lists/partial', 'cache/archives/partial']) mkdirSync(join(apt, part), { recursive: true });
  writeFileSync(join(apt, 'parts', 'donor.sources'), sources.deb822.join('\n\n') + '\n');
  writeFileSync(join(apt, 'parts', 'donor.list'), sources.oneLine.join('\n') + '\n');
  // A whole apt of its own: nothing the system's apt knows is read (but its proxy settings and keys) or changed.
  const settings = {
    'Dir::Etc::sourcelist': '/dev/null',
    'Dir::Etc::sourceparts': join(apt, 'parts'),
    'Dir::State::lists': join(apt, 'lists'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(apt, 'cache'),
    'APT::Sandbox::User': '""',
    'Acquire::Languages': 'none',
    ...(architecture && { 'APT::Architecture': architecture, 'APT::Architectures': architecture }),
  };
  const options = ['-q', ...Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`])];
  must('apt-get', [...options, 'update'], { cwd: apt });
  must('apt-get', [...options, 'download', ...packages], { cwd: apt });
  const tree = join(folder, 'tree');
  mkdirSync(tree);
  for (const deb of readdirSync(apt).filter((name) => name.endsWith('.deb'))) {
    must('sh', [
      '-c',
      'deb=$1 && shift && dpkg-deb --fsys-tarfile "$deb" | tar -x "$@"',
      'sh',
      join(apt, deb),
      '-C',
      tree,
      ...skipped.map((glob) => `--exclude=${glob}`),
    ]);
  }
  rmSync(apt, { recursive: true });
  return tree;
}
