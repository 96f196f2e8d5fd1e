// The reference for programs: the package's declarations with their comments, each file once.
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** What matters to the compiler alone: imports, and exports of what other files declare. */
const kNoise = /^(?:import\b|export (?:type )?[*{])[\s\S]*?;$/gm;

/** The declarations that entries reach: Markdown with a block for each file. entries: .d.ts files within types. */
export function declarationsOf(types, entries) {
  const files = new Set(entries.map((name) => join(types, 'entries', `${name}.d.ts`)));
  const parts = [];
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const [, path] of text.matchAll(/['"](\.{1,2}\/[\w/.]+)\.js['"]/g)) files.add(join(dirname(file), `${path}.d.ts`));
    const own = text
      .replace(kNoise, '')
      .replace(/\n{2,}/g, '\n')
      .trim();
    const name = relative(types, file).replaceAll('\\', '/').replace('.d.ts', '');
    if (/^export /m.test(own)) parts.push(`### ${name}\n\n\`\`\`ts\n${own}\n\`\`\``);
  }
  return `## Reference\n\n${parts.join('\n\n')}`;
}
