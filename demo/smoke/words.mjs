// The panel Words: the vectors are those that Node learns, so are neighbours and analogies; other texts can be learned.
import { longTexts, saved } from './pictures.mjs';
import { accessible, becomes, check, clickAsSoonAs, demoModule, expect, nodeEntry, written } from './support.mjs';

let vectors; // learned by Node

async function learned() {
  const { Word2Vec } = await nodeEntry();
  const { kWorld } = await demoModule('words/text.ts');
  const { kWord2Vec } = await demoModule('words/options.ts');
  vectors = await Word2Vec.train(kWorld, { ...kWord2Vec, min_count: 3 });
  for (const [a, b, c, d] of [
    ['man', 'king', 'woman', 'queen'],
    ['france', 'paris', 'italy', 'rome'],
    ['boy', 'girl', 'uncle', 'aunt'],
  ])
    // prettier-ignore
    expect(`${a} to ${b} as ${c}`, vectors.analogy(a, b, c, { topn: 1 })[0][0], d);
}

const listOf = async (page, card) =>
  (await page.locator(`.${card} .words-list li`).allInnerTexts()).map((text) => text.split('\n').map((part) => part.trim()));
const asShown = (neighbours) => neighbours.map(([word, score]) => [word, written(score)]);

async function analogies(page) {
  await page.waitForSelector('.words-answer strong');
  expect('the first', await listOf(page, 'words-analogy'), asShown(vectors.analogy('man', 'king', 'woman', { topn: 4 })));
  await page.getByLabel('As', { exact: true }).fill('japan');
  await page.getByLabel('is to', { exact: true }).fill('tokyo');
  await page.getByText('Every word must occur in the text.').waitFor({ state: 'detached' });
  await page.getByLabel('so is', { exact: true }).fill('egypt');
  expect('typed', await listOf(page, 'words-analogy'), asShown(vectors.analogy('japan', 'tokyo', 'egypt', { topn: 4 })));
  expect('arrows', await page.locator('.words-map line').count(), 2);
  await page.getByLabel('so is', { exact: true }).fill('atlantis');
  await page.getByText('Every word must occur in the text.').waitFor();
}

/** By the keyboard, from a word to its neighbour. */
async function neighbours(page) {
  const field = page.getByLabel('Word', { exact: true });
  await field.fill('eagle');
  const expected = vectors.most_similar({ positive: ['eagle'], topn: 8 });
  expect('of eagle', await listOf(page, 'words-near'), asShown(expected));
  await field.press('Tab');
  await page.keyboard.press('Enter');
  await becomes('the word', () => field.inputValue(), expected[0][0]);
  const label = page.locator('.words-map text:not([data-kind])').first();
  const word = await label.textContent();
  await label.click();
  await becomes('the word of the map', () => field.inputValue(), word);
}

async function ownText(page) {
  await page.getByText('Training text').click();
  await page.getByLabel(/^Any text, one sentence per line/).fill('red apples are sweet\ngreen apples are sour\n'.repeat(200));
  const train = page.getByRole('button', { name: 'Train on this text' });
  await clickAsSoonAs(page, () => train.click(), { sign: '.words progress', button: 'Stop' });
  await page.getByText('Training was stopped.').waitFor();
  await page.getByRole('button', { name: 'Train again' }).click();
  await page.getByText('6 words with 24 numbers each').waitFor();
  await page.getByLabel(/^Any text, one sentence per line/).fill('');
  await train.click();
  await page.locator('.words .error').waitFor();
}

/** What is there once the panel has computed something. */
export const sign = '.words-answer strong';

export async function drive(page) {
  await check('words: Node learns the vectors', learned);
  await page.waitForSelector('.words-map line', { state: 'attached' }); // a vertical line has no width
  await check('words: the map to take along', async () => {
    const words = await page.locator('.words-map text').allTextContents();
    const elements = { circle: await page.locator('.words-map circle').count(), line: 2 };
    await saved(page, page.locator('.words-picture'), { texts: words, elements });
  });
  await check("words: analogies are Node's", () => analogies(page));
  await check("words: neighbours are Node's, by keyboard and by the map", () => neighbours(page));
  await check('words: light, axe-core', () => accessible(page));
  await page.getByText('Training text').click();
  await longTexts(page, '.words textarea', '.words-about');
  await page.getByText('Training text').click();
  await check('words: learns from another text, and says what is wrong with one', () => ownText(page));
}
