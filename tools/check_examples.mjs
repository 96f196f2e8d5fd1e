// Installs each example (examples/) outside the checkout from the packed tarball and uses it as a user would. Takes minutes and needs a network,
// so it runs nightly. `node tools/check_examples.mjs [NAME...]`
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { createServer } from 'vite';
import { cos_sim, pipeline } from '../dist/node.js';
import { checklist, eachSize, inPage, install, kPatience, kPolicy, pack, serve, withServer } from './lib/consumers.mjs';
import { capture, fail, root, run } from './lib/shell.mjs';
import { findChromium } from './setup.mjs';

process.env.CHROME ??= findChromium();
const packing = pack();
const open = (name) => install(packing, name, { from: 'examples', network: true });

const kTexts = ['The bakery opens at six.', 'Trains leave every hour.', 'Bread is sold until noon.'];
const kQuestion = 'When can I buy rolls?';
const embed = await pipeline('feature-extraction');
const vectors = (await embed([...kTexts, kQuestion])).tolist();
await embed.dispose();
const asked = vectors[kTexts.length];
/** What each example must find: texts and their cosines, nearest first. */
const expected = kTexts.map((text, i) => ({ text, score: cos_sim(vectors[i], asked) })).sort((a, b) => b.score - a.score);

const equal = (found, wanted, what) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`${what}: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`);
  }
};

const asLines = expected.map(({ text, score }) => `${score.toFixed(3)}  ${text}`);

function embedFile() {
  const cwd = open('embed-file');
  writeFileSync(join(cwd, 'notes.txt'), `${kTexts.join('\n\n')}\n`);
  const node = (...args) =>
    run(process.execPath, ['embed.mjs', ...args], { cwd })
      .trim()
      .split('\n');
  const rows = node('notes.txt').map((line) => JSON.parse(line));
  equal(rows, kTexts.map((text, i) => ({ text, embedding: vectors[i] })), 'embed.mjs'); // prettier-ignore
  equal(node('notes.txt', '--find', kQuestion), asLines, '--find');
  equal(capture(process.execPath, ['embed.mjs'], { cwd }).status, 2, 'the status without a file');
}

/** In an index in a folder; in PGlite, and through PostgreSQL's protocol: with DATABASE_URL, or with PGlite behind a socket. */
async function searchNode() {
  const cwd = open('search-node');
  const use = (env, file = 'pgvector.mjs') => {
    const node = (...args) => run(process.execPath, [file, ...args], { cwd, env: { ...process.env, ...env } }).trim();
    equal(node('add', kTexts[0]), 'added 1', 'add');
    equal(node('add', ...kTexts.slice(1)), 'added 2', 'add');
    return node('find', kQuestion).split('\n');
  };
  const textOf = (line) => line.split('  ')[1];
  equal(textOf(use({}, 'search.mjs')[0]), textOf(asLines[0]), 'find in a folder');
  equal(use({ DATABASE_URL: '' }), asLines, 'find');
  if (process.env.DATABASE_URL) return equal(use({}), asLines, 'find');
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', `@electric-sql/pglite-socket@${kSocketVersion}`], { cwd });
  const script = `
    import { PGlite } from '@electric-sql/pglite';
    import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
    import { vector } from '@electric-sql/pglite-pgvector';
    const db = await PGlite.create({ extensions: { vector } });
    const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1' });
    server.addEventListener('listening', ({ detail }) => console.log('port', detail.port));
    await server.start();`;
  writeFileSync(join(cwd, 'server.mjs'), script);
  await withServer(process.execPath, ['server.mjs'], { cwd, address: /port (\d+)/ }, (port) => {
    equal(use({ DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable` }), asLines, 'find');
  });
}
const kSocketVersion = '0.2.17';

async function searchPage() {
  const folder = open('search-page');
  run('npm', ['run', 'build'], { cwd: folder });
  const server = await serve(join(folder, 'dist'), "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'"); // PGlite's needs
  const wanted = expected.map(({ text, score }) => `${text} (${score.toFixed(2)})`);
  const search = async (page) => {
    await page.fill('#question', kQuestion);
    await page.waitForSelector('#found li');
    equal(await page.locator('#found li').allTextContents(), wanted, 'the page');
  };
  try {
    await inPage(server.url, async (page) => {
      const status = async (wanted) => {
        await page.waitForFunction(() => !/^(Loading|)$/.test(document.querySelector('#status').textContent));
        if (wanted !== '0 notes') await page.waitForFunction(() => document.querySelector('#status').textContent !== '0 notes');
        equal(await page.textContent('#status'), wanted, 'the page');
      };
      await status('0 notes');
      await page.click('button');
      await status('3 notes');
      await search(page);
      await page.reload();
      await status('3 notes');
      await search(page);
    });
  } finally {
    server.close();
  }
}

/** The server is gone at the second visit. */
async function searchFiles() {
  const folder = open('search-files');
  const notes = join(folder, 'notes');
  mkdirSync(notes);
  kTexts.forEach((text, i) => writeFileSync(join(notes, `${i}.md`), `${text}\n`));
  const server = await serve(folder, `${kPolicy}; img-src data:`);
  const search = async (page, status) => {
    await page.waitForFunction((status) => document.querySelector('#status').textContent === status, status);
    await page.fill('#query', 'bakery');
    await page.locator('#found li', { hasText: kTexts[0] }).first().waitFor();
    equal((await page.locator('#found li').allTextContents())[0], `notes/0.md: ${kTexts[0]}`, 'the page');
  };
  try {
    await inPage(server.url, async (page) => {
      await page.waitForFunction(() => document.querySelector('#status').textContent === '0 files');
      await page.setInputFiles('#folder', notes);
      await search(page, '3 of 3 files');
      server.close();
      await page.reload();
      await search(page, '3 files');
    });
  } finally {
    server.close();
  }
}

/** Random weights that can spell what the form's schema allows. */
function writeSpellingModel(folder) {
  cpSync(join(root, 'tests/goldens/decoders/llama'), folder, { recursive: true });
  const special = ['<unk>', '<s>', '</s>'];
  const tokens = [...special, ...'{}[]":,.-@\\0123456789abcdefghijklmnopqrstuvwxyz', 'Ġ'];
  const json = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  json('config.json', { ...JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')), max_position_embeddings: 4096 });
  json('tokenizer.json', {
    version: '1.0',
    added_tokens: special.map((content, id) => ({
      content,
      id,
      special: true,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
    })),
    pre_tokenizer: bytes,
    decoder: bytes,
    model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: [], unk_token: '<unk>' },
  });
  json('tokenizer_config.json', {
    tokenizer_class: 'PreTrainedTokenizerFast',
    bos_token: '<s>',
    eos_token: '</s>',
    unk_token: '<unk>',
    clean_up_tokenization_spaces: false,
    chat_template: '{% for message in messages %}{{ message.content }}{% endfor %}',
  });
}

/** At two sizes in light and dark; a form that cannot be met; Stop; and without the server. */
async function fillForm() {
  const folder = open('fill-form');
  writeSpellingModel(join(folder, 'public/tiny'));
  run('npm', ['run', 'build'], { cwd: folder });
  const server = await serve(join(folder, 'dist'), `${kPolicy}; style-src 'self'; img-src data:`);
  const url = `${server.url}?model=./tiny/`;
  /** Random weights end no text before it must end. */
  const shorten = (page) =>
    page.evaluate(() => {
      for (const control of document.querySelectorAll('#form [maxlength]')) control.maxLength = control.type === 'email' ? 14 : 8;
    });
  const status = (page, text) => page.locator('#status', { hasText: text }).waitFor();
  const fill = async (page) => {
    await page.click('#fill');
    await status(page, 'Compare them with the message');
    equal(await page.evaluate(() => document.querySelector('#form').checkValidity()), true, 'whether the values fit their fields');
    equal(
      await page.locator('#form [data-state=filled], #form [data-state=missing]').count(),
      8,
      'fields with a value or without one',
    );
    equal(await page.inputValue('[name=people]').then((text) => /^[1-8]$/.test(text)), true, 'the number of people');
  };
  try {
    await eachSize(url, async (page) => {
      await shorten(page);
      await fill(page);
      await page.fill('[name=name]', 'Ada'); // her own value is marked no longer
      equal(await page.locator('#form [data-state]').count(), 7, 'fields that the model wrote');
    });
    await inPage(url, async (page) => {
      await shorten(page);
      const limit = (value) => page.evaluate((value) => (document.querySelector('[name=arrival]').min = value), value);
      const before = await page.getAttribute('[name=arrival]', 'min');
      await limit('2030-01-01');
      await page.click('#fill');
      await page.locator('#error', { hasText: 'no value fits “Day of arrival”' }).waitFor();
      await limit(before);
      await fill(page);
      equal(await page.locator('#error').isVisible(), false, 'an error');
      const written = await page.inputValue('[name=arrival]');
      await page.evaluate(() => {
        const stop = document.querySelector('#stop');
        new MutationObserver(() => stop.hidden || stop.click()).observe(stop, { attributes: true });
      });
      await page.click('#fill');
      await status(page, 'Stopped');
      server.close();
      await page.reload();
      await shorten(page);
      await fill(page);
      equal(await page.inputValue('[name=arrival]'), written, 'the day without a network');
    });
  } finally {
    server.close();
  }
}

/** React or Vue: built, and in development, where React's StrictMode starts everything twice. */
async function components(name) {
  const folder = open(name);
  run('npm', ['run', 'build'], { cwd: folder });
  const model = await pipeline('feature-extraction');
  const score = async (...texts) => {
    const [a, b] = (await model(texts)).tolist();
    return cos_sim(a, b).toFixed(3);
  };
  const use = async (page) => {
    const shown = async (text) => {
      const wanted = await score('A man is eating food.', text);
      await page.locator('output', { hasText: wanted }).waitFor();
    };
    await shown('Someone has lunch.');
    await page.fill('input >> nth=1', 'The train is late.');
    await shown('The train is late.');
  };
  const built = await serve(join(folder, 'dist'), `${kPolicy}; img-src data:`);
  const server = await createServer({ root: folder, logLevel: 'error', server: { host: '127.0.0.1', port: 0, hmr: false } });
  try {
    await inPage(built.url, use);
    await server.listen();
    await inPage(`http://127.0.0.1:${server.httpServer.address().port}/`, use);
  } finally {
    built.close();
    await server.close();
    await model.dispose();
  }
}

/** Loaded unpacked into Chromium: three tabs, and the popup opened in a tab of its own. */
async function extension() {
  const folder = open('extension');
  run('npm', ['run', 'build'], { cwd: folder });
  const path = join(folder, 'dist');
  const context = await chromium.launchPersistentContext(join(packing.work, 'profile'), {
    executablePath: process.env.CHROME,
    headless: false,
    timeout: kPatience,
    args: ['--headless=new', '--no-sandbox', `--disable-extensions-except=${path}`, `--load-extension=${path}`],
  });
  context.setDefaultTimeout(kPatience);
  try {
    const [worker = await context.waitForEvent('serviceworker')] = context.serviceWorkers();
    for (const text of kTexts) {
      const tab = await context.newPage();
      await tab.goto(`data:text/html,<title>${text}</title>`);
    }
    const popup = await context.newPage();
    await popup.goto(new URL('popup.html', worker.url()).href);
    await popup.fill('#question', kQuestion);
    await popup.press('#question', 'Enter');
    await popup.waitForSelector('#found li, #error:not(:empty)');
    equal(await popup.textContent('#error'), '', 'the popup');
    const found = (await popup.locator('#found li').allTextContents()).filter((text) =>
      kTexts.some((known) => text.startsWith(known)),
    );
    equal(found, expected.map(({ text, score }) => `${text} (${score.toFixed(2)})`), 'the popup'); // prettier-ignore
  } finally {
    await context.close();
  }
}

function singleBinary() {
  const cwd = open('single-binary');
  for (const way of ['bun', 'node']) {
    run('npm', ['run', way], { cwd });
    const said = run(join(cwd, `out/nearest-${way}`), [kQuestion], { cwd, input: kTexts.join('\n') });
    equal(said.trim().split('\n'), asLines, way);
  }
}

const examples = {
  'embed-file': embedFile,
  'search-node': searchNode,
  'search-page': searchPage,
  'search-files': searchFiles,
  'fill-form': fillForm,
  react: () => components('react'),
  vue: () => components('vue'),
  extension,
  'single-binary': singleBinary,
};
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(examples);
const { check, end } = checklist();
for (const name of names) {
  if (!Object.hasOwn(examples, name)) fail(`no example ${name}; there are ${Object.keys(examples).join(', ')}`);
  await check(name, examples[name]);
}
packing.remove();
process.exit(end());
