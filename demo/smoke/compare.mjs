// The panel Compare, and the choice of a model.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linked, saved } from './pictures.mjs';
import { accessible, becomes, expect, kModel, open, painted } from './support.mjs';

const kGguf = fileURLToPath(new URL('../../models/default/wattn-default.gguf', import.meta.url));

const cellTexts = (page) => page.locator('.matrix .cell').allTextContents();
const sentences = (page) => page.locator('.sentence textarea').evaluateAll((areas) => areas.map((area) => area.value));

export async function matrixShown(page) {
  await page.waitForSelector('.sentence textarea');
  const count = (await sentences(page)).length;
  await page.waitForFunction((cells) => document.querySelectorAll('.matrix .cell').length === cells, count * count);
  await page.waitForSelector('.hits li');
}

/** The same numbers from the package's own entry for Node. */
export async function matrixOfNode(texts) {
  const { cos_sim, pipeline } = await import(new URL('../../dist/node.js', import.meta.url));
  const embed = await pipeline('feature-extraction', kModel);
  const vectors = (await embed(texts)).tolist();
  await embed.dispose();
  const score = (a, b) => cos_sim(a, b).toFixed(2).replace('-', '−');
  return vectors.flatMap((a) => vectors.map((b) => score(a, b)));
}

export async function servedModel(page) {
  await matrixShown(page);
  expect('the matrix', await cellTexts(page), await matrixOfNode(await sentences(page)));
  return page
    .locator('.best')
    .innerText()
    .then((text) => text.replace(/\s+/g, ' '));
}

export async function tokens(page) {
  const row = page.locator('.sentence').first();
  const chip = row.locator('.chip').nth(2);
  await chip.hover();
  const [mark, token] = [await row.locator('mark').textContent(), await chip.textContent()];
  expect('the marked text', mark.toLowerCase(), token.replace(/^##/, ''));
  const detail = await row.locator('.detail').innerText();
  if (!/id \d+ · characters \d+ to \d+/.test(detail)) throw new Error(`below the tokens stands '${detail}'`);
  await page.locator('h1').hover();
  const last = await row.locator('.chip').count();
  await row.locator('.chip[tabindex="0"]').focus();
  await page.keyboard.press('End');
  expect(
    'the focus',
    await row
      .locator('.chip')
      .nth(last - 1)
      .evaluate((end) => end === document.activeElement),
    true,
  );
}

export async function typing(page) {
  const before = await cellTexts(page);
  await page.locator('.sentence textarea').first().fill('the river and the river and the bank');
  await page.waitForFunction(() => /^1 sentence with /.test(document.querySelector('.timing').textContent));
  const after = await cellTexts(page);
  const size = Math.sqrt(after.length);
  const changed = after.flatMap((text, i) => (text === before[i] ? [] : [i]));
  if (changed.length === 0) throw new Error('the matrix stayed as it was');
  if (changed.some((i) => i >= size && i % size !== 0)) throw new Error('a cell of two other sentences changed');
}

export async function longText(page) {
  await page.locator('.sentence textarea').last().fill('on and '.repeat(200));
  await page.waitForSelector('.sentence:last-child .detail .warning');
  expect(
    'what is struck out and what is read',
    await page
      .locator('.sentence')
      .last()
      .locator('.mirror')
      .evaluate((mirror) => {
        return mirror.querySelector('s').textContent.length > 1000 && mirror.textContent.length === 1401;
      }),
    true,
  );
}

export async function lines(page) {
  const before = (await sentences(page)).length;
  await page.locator('.sentence textarea').last().press('Enter');
  await page.locator('.sentence textarea').nth(before).fill('one more');
  await matrixShown(page);
  await page.getByRole('button', { name: `Remove sentence ${before + 1}` }).click();
  await matrixShown(page);
  expect('the number of sentences', (await sentences(page)).length, before);
}

export async function search(page) {
  await page.getByRole('searchbox').fill('the boats on the river');
  await page.waitForSelector('.hits[aria-busy=false]');
  const [says] = await page
    .locator('.timing')
    .filter({ hasText: /^Nearest: sentence / })
    .allTextContents();
  if (!says) throw new Error('the nearest sentence is not named');
  const scores = (await page.locator('.hit-score').allTextContents()).map((text) => Number(text.replace('−', '-')));
  expect(
    'the order',
    scores,
    [...scores].sort((a, b) => b - a),
  );
  expect('the number of hits', scores.length, (await sentences(page)).length);
}

export async function keyboard(page) {
  await page.locator('.cell[tabindex="0"]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  expect('the focused cell', await page.evaluate(() => document.activeElement.dataset.cell), '1 2');
  expect('marked sentences', await page.locator('.sentence.is-marked').count(), 2);
}

/** The numbers, and the sentences that they belong to. */
export async function picture(page) {
  const [first] = await sentences(page);
  const texts = [...(await cellTexts(page)), `1  ${first}`];
  await saved(page, page.locator('.panel', { has: page.locator('.matrix') }), { texts });
}

export async function link(page) {
  await linked(page, '.matrix .cell', ['sentences', 'query'], async (one) => {
    await matrixShown(one);
    return [await sentences(one), await one.getByRole('searchbox').inputValue()];
  });
}

const choice = (page) => page.locator('.model-dialog[open]');
const choose = async (page) => {
  await page.getByRole('button', { name: 'Change model' }).click();
  await choice(page).waitFor();
};
const closed = (page) => page.waitForFunction(() => document.querySelector('.model-dialog[open]') === null);
const name = (page) => page.locator('#model-title').innerText();

/** A link that names a model on another host: nothing is requested there before the visitor says so. */
export async function otherHost(browser, url) {
  const { page, said, close } = await open(browser, url);
  const asked = [];
  await page.route('https://models.example/**', (route) => {
    const file = new URL(route.request().url()).pathname.slice('/tiny/'.length);
    asked.push(file);
    const headers = { 'access-control-allow-origin': '*' };
    if (!existsSync(join(kModel, file))) return route.fulfill({ status: 404, headers, body: 'none' });
    return route.fulfill({ headers, body: readFileSync(join(kModel, file)) });
  });
  const arrive = async () => {
    await page.goto('about:blank');
    await page.goto(`${url}#compare?model=${encodeURIComponent('https://models.example/tiny/')}`);
    await page.getByRole('heading', { name: 'Load a model from models.example?' }).waitFor();
    await matrixShown(page); // of the default model
  };
  const before = async () => expect('requests', asked, []);
  await arrive();
  await accessible(page);
  await before();
  await page.getByRole('button', { name: 'Keep the default model' }).click();
  await closed(page);
  await arrive();
  await page.keyboard.press('Escape');
  await closed(page);
  await before();
  const kept = await name(page);
  await arrive();
  await page.getByRole('button', { name: 'Load from models.example' }).click();
  await becomes('the model', () => name(page), 'https://models.example/tiny/');
  if (kept === (await name(page)) || !asked.includes('config.json')) throw new Error(`asked for ${asked.join(', ')}`);
  expect(
    'messages',
    said.filter((line) => !line.includes('models.example')),
    [],
  ); // a browser shows each 404
  await close();
}

export async function noSuchModel(page) {
  const before = [await name(page), await cellTexts(page)];
  await choose(page);
  await page.locator('#address').fill('./nothing/');
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  const text = await page.getByRole('alert').innerText();
  if (!/ModelFormatError/.test(text) || !/config\.json.*nothing/.test(text)) throw new Error(`the page says '${text}'`);
  expect('the field', await page.locator('#address').inputValue(), './nothing/');
  expect('the model and its matrix', [await name(page), await cellTexts(page)], before);
}

/** The open choice shows the list of models, with their bytes, and measures the one in use. */
export async function listed(page) {
  const { models } = JSON.parse(readFileSync(new URL('../../models/catalog.json', import.meta.url), 'utf8'));
  const rows = await choice(page)
    .locator('.suggestions li')
    .evaluateAll((all) => all.map((row) => [row.querySelector('strong').textContent, row.querySelector('small').textContent]));
  for (const [id, facts] of rows) {
    const model = models.find((one) => one.id === id);
    if (
      !model ||
      !facts.includes(` MB · `) ||
      Math.abs(parseFloat(facts) - model.bytes / 1e6) > 0.5 ||
      !facts.includes(model.licence)
    )
      throw new Error(`${id}: ${facts}`);
  }
  expect('the first and the number of rows', [rows[0][0], rows.length > 6], ['wattn-default', true]);
  await choice(page).getByRole('button', { name: 'Measure here' }).click();
  const said = choice(page).locator('.measure-here [role=status]', { hasText: /^[\d.]+\u00a0ms per text here, / });
  await said.waitFor();
  return said.innerText();
}

export async function cancel(page) {
  const before = [await name(page), await cellTexts(page)];
  await page.locator('#address').fill('./stuck/');
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.waitForSelector('progress[value]');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Loading was cancelled').waitFor({ state: 'attached' });
  expect('errors', await page.locator('.error').count(), 0);
  expect('the model and its matrix', [await name(page), await cellTexts(page)], before);
}

export async function closes(page) {
  const [before, address] = [await cellTexts(page), page.url()];
  await page.keyboard.press('Escape');
  await closed(page);
  await choose(page);
  await page.goBack();
  await closed(page);
  await choose(page);
  await page.getByRole('button', { name: 'Close' }).click();
  await closed(page);
  expect('the address and the matrix', [page.url(), await cellTexts(page)], [address, before]);
  await choose(page);
}

/** Does something in the very task in which the dialog has closed, before the step that it had in the history is taken back. Waits for that. */
const asItCloses = (page, what, argument) =>
  page.evaluate(
    ({ what, argument }) =>
      new Promise((resolve) => {
        const dialog = document.querySelector('.model-dialog[open]');
        addEventListener('popstate', () => setTimeout(resolve), { once: true });
        const act = () => {
          const element = document.querySelector(argument.selector);
          if (what === 'click') return element.click();
          element.value = argument.text;
          element.dispatchEvent(new InputEvent('input', { bubbles: true }));
        };
        dialog.addEventListener('close', act, { once: true });
        dialog.close();
      }),
    { what, argument },
  );

/** Going back takes a while; what is typed or followed meanwhile counts. */
export async function typedAsItCloses(page) {
  const inAddress = () => new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('query');
  await page.keyboard.press('Escape');
  await closed(page);
  await page.locator('#query').fill('typed before');
  await becomes('in the address', inAddress, 'typed before');
  await choose(page);
  await asItCloses(page, 'type', { selector: '#query', text: 'typed as it closed' });
  await becomes('in the address', inAddress, 'typed as it closed');
  await painted(page);
  expect('the text', await page.locator('#query').inputValue(), 'typed as it closed');
  await choose(page);
  await asItCloses(page, 'click', { selector: '.tabs a[href="#whole"]' });
  await page.locator('[data-panel=whole]:not([hidden])').waitFor();
  await becomes('the address', () => new URL(page.url()).hash.split('?')[0], '#whole');
  await painted(page);
  expect('the address stays', new URL(page.url()).hash.split('?')[0], '#whole');
  await page.goBack();
  await becomes('back', () => new URL(page.url()).hash.split('?')[0], '#compare');
  await choose(page);
}

export async function bundled(page) {
  await page.getByRole('button', { name: 'Use wattn-default' }).click();
  await closed(page);
  await matrixShown(page);
  expect('the name', await name(page), 'wattn-default');
}

export async function folder(page) {
  await choose(page);
  await page.getByLabel('Model folder', { exact: true }).setInputFiles(kModel);
  await closed(page);
  await matrixShown(page);
  expect('the name', await name(page), 'model');
}

/** One file that is a whole model. */
export async function file(page) {
  await choose(page);
  await page.getByLabel('Model file').setInputFiles(kGguf);
  await closed(page);
  await matrixShown(page);
  expect('the name', await name(page), 'wattn-default.gguf');
}

/** Beside the zone that is drawn for it: the whole page takes it. */
export async function dropped(page) {
  await choose(page);
  await page.getByRole('button', { name: 'Use wattn-default' }).click();
  await closed(page);
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [kModel], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'])
    await session.send('Input.dispatchDragEvent', { type, x: 600, y: 800, data });
  await page.locator('#model-title', { hasText: /^model$/ }).waitFor();
  await matrixShown(page);
}
