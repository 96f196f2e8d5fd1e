// Builds the documentation into build/docs: README, the guides of docs/ and a reference of every public name, as static files; also llms.txt and
// llms-full.txt, the same for programs. Fails if a public name has no doc comment, or a link is broken. The guides' examples run in their pages
// (site/run.js), with the built package.
//
//   npm run docs
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, must, root } from '../lib/shell.mjs';
import { declarationsOf } from './declarations.mjs';
import { blocksOf, kFolders, kGroups, kOrder } from './examples.mjs';

const here = join(root, 'tools/docs');
if (!existsSync(join(here, 'node_modules/typedoc')))
  must('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here });
const { Application, PageEvent, ReflectionKind } = await import('typedoc');

const out = join(root, 'build/docs');
const entries = {
  wattn: 'index',
  'wattn/nn': 'nn_entry',
  'wattn/train': 'train_entry',
  'wattn/tokenizer': 'tokenizer_entry',
  'wattn/ai-sdk': 'ai_sdk_entry',
  'wattn/langchain': 'langchain_entry',
  'wattn/llamaindex': 'llamaindex_entry',
  'wattn/react': 'react_entry',
  'wattn/count': 'count_entry',
  'wattn/languages': 'languages_entry',
  'wattn/static-search': 'static_search_entry',
  'wattn/search-element': 'search_element_entry',
};
const guides = kOrder.map((name) => `docs/${name}.md`);
for (const file of readdirSync(join(root, 'docs'))) {
  if (file.endsWith('.md') && !guides.includes(`docs/${file}`))
    fail(`docs/${file} has no place among the guides of tools/docs/examples.mjs`);
}
const pages = [
  ...guides,
  'models/default/CARD.md',
  'models/base/README.md',
  'models/large/README.md',
  'models/story/README.md',
  'models/pii/README.md',
  'models/multi/README.md',
  'bench/README.md',
  'CHANGELOG.md',
];

/** The heading of a Markdown file. */
const titleOf = (text) => /^# (.*)/m.exec(text)[1];

/** The repository's address, if tools/set_addresses.mjs has set it. */
const address = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).homepage?.replace(/#.*/, '');

const app = await Application.bootstrap({
  name: 'wattn',
  entryPoints: Object.values(entries).map((file) => join(root, 'web/entries', `${file}.ts`)),
  tsconfig: join(root, 'tsconfig.types.json'),
  readme: join(root, 'README.md'),
  projectDocuments: pages.map((file) => join(root, file)),
  out,
  excludePrivate: true,
  excludeProtected: true,
  excludeExternals: true,
  customCss: join(here, 'site/site.css'),
  disableSources: true, // they would name this folder
  gitRevision: 'main',
  validation: { notExported: false, invalidLink: true, notDocumented: false },
  sort: ['source-order'],
  highlightLanguages: ['bash', 'css', 'html', 'javascript', 'json', 'python', 'sql', 'toml', 'tsx', 'typescript'],
  navigation: { includeGroups: true },
  navigationLinks: address ? { Source: address, npm: 'https://www.npmjs.com/package/wattn' } : {},
  hideGenerator: true,
  logLevel: 'Warn',
});
const project = await app.convert();
if (!project || app.logger.hasErrors()) fail('the types could not be read');

// Titles instead of the names of files, and what a page imports instead of the file that makes it.
const blocksIn = new Map([[project, blocksOf(readFileSync(join(root, 'README.md'), 'utf8'))]]);
for (const page of project.documents) {
  const text = page.content.map((part) => part.text).join('');
  page.name = titleOf(text);
  blocksIn.set(page, blocksOf(text));
}
project.readme[0].text = project.readme[0].text.replace(/^# .*\n+/m, ''); // the page has the name above it
// The guides in groups; what is left are cards, benchmarks and what is new.
const documents = project.groups.find(({ title }) => title === 'Documents');
const groups = Object.entries(kGroups).map(([title, names]) => {
  const titles = names.map((name) => titleOf(readFileSync(join(root, `docs/${name}.md`), 'utf8')));
  const group = new documents.constructor(title, project);
  group.children = titles.map((each) => documents.children.find(({ name }) => name === each));
  return group;
});
documents.title = 'About';
documents.children = documents.children.filter((page) => !groups.some(({ children }) => children.includes(page)));
project.groups.splice(project.groups.indexOf(documents), 0, ...groups);
for (const module of project.children)
  module.name = Object.keys(entries).find((name) => entries[name] === module.name) ?? module.name;

// Every public name says what it is. A comment also covers the fields of a type written in place, the signatures of an overload after
// the first, and a setter beside its getter.
const spoken = (reflection) => reflection?.hasComment() || reflection?.signatures?.some((signature) => signature.hasComment());
const covered = (reflection) => {
  for (let at = reflection.parent; at && at !== project; at = at.parent) if (at.name === '__type') return true;
  return false;
};
const kNamed = ReflectionKind.SomeExport | ReflectionKind.ClassMember | ReflectionKind.EnumMember;
const silent = Object.values(project.reflections).filter(
  (reflection) =>
    reflection.kindOf(kNamed) &&
    !reflection.kindOf(ReflectionKind.Reference | ReflectionKind.Constructor) &&
    !covered(reflection) &&
    !spoken(reflection) &&
    !reflection.getSignature?.hasComment() &&
    !reflection.type?.declaration?.signatures?.some((signature) => signature.hasComment()),
);
for (const { parent, name } of silent) app.logger.error(`${parent.getFullName()}.${name} has no doc comment`);
// Every function and class shows how it is used; tests/web/reference.test.ts runs these examples.
const shows = ({ comment }) => comment?.getTag('@example');
const unshown = Object.values(project.reflections).filter(
  (reflection) =>
    reflection.kindOf(ReflectionKind.Function | ReflectionKind.Class) &&
    !reflection.flags.isAbstract &&
    ![reflection, ...(reflection.signatures ?? [])].some(shows),
);
for (const { parent, name } of unshown) app.logger.error(`${parent.getFullName()}.${name} has no @example`);
app.validate(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) fail('the reference is not complete (see above)');

const guideTitles = new Set(guides.map((file) => titleOf(readFileSync(join(root, file), 'utf8'))));
/** What a page that is no guide counts in the site's search, beside a guide. */
const kReferenceWeight = 0.75;

const sha256 = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Lets a page load nothing from elsewhere: the strictest Content-Security-Policy that its own inline scripts pass. */
const withPolicy = (html, rules) => {
  const scripts = [...html.matchAll(/<script(?: type="importmap")?>([\s\S]*?)<\/script>/g)].map(([, text]) => sha256(text));
  const policy = `default-src 'none'; base-uri 'none'; script-src 'self' ${scripts.join(' ')} ${rules}`;
  return html.replace(
    /<meta charset="utf-8" ?\/>/i,
    (meta) => `${meta}<meta http-equiv="Content-Security-Policy" content="${policy}"/>`,
  );
};

app.renderer.on(PageEvent.END, (page) => {
  const blocks = (page.model === project && page.url !== 'index.html' ? undefined : blocksIn.get(page.model)) ?? [];
  let at = 0;
  const html = page.contents.replaceAll('<pre><code class="js">', (begin) => {
    if (blocks.length === 0) return begin;
    const { page: runs, needs } = blocks[at++];
    return runs ? begin.replace('<pre>', `<pre data-example="${at - 1}" data-needs="${needs}">`) : begin;
  });
  if (blocks.length > 0 && at !== blocks.length) app.logger.error(`${page.url}: ${blocks.length} examples became ${at}`);
  const base = /data-base="([^"]*)"/.exec(html)[1];
  const script = html.includes('data-example') ? `<script type="module" src="${base}assets/run.js"></script>` : '';
  // The site's own search, by words and meaning. TypeDoc's, by names, is behind Ctrl+K.
  const box = `<wattn-search src="${base}search/" shortcut="/" label="Search the documentation"></wattn-search>`;
  const element = `<script type="module" src="${base}wattn/search_element_entry.js"></script>`;
  // What TypeDoc's theme lacks for screen readers and phones: where the page itself is, headers of columns that have none, tables that scroll.
  const accessible = html
    .replace('<div class="col-content">', '<div class="col-content" role="main">')
    .replace('<div class="page-menu">', '<div class="page-menu" role="complementary" aria-label="This page">')
    .replace('<button id="tsd-search-trigger"', `${box}<button hidden id="tsd-search-trigger"`)
    .replaceAll('<ul class="tsd-breadcrumb"', '<ul data-wattn="exclude" class="tsd-breadcrumb"')
    .replaceAll(/<section (?=class="tsd-panel(?:-group)? tsd-(?:hierarchy|index))/g, '<section data-wattn="exclude" ')
    .replaceAll('<th></th>', '<td></td>')
    .replaceAll('<table>', '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');
  // Who asks a question is better served by a guide than by a name of the reference.
  const weight = page.url === 'index.html' || guideTitles.has(page.model.name) ? 1 : kReferenceWeight;
  page.contents = withPolicy(
    accessible
      .replace('</head>', `<meta name="wattn-weight" content="${weight}"/></head>`)
      .replace('</body>', `${element}${script}</body>`),
    "; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-src 'self'",
  );
});

rmSync(out, { recursive: true, force: true });
await app.generateOutputs(project);
if (app.logger.hasErrors()) fail('the examples are not where they were written (see above)');

// What examples run with: the package without what is Node's, and its models.
const kNodes = /^types$|node|^cli\.js$|^inline/;
for (const file of readdirSync(join(root, 'dist')).filter((name) => !kNodes.test(name)))
  cpSync(join(root, 'dist', file), join(out, 'wattn', file));
for (const name of ['base', 'large', 'story', 'pii', 'multi']) {
  const file = `wattn-${name}.gguf`;
  for (const each of ['index.js', file]) cpSync(join(root, 'models', name, each), join(out, `wattn-${name}`, each));
}
cpSync(join(root, 'node_modules/@huggingface/jinja/dist/index.js'), join(out, 'wattn/jinja.js'));
for (const [name, from] of Object.entries(kFolders))
  cpSync(join(root, 'tests/goldens', from), join(out, name), { recursive: true });
for (const name of ['run.js', 'program.js', 'frame.js', 'frame.css']) cpSync(join(here, 'site', name), join(out, 'assets', name));
const imports = {
  ...Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, `./wattn/${file}.js`])),
  'wattn-base': './wattn-base/index.js',
  'wattn-large': './wattn-large/index.js',
  'wattn-story': './wattn-story/index.js',
  'wattn-pii': './wattn-pii/index.js',
  'wattn-multi': './wattn-multi/index.js',
  '@huggingface/jinja': './wattn/jinja.js',
};
const frame = readFileSync(join(here, 'site/frame.html'), 'utf8').replace(
  '<script type="module"',
  () => `<script type="importmap">${JSON.stringify({ imports })}</script>\n  <script type="module"`,
);
writeFileSync(
  join(out, 'frame.html'),
  withPolicy(
    frame,
    "blob: 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self' https: blob:; worker-src 'self' blob:; img-src 'self'",
  ),
);

// The same for programs (llmstxt.org): a list of the guides, and all of them in one file with what the package declares.
const firstOf = (text) =>
  text
    .split('\n\n')
    .find((part) => /^(?!```)[A-Z`*]/.test(part))
    .replaceAll('\n', ' ');
const texts = ['README.md', ...guides].map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
const reference = declarationsOf(join(root, 'dist/types'), Object.values(entries));
writeFileSync(join(out, 'llms-full.txt'), [...texts.map(({ text }) => text.trim()), reference].join('\n\n'));
const lines = texts.slice(1).map(({ file, text }) => `- [${titleOf(text)}](${file}): ${firstOf(text)}`);
writeFileSync(join(out, 'llms.txt'), `# wattn\n\n> ${firstOf(texts[0].text)}\n\n## Guides\n\n${lines.join('\n')}\n`);
for (const { file } of texts) cpSync(join(root, file), join(out, file));
// Search reads the pages as they are, so it is the last.
must(process.execPath, [join(root, 'dist/cli.js'), 'index', out, '--static', join(out, 'search')]);
console.log(
  `note: ${Object.values(project.reflections).filter((one) => one.kindOf(kNamed)).length} names documented, ${guides.length} guides`,
);
