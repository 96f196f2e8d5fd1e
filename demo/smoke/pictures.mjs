// What every panel promises of its cards: their pictures can be saved, and a link shows the same elsewhere.
import { readFileSync, rmSync } from 'node:fs';
import { becomes, check, expect, painted } from './support.mjs';

async function download(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  const path = await download.path();
  const bytes = readFileSync(path);
  rmSync(path);
  return bytes;
}

/** The texts of an SVG document, how many elements of each name it has, and how many colours a browser paints of it. */
const readInPage = (svg) =>
  new Promise((resolve, reject) => {
    const document = new DOMParser().parseFromString(svg, 'image/svg+xml');
    const elements = [...document.querySelectorAll('*')];
    const counts = {};
    for (const { localName } of elements) counts[localName] = (counts[localName] ?? 0) + 1;
    const texts = elements.filter(({ localName }) => localName === 'text').map(({ textContent }) => textContent);
    const image = new Image();
    image.onerror = () => reject(new Error('no browser shows this picture'));
    image.onload = () => {
      const canvas = globalThis.document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      const colours = new Set(new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer)).size;
      resolve({ counts, texts, colours, size: [image.width, image.height] });
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });

/**
 * Saves the picture of a card both ways. texts: what stands in it. elements: how many of each name are in it. The PNG has twice as many
 * pixels in a row.
 */
export async function saved(page, card, { texts = [], elements = {} }) {
  await painted(page);
  const svg = (await download(page, card.getByRole('button', { name: 'Save as SVG' }))).toString('utf8');
  const found = await page.evaluate(readInPage, svg);
  for (const text of texts) if (!found.texts.some((one) => one.includes(text))) throw new Error(`'${text}' is not in ${found.texts.join(' | ')}`); // prettier-ignore
  for (const [name, count] of Object.entries(elements)) expect(name, found.counts[name], count);
  if (found.colours < 8) throw new Error(`it has only ${found.colours} colours`);
  const png = await download(page, card.getByRole('button', { name: 'Save as PNG' }));
  expect('a PNG', png.subarray(1, 4).toString('latin1'), 'PNG');
  expect('its size', [png.readUInt32BE(16), png.readUInt32BE(20)], found.size.map((side) => 2 * side)); // prettier-ignore
}

/** The page's address opened in a page of its own. wait: a selector of what is there then. Answers what `read` gives of it. */
async function elsewhere(page, wait, read) {
  const other = await page.context().newPage();
  try {
    await other.goto(page.url());
    await other.locator(wait).first().waitFor();
    return await read(other);
  } finally {
    await other.close();
  }
}

/** What `read` gives of this page is what it gives of another one with the same address, where each of these is in it. */
export async function linked(page, wait, names, read) {
  const params = () => new URLSearchParams(new URL(page.url()).hash.split('?')[1]);
  await becomes('in the address', () => names.map((name) => params().has(name)), names.map(() => true)); // prettier-ignore
  expect('elsewhere', await elsewhere(page, wait, read), await read(page));
}

const kLine = 'The lighthouse keeper counts the boats that come home before the storm.\n';
/** Letters that nothing can pack. */
const noise = (count) => {
  let state = 1;
  const letter = () => String.fromCharCode(33 + ((state = (state * 48271) % 2147483647) % 90));
  return Array.from({ length: count }, letter).join('');
};

/** A long text is packed into the address; one that cannot be packed well enough is left out, and the page says so. */
export async function longTexts(page, field, wait) {
  const value = (one) => one.locator(field).inputValue();
  const text = Array.from({ length: 300 }, (_, i) => `${i} ${kLine}`).join('');
  await page.locator(field).fill(text);
  await check('a long text is in the link', () => linked(page, wait, ['source'], value));
  await check('a text that is too long for a link: the page says so', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator(field).fill(noise(30_000));
    await becomes('in the address', () => page.url().includes('source='), false);
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByRole('button', { name: 'Copied, but the text is too long for a link' }).waitFor();
  });
}
