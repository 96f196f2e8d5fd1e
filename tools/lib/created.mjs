// Creates projects with create-wattn (create/) from its tarball in an empty folder, as `npm create wattn` does, and installs, builds and uses
// them.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eachSize, inPage, kPolicy, same, serve, withServer } from './consumers.mjs';
import { root, run } from './shell.mjs';

const kPagePolicy = `${kPolicy}; style-src 'self'; img-src 'self'`;

/** A project's folder. more: packages that it also gets. */
function made({ work, tarball }, template, { change = () => {}, more = [] } = {}) {
  const parent = join(work, 'created');
  mkdirSync(parent, { recursive: true });
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', work], { cwd: join(root, 'create') }));
  const args = [
    'exec',
    '--yes',
    `--package=${join(work, packed.filename)}`,
    '--',
    'create-wattn',
    template,
    '--template',
    template,
  ];
  const said = run('npm', args, { cwd: parent });
  if (!said.includes(`cd ${template} && npm install\n  npm run dev\n`)) throw new Error(`create-wattn said: ${said}`);
  const folder = join(parent, template);
  change(folder);
  run('npm', ['install', '--no-audit', '--no-fund', tarball, ...more], { cwd: folder });
  return folder;
}

const found = (page, title) => page.locator('#list li').first().filter({ hasText: title }).waitFor();
const counted = (page, text) => page.locator('#status').filter({ hasText: text }).waitFor();

/** The page that searches: it has documents to begin with, takes and removes some, keeps them, and needs no network at the second visit. */
export async function createdSearch(packing) {
  const folder = made(packing, 'search');
  run('npm', ['run', 'build'], { cwd: folder });
  const server = await serve(join(folder, 'dist'), kPagePolicy);
  const ask = async (page, query, title) => {
    await page.fill('#query', query);
    await found(page, title);
  };
  try {
    await eachSize(server.url, (page) => ask(page, 'borrow money for a house', 'Buying a flat'));
    await inPage(server.url, async (page) => {
      await counted(page, '8 documents');
      await page.keyboard.press('/');
      await page.keyboard.type('tips for a good night');
      await found(page, 'Sleeping better');
      await page.fill('#query', 'zyxwvut');
      await page.locator('#empty').filter({ hasText: 'No results' }).waitFor();
      await page.click('#open-add');
      await page.fill('#text', 'The bakery opens at seven.');
      await page.click('#save');
      await counted(page, '9 documents');
      const [dropped, image] = ['Ferry.md', 'photo.jpg'];
      await page.setInputFiles('#files', [
        { name: dropped, mimeType: 'text/markdown', buffer: Buffer.from('# Ferry\n\nThe boat to the island leaves twice a day.') },
        { name: image, mimeType: 'text/plain', buffer: Buffer.from([0xff, 0xd8, 0, 1]) },
      ]);
      await counted(page, '10 documents');
      await page.locator('#error').filter({ hasText: image }).waitFor();
      await ask(page, 'ship to an island', dropped);
      await page.fill('#query', '');
      await page.click(`[aria-label='Remove ${dropped}']`);
      await counted(page, '9 documents');
      server.close();
      await page.reload();
      await counted(page, '9 documents');
      await ask(page, 'bakery', 'The bakery opens at seven.');
    });
  } finally {
    server.close();
  }
}

/** The chat, with a random model of 50 kB, which an answer's length and an instruction must fit. */
export async function createdChat(packing) {
  const folder = made(packing, 'chat', {
    change(folder) {
      const model = join(folder, 'public/tiny');
      cpSync(join(root, 'tests/goldens/decoders/smollm'), model, { recursive: true });
      writeFileSync(join(model, 'chat_template.jinja'), "{% for message in messages %}{{ message['content'] }} {% endfor %}");
      const file = join(folder, 'src/models.ts');
      const text = readFileSync(file, 'utf8');
      const own = text.replace(/(kInstruction: string =\s*)'[^']+'/, "$1''").replace('max_new_tokens: 400', 'max_new_tokens: 20');
      if (own.includes('helpful') || own.includes('400'))
        throw new Error('src/models.ts has other settings than this test changes');
      writeFileSync(file, own);
    },
  });
  run('npm', ['run', 'build'], { cwd: folder });
  const server = await serve(join(folder, 'dist'), kPagePolicy);
  const answered = (page, count) =>
    page.waitForFunction((count) => document.querySelectorAll('#log .assistant p:not(.waiting)').length === count, count);
  const write = async (page, text, count) => {
    await page.fill('#message', text);
    await page.keyboard.press('Enter');
    await answered(page, count);
    return page.locator('#log .assistant p').nth(count - 1).textContent(); // prettier-ignore
  };
  try {
    await eachSize(`${server.url}?model=./tiny/`, async (page) => {
      same(await page.locator('#choices input').count(), 4, 'the number of models');
      await page.click('#load');
      await page.locator('#message').waitFor();
      const answer = await write(page, 'The boat waits.', 1);
      if (!(answer.length > 5) || /No answer|Stopped/.test(answer)) throw new Error(`the chat answered '${answer}'`);
      // Stop, as soon as it is there.
      await page.evaluate(() => {
        const stop = document.querySelector('#stop');
        new MutationObserver(() => stop.hidden || stop.click()).observe(stop, { attributes: true });
      });
      const stopped = await write(page, 'Why?', 2);
      if (stopped.length >= answer.length && stopped !== 'Stopped.') throw new Error(`after Stop the chat answered '${stopped}'`);
      await page.click('#new');
      same(await page.locator('#log li').count(), 0, 'messages of a new chat');
      same(await page.locator('#error').isVisible(), false, 'an error');
    });
  } finally {
    server.close();
  }
}

/** The Worker in workerd. It brings a Node that Wrangler takes. */
export async function createdWorker(packing) {
  const cwd = made(packing, 'worker', { more: ['node@24.21.0'] });
  run('npm', ['run', 'check'], { cwd });
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: '1' };
  const args = [
    'node_modules/wrangler/bin/wrangler.js',
    'dev',
    '--port',
    '0',
    '--ip',
    '127.0.0.1',
    '--show-interactive-dev-session=false',
  ];
  const address = /Ready on (http:\/\/127\.0\.0\.1:\d+)/;
  await withServer(join(cwd, 'node_modules/.bin/node'), args, { cwd, env, address }, async (url) => {
    const headers = { authorization: 'Bearer local' };
    const ask = async (path, init) => {
      const response = await fetch(`${url}/api/${path}`, init);
      return [response.status, await response.json()];
    };
    const put = (id, body, more = { headers }) => ask(`notes/${id}`, { method: 'PUT', body, ...more });
    same((await put(1, 'The bakery opens at six.', {}))[0], 401, 'a note without a token');
    same(await put(1, 'The bakery opens at six.'), [200, { notes: 1 }], 'the first note');
    same(await put(2, 'Trains leave every hour.'), [200, { notes: 2 }], 'the second note');
    same((await put('%E0', 'text'))[0], 400, 'a wrong id');
    const [, hits] = await ask('search?q=when+can+I+buy+rolls');
    same(hits.map(({ id }) => id), ['1', '2'], 'the hits'); // prettier-ignore
    const embed = (body) => ask('embed', { method: 'POST', headers, body });
    const [, { vectors }] = await embed(JSON.stringify({ texts: ['a', 'b'] }));
    same(vectors.map((row) => row.length), [384, 384], 'the vectors'); // prettier-ignore
    for (const body of ['{', '{}', '{"texts":[1]}']) same((await embed(body))[0], 400, body);
    same(await ask('notes/2', { method: 'DELETE', headers }), [200, { notes: 1 }], 'a note removed');
    same((await ask('nothing'))[0], 404, 'an unknown route');
    await eachSize(url, async (page) => {
      await page.fill('#query', 'rolls');
      await found(page, 'The bakery opens at six.');
    });
    await inPage(url, async (page) => {
      await page.click('summary');
      await page.fill('#text', 'Cats sleep most of the day.');
      await page.fill('#token', 'local');
      await page.click('#add button');
      await counted(page, 'There are 2 notes');
      await page.fill('#query', 'pets');
      await found(page, 'Cats sleep');
    });
  });
}
