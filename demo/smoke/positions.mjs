// The panel Positions: attention with and without them, and encodings whose numbers follow their formulas.
import { linked, saved } from './pictures.mjs';
import { accessible, check, expect } from './support.mjs';

const verdict = (page) => page.locator('.verdict');
const change = async (page) => Number(await verdict(page).getAttribute('data-change'));

async function order(page) {
  await page.getByRole('button', { name: 'Reverse' }).click();
  await page.getByText('Now: man the bites dog the').waitFor();
  await verdict(page).getByText('It does not notice.').waitFor();
  // 5 words, sums of at most 32 products of numbers below 2: float32 sums in two orders differ by less than 32 * 4 * 2^-23.
  if (!((await change(page)) <= 128 * 2 ** -23)) throw new Error(`a difference of ${await change(page)}`);
  for (const kind of ['Sinusoidal', 'Learned', 'Rotary', 'ALiBi']) {
    await page.locator('.choice label', { hasText: kind }).first().click();
    const isSymmetric = kind === 'ALiBi'; // it knows distances only, which a reversal leaves as they are
    await verdict(page)
      .getByText(isSymmetric ? 'It does not notice.' : 'It notices.')
      .waitFor();
  }
  await page.getByRole('button', { name: 'Shuffle' }).click();
  await verdict(page).getByText('It notices.').waitFor();
  await page.getByRole('button', { name: 'As written' }).click();
  expect('the change', await change(page), 0);
}

/** Reads a number of a picture by arrow keys. */
async function read(page, title, row, column) {
  const figure = page.locator('.heatmap', { hasText: title });
  await figure.locator('canvas').focus();
  for (let i = 0; i < row; ++i) await page.keyboard.press('ArrowDown');
  for (let i = 0; i < column; ++i) await page.keyboard.press('ArrowRight');
  const says = await figure.locator('.detail').innerText();
  const [, where, value] = /^(.*): (−?[\d.]+)$/.exec(says) ?? [];
  expect('the place', where?.replace(/\D+/g, ' ').trim(), `${row} ${column}`);
  return Number(value.replace('−', '-'));
}

async function encodings(page) {
  const near = (what, found, expected) => {
    if (!(Math.abs(found - expected) <= 0.51e-4)) throw new Error(`${what}: expected ${expected}, found ${found}`); // four digits are shown
  };
  near('sinusoidal', await read(page, 'The encoding', 3, 2), Math.sin(3 / 10000 ** (2 / 64)));
  const encoding = page.getByRole('radiogroup', { name: 'Encoding' });
  await encoding.getByText('ALiBi').click();
  near('ALiBi', await read(page, 'Bias of head 3 of 8', 4, 1), -3 * 2 ** -3);
  await page.getByLabel(/^Head/).fill('1');
  near('ALiBi', await read(page, 'Bias of head 1 of 8', 2, 0), -2 * 2 ** -1);
  await encoding.getByText('Rotary').click();
  const frequencies = Array.from({ length: 32 }, (_, i) => Math.cos(5 * 10000 ** (-i / 32)) / 32);
  near('rotary', await read(page, 'The same vector with itself', 5, 0), frequencies.reduce((sum, x) => sum + x, 0)); // prettier-ignore
  await encoding.getByText('T5 buckets').click();
  near('T5', await read(page, 'Bucket of each distance', 3, 0), 3);
}

/** What is there once the panel has computed something. */
export const sign = '.heatmap canvas';

export async function drive(page) {
  await page.waitForSelector('.heatmap');
  await check('positions: without them attention does not notice an order, with them it does', () => order(page));
  await check('positions: pictures hold the numbers of their formulas', () => encodings(page));
  await check('positions: pictures to take along', async () => {
    const cards = page.locator('.positions-bench > article');
    const words = ['Attention between words: Rotary', 'dog', 'bites', 'As written'];
    await page.locator('.choice label', { hasText: 'Rotary' }).first().click();
    await saved(page, cards.first(), { texts: words, elements: { image: 2 } });
    await saved(page, cards.last(), { texts: ['T5 buckets', 'Bucket of each distance'], elements: { image: 1 } });
  });
  await check('positions: a link shows the same elsewhere', async () => {
    await page.getByLabel('Words', { exact: true }).fill('one two three');
    await page.getByRole('button', { name: 'Shuffle' }).click();
    await linked(page, sign, ['text', 'kind', 'order', 'encoding'], (one) => one.locator('.heatmap figcaption, .heatmap-rows').allTextContents()); // prettier-ignore
  });
  await check('positions: light, axe-core', () => accessible(page));
}
