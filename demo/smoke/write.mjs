// The panel Write: the small model is trained as in Node, writes what it would there, branches, and a decoder can take its place.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accessible, becomes, check, clickAsSoonAs, demoModule, expect, loadFolder } from './support.mjs';

const kDecoder = fileURLToPath(new URL('../../tests/goldens/decoders/llama', import.meta.url));
const kPrompt = 'the cat sleeps on the mat because';

const textOf = (page) => page.locator('.write-text').getAttribute('data-text');
const ofAlternatives = (page) => page.locator('.write-alternatives button').allInnerTexts();
const slider = (page, name) => page.getByRole('slider', { name });

let small; // the same model, trained by Node
let tools;

async function trained() {
  const { trainSmallModel } = await demoModule('write/small_model.ts');
  const { kStory } = await demoModule('write/story.ts');
  const { kSmall } = await demoModule('write/small_model_text.ts');
  tools = await demoModule('write/choose.ts');
  const losses = [];
  small = await trainSmallModel(kStory, kSmall, (_, loss) => losses.push(loss));
  if (!(losses.at(-1) < losses[0] / 4)) throw new Error(`losses from ${losses[0]} to ${losses.at(-1)}`);
}

const idsOf = (text) => text.split(' ').map((word) => small.vocabulary.indexOf(word));
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}\u00a0%`;

/** What the page shows after a text, computed in Node. */
function expectedAfter(ids, settings) {
  const all = tools.alternativesOf(small.next(ids).at(-1), settings);
  return all.slice(0, 3).map(({ id, probability }) => `${small.vocabulary[id]}\n${percent(probability)}`);
}

async function alternatives(page) {
  await page.waitForSelector('.write-alternatives li');
  const expected = expectedAfter(idsOf(kPrompt), { temperature: 0.8, top_k: 0, top_p: 1 });
  expect('alternatives', (await ofAlternatives(page)).slice(0, 3).map((text) => text.replace(', cut off', '')), expected); // prettier-ignore
  const [best] = small.next(idsOf(kPrompt)).slice(1, 2).map((logits) => small.vocabulary[logits.indexOf(Math.max(...logits))]); // prettier-ignore
  expect('the first layer', await page.locator('.write-lens tbody tr').nth(1).locator('td').first().textContent(), best);
}

/** At temperature 0, by the keyboard: the same words as a greedy search in Node. */
async function greedy(page) {
  await slider(page, 'Temperature').focus();
  await page.keyboard.press('Home');
  const ids = idsOf(kPrompt);
  for (let i = 0; i < 6; ++i) {
    const logits = small.next(ids).at(-1);
    ids.push(logits.indexOf(Math.max(...logits)));
    await page.getByRole('button', { name: 'Step', exact: true }).focus();
    await page.keyboard.press('Enter');
    await becomes('words', () => page.locator('.write-text .write-token').count(), ids.length + 1);
  }
  const expected = ids.map((id) => small.vocabulary[id]).join(' ').replace(/ \./g, '.'); // prettier-ignore
  expect('the text', await textOf(page), expected);
}

/** Another token at a place in the middle; then back. */
async function branch(page) {
  const before = await textOf(page);
  await page.locator('.write-token', { hasText: 'is' }).first().click();
  const other = page.locator('.write-alternatives button[aria-pressed=false]:enabled b').first();
  await other.waitFor();
  const word = await other.textContent();
  await other.click();
  await becomes('the text', () => textOf(page), `${kPrompt} it ${word}`.replace(' .', '.'));
  await page.locator('.write-branches button').click();
  await becomes('the text again', () => textOf(page), before);
}

async function cuts(page) {
  await slider(page, 'Temperature').press('End');
  await slider(page, 'Top-k').press('ArrowRight');
  await becomes('not cut', () => page.locator('.write-alternatives button:not(.is-cut)').count(), 1);
  await slider(page, 'Top-k').press('Home');
}

async function plays(page) {
  await page.getByRole('button', { name: 'Start over' }).click();
  await page.getByRole('button', { name: 'Play' }).click();
  await page.waitForFunction((count) => document.querySelectorAll('.write-token').length > count, kPrompt.split(' ').length + 4);
  await page.getByRole('button', { name: 'Pause' }).click();
}

/** Other text, other tokens; stopped while it learns, then trained to the end. */
async function ownText(page) {
  await page.getByText('Training text').click();
  await page.getByLabel('Any text').fill('one two three four five six. '.repeat(20));
  const characters = page.locator('.write-source .choice label', { hasText: 'Characters' });
  await clickAsSoonAs(page, () => characters.click(), { sign: '.write-training .hint', button: 'Stop' });
  await page.getByText('Training was stopped.').waitFor();
  await page.getByRole('button', { name: 'Train on this text' }).click();
  await page.getByLabel('Begin with').fill('one tw');
  await slider(page, 'Temperature').press('Home');
  await page.getByRole('button', { name: 'Step', exact: true }).click();
  await becomes('the text', () => textOf(page), 'one two');
}

/** A checkpoint with a decoder, from a folder: its numbers are those of the library in Node. */
async function decoder(page) {
  const folder = mkdtempSync(join(tmpdir(), 'wattn-demo-'));
  cpSync(kDecoder, folder, { recursive: true });
  await loadFolder(page, folder, 'write');
  await page.locator('.write .choice label').nth(1).click();
  await page.waitForSelector('.write-alternatives li');
  const rows = await page.locator('.write-lens tbody tr').count();
  if (!(rows > 1)) throw new Error(`${rows} layers`);
  expect('errors', await page.locator('.error').count(), 0);
  rmSync(folder, { recursive: true });
}

/** What is there once the panel has computed something. */
export const sign = '.write-alternatives li';

export async function drive(page) {
  await check('write: Node trains the small model', trained);
  await check("write: alternatives and layers are Node's", () => alternatives(page));
  await check('write: light, axe-core', () => accessible(page));
  await check("write: step by step, the words are those of Node's greedy search", () => greedy(page));
  await check('write: another token makes a branch', () => branch(page));
  await check('write: top-k cuts', () => cuts(page));
  await check('write: plays by itself', () => plays(page));
  await check('write: learns from another text, by characters', () => ownText(page));
  await check('write: a decoder from a folder', () => decoder(page));
}
