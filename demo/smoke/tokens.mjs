// The panel Tokens: what each tokenizer shows is what the package's entry for Node says of it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { accessible, becomes, check, expect, kModel, nodeEntry } from './support.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const kText = 'The boat waits, unbelievably, below 2 old bridges.';

const row = (page, name) => page.locator('.tokenizer').filter({ has: page.getByRole('heading', { name, exact: true }) });

async function shows(page, name, tokenizer) {
  const ids = tokenizer.encode(kText);
  await becomes('tokens', () => row(page, name).locator('.chip').allTextContents(), tokenizer.convert_ids_to_tokens(ids));
  const head = await row(page, name).locator('.tokenizer-head').innerText();
  if (!head.includes(`${ids.length} tokens`) || !head.includes(tokenizer.vocab_size.toLocaleString('en-GB'))) throw new Error(head);
}

async function sideBySide(page) {
  const { AutoTokenizer } = await nodeEntry();
  await page.locator('#tokens-text').fill(kText);
  await shows(page, 'model, loaded', await AutoTokenizer.from_pretrained(kModel));
  await shows(page, 'The bundled model’s', await AutoTokenizer.from_pretrained());
}

/** Pointing at a token of one marks the same letters in all. */
async function linked(page) {
  const chip = row(page, 'The bundled model’s').locator('.chip', { hasText: 'boat' }).first();
  await chip.hover();
  expect('the letters', await page.locator('.letters mark').textContent(), 'boat');
  const marked = await page
    .locator('.tokenizer')
    .evaluateAll((rows) => rows.map((one) => one.querySelectorAll('.is-linked').length));
  if (marked.some((count) => count === 0)) throw new Error(`marked in each row: ${marked}`);
  const detail = await row(page, 'The bundled model’s').locator('.detail').innerText();
  if (!/characters 4 to 8: “boat”/.test(detail)) throw new Error(detail);
  await page.locator('h1').hover();
  await row(page, 'model, loaded').locator('.chip[tabindex="0"]').focus();
  await page.keyboard.press('ArrowRight');
  if ((await page.locator('.letters mark').textContent()) === '') throw new Error('the arrow keys point at nothing');
}

async function fromFile(page) {
  const { AutoTokenizer } = await nodeEntry();
  const bytes = readFileSync(here('../../tests/goldens/bert-tiny/model/tokenizer.json'));
  await page.getByLabel('Tokenizer files').setInputFiles({ name: 'mine.json', mimeType: 'application/json', buffer: bytes });
  await shows(page, 'mine.json', await AutoTokenizer.from_pretrained({ 'tokenizer.json': bytes }));
  await page.getByRole('button', { name: 'Remove mine.json' }).click();
  expect('rows', await row(page, 'mine.json').count(), 0);
}

async function trained(page) {
  const { AutoTokenizer } = await nodeEntry();
  await page.locator('#train-kind').selectOption('bpe');
  await page.getByLabel('Vocabulary size').fill('280');
  await page.getByRole('button', { name: 'Train it' }).click();
  await shows(page, 'bpe, trained on this text', await AutoTokenizer.train([kText], { model: 'bpe', vocab_size: 280 }));
}

async function notOne(page) {
  await page
    .getByLabel('Tokenizer files')
    .setInputFiles({ name: 'bad.json', mimeType: 'application/json', buffer: Buffer.from('{"a": 1') });
  const text = await page.getByRole('alert').innerText();
  if (!/ModelFormatError/.test(text) || !/tokenizer\.json/.test(text)) throw new Error(`the page says '${text}'`);
}

/** What is there once the panel has computed something. */
export const sign = '.tokenizer .chip';

export async function drive(page) {
  await check("tokens: side by side, each as Node's", () => sideBySide(page));
  await check('tokens: a token shows its letters and the others’ tokens of them', () => linked(page));
  await check('tokens: light, axe-core', () => accessible(page));
  await check('tokens: a tokenizer.json from this machine', () => fromFile(page));
  await check('tokens: one trained on the text', () => trained(page));
  await check('tokens: a broken file: the error of the library', () => notOne(page));
}
