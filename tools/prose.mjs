// Checks the English of README, the guides, model cards and the other documents, of comments, of errors, of the command line's help and of the demo's texts
// (tools/lib/prose_rules.mjs): `node tools/prose.mjs [FILE..]`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { problemsInMarkdown } from './lib/prose_markdown.mjs';
import { passagesOfCpp, passagesOfJs } from './lib/prose_source.mjs';
import { problemsInPassages } from './lib/prose_text.mjs';
import { root, run } from './lib/shell.mjs';

const kDocument = /^(?:README|CHANGELOG|CONTRIBUTING|HACKING|SECURITY)\.md$|^docs\/\w+\.md$|^(?!tests\/).*\/(?:README|CARD)\.md$/;
const kSource = /^(?:src|web|bindings|demo|tools|bench|tests|create|examples)\/.*\.(?:h|cpp|def|css|ts|tsx|mjs|js)$/;
/** Source of others, and what has no sentences of ours. */
const kForeign = /^tests\/(?:compat|goldens|fixtures)\/|^create\/template/;

/** Files whose texts are all shown to people. */
function showsOf(file) {
  if (/^web\/cli\/help\w*\.ts$/.test(file)) return 'help';
  return /^demo\/src\//.test(file) && !/_code\.ts$/.test(file) ? 'demo' : undefined;
}

function problemsIn(file) {
  const text = readFileSync(join(root, file), 'utf8');
  if (file.endsWith('.md')) return problemsInMarkdown(text);
  return problemsInPassages(/\.(?:h|cpp|def|css)$/.test(file) ? passagesOfCpp(text) : passagesOfJs(file, text, showsOf(file)));
}

const tracked = () => run('git', ['ls-files'], { cwd: root }).split('\n');
const files =
  process.argv.length > 2
    ? process.argv.slice(2)
    : tracked().filter((file) => kDocument.test(file) || (kSource.test(file) && !kForeign.test(file)));
let count = 0;
for (const file of files) {
  for (const { line, rule, message, sentence } of problemsIn(file)) {
    ++count;
    console.error(`${file}:${line}: ${rule}: ${message}\n  ${sentence}`);
  }
}
console.log(`note: ${files.length} files, ${count} problems`);
process.exit(count > 0 ? 1 : 0);
