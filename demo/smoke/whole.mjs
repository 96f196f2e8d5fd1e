// The panel Whole model: one picture of everything, in the numbers that Node computes.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linked } from './pictures.mjs';
import {
  accessible,
  becomes,
  check,
  expect,
  headFolder,
  kModel,
  loadFolder,
  nodeEntry,
  open,
  painted,
  written,
} from './support.mjs';

const kText = 'The boat waits below the old bridge.';
const kDecoder = fileURLToPath(new URL('../../tests/goldens/decoders/gpt2', import.meta.url));
const kStory = fileURLToPath(new URL('../../models/story/wattn-story.gguf', import.meta.url));
const kOutputs = { output_attentions: true, output_qkv: true, output_hidden_states: true };

async function byNode(text) {
  const { AutoModel, AutoTokenizer } = await nodeEntry();
  const [tokenizer, model] = [await AutoTokenizer.from_pretrained(kModel), await AutoModel.from_pretrained(kModel)];
  const inputs = tokenizer(text);
  const out = await model(inputs, kOutputs);
  await model.dispose();
  return { ids: [...inputs.input_ids.data], tokens: tokenizer.convert_ids_to_tokens(inputs.input_ids), out };
}

const partOf = (page) => page.locator('.whole-part').getAttribute('data-part');
const scaleOf = (page) => page.locator('.whole-picture canvas').getAttribute('data-scale');
const title = (page) => page.locator('#whole-part-title').innerText();
const lines = (page) => page.locator('.whole-formula li').allInnerTexts();
const numbers = (page) => page.locator('.whole-numbers .cell').allInnerTexts();
const lastOf = (line) => line.split(' = ').at(-1);

/** From the whole to a part, by the buttons of what each consists of. */
async function openPart(page, ...ids) {
  await page.locator('.whole-part nav button').first().click();
  for (const id of ids) {
    await page.locator(`[data-opens="${id}"]`).click();
    await becomes('the part', () => partOf(page), id);
  }
}

async function cell(page, i) {
  await page.locator('.whole-numbers .cell').nth(i).click();
  await page.locator('.whole-numbers .cell[aria-pressed=true]').waitFor();
}

/** Types until the picture shows it: closing the dialog of models goes back in the history, whose address may bring the text of before. */
async function fill(page, text) {
  const box = page.locator('#whole-text');
  const shown = async () => {
    if ((await box.inputValue()) !== text) await box.fill(text);
    return page.evaluate(() => document.querySelector('[data-weights=ready]')?.dataset.text);
  };
  await becomes('the text of the picture', shown, text);
}

/** Every kind of number, and that its formula ends with it. */
async function formulas(page) {
  await fill(page, kText);
  const { ids, tokens, out } = await byNode(kText);
  const [seq, size, heads] = [tokens.length, out.queries[0].dims[3], out.queries[0].dims[1]];
  const [layer, head, from, to] = [1, 2, 3, 2];
  await openPart(page, 'tokens', `token/${from}`);
  const about = await page.locator('.whole-part > p').innerText();
  if (!about.includes(`Number ${ids[from]} `)) throw new Error(`the token says '${about}'`);
  await openPart(page, 'vectors', `vector/${from}`);
  const dim = out.hidden_states[0].dims[2];
  const row = ({ data }, i, width) => [...data.slice(i * width, (i + 1) * width)];
  await becomes(
    'the vector',
    () => numbers(page),
    row(out.hidden_states[0], from, dim).map((one) => written(one)),
  );
  await cell(page, 5);
  expect('an embedding', lastOf((await lines(page)).at(-1)), written(row(out.hidden_states[0], from, dim)[5], 4));
  const way = [`layer/${layer}`, `heads/${layer}`, `head/${layer}/${head}`, `row/${layer}/${head}/${from}`];
  const at = (tensor, i) => row(tensor[layer], head * seq + i, size);
  await openPart(page, ...way, `link/${layer}/${head}/${from}/${to}`);
  const [query, key] = [at(out.queries, from), at(out.keys, to)];
  const product = query.reduce((sum, x, k) => sum + x * key[k], 0);
  const weights = row(out.attentions[layer], head * seq + from, seq);
  const found = (await lines(page)).map(lastOf);
  expect('q k', found[0], written(product, 4));
  expect('the score', found[1], written(product / Math.sqrt(size), 4));
  expect('softmax', found[3], written(weights[to], 4));
  expect('no other term', found.length, 4);
  for (const [kind, tensor, i] of [
    ['query', out.queries, from],
    ['key', out.keys, to],
    ['value', out.values, to],
  ]) {
    // prettier-ignore
    await openPart(page, ...way, `link/${layer}/${head}/${from}/${to}`, `${kind}/${layer}/${head}/${i}`);
    await cell(page, 3);
    expect(kind, lastOf((await lines(page)).at(-1)), written(at(tensor, i)[3], 4));
  }
  await openPart(page, ...way, `context/${layer}/${head}/${from}`);
  await cell(page, 1);
  const mixed = weights.reduce((sum, weight, i) => sum + weight * at(out.values, i)[1], 0);
  expect('the weighted sum', lastOf((await lines(page)).at(-1)), written(mixed, 4));
  for (const l of [0, 1]) {
    await openPart(page, `layer/${l}`, `outs/${l}`, `out/${l}/${from}`);
    await cell(page, 7);
    expect('a layer', lastOf((await lines(page)).at(-1)), written(row(out.hidden_states[l + 1], from, dim)[7], 4));
  }
  // What lies between is not shown by the library; that each layer's end follows from it was just seen.
  for (const [kinds, kind, steps] of [
    ['mixes', 'mix', 3],
    ['ffn', 'inner', 2],
  ]) {
    // prettier-ignore
    await openPart(page, `layer/${layer}`, `${kinds}/${layer}`, `${kind}/${layer}/${from}`);
    await cell(page, 2);
    const formula = await lines(page);
    expect(`lines of ${kind}`, formula.length, steps);
    const shown = await page.locator('.whole-numbers .cell').nth(2).innerText();
    expect(kind, written(Number(lastOf(formula.at(-1)).replace('−', '-'))), shown.replace('−0.00', '0.00'));
  }
  await openPart(page, 'output', 'sentence');
  const { pipeline } = await nodeEntry();
  const embed = await pipeline('feature-extraction', kModel);
  const [vector] = (await embed([kText])).tolist();
  await embed.dispose();
  await becomes(
    'the vector of the text',
    () => numbers(page),
    vector.map((one) => written(one)),
  );
  await cell(page, 4);
  expect('its mean', lastOf((await lines(page)).at(-1)), written(vector[4], 4));
  return `${seq} tokens, ${heads} heads`;
}

const whole = (page) => becomes('the whole is seen', () => scaleOf(page), '1.00 1.00');
const nearer = (page, than) =>
  page.waitForFunction((before) => document.querySelector('.whole-picture canvas').dataset.scale !== before, than);

async function camera(page) {
  await openPart(page);
  await whole(page);
  const canvas = page.locator('.whole-picture canvas');
  const box = await canvas.boundingBox();
  await canvas.focus();
  await page.keyboard.press('+');
  await nearer(page, '1.00 1.00');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('0');
  await whole(page);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -400);
  await nearer(page, '1.00 1.00');
  await page.getByRole('button', { name: 'The whole picture' }).click();
  await whole(page);
  // While the whole is seen, the wheel's way down scrolls the page.
  await page.mouse.wheel(0, 300);
  await page.waitForFunction(() => scrollY > 0);
  await page.evaluate(() => scrollTo(0, 0));
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await becomes('nearer', () => scaleOf(page), '2.00 2.00');
  await page.getByRole('button', { name: 'Zoom out' }).click();
  await whole(page);
  await openPart(page, 'layer/1', 'heads/1', 'head/1/3');
  await page.waitForFunction(() => {
    const [wide, high] = document.querySelector('.whole-picture canvas').dataset.scale.split(' ').map(Number);
    return wide > 20 && high < 2;
  });
  await canvas.focus();
  await page.keyboard.press('Escape');
  await becomes('up', () => partOf(page), 'heads/1');
}

/** A click opens what is under it, Enter what is in the middle. */
async function opens(page) {
  await openPart(page);
  await whole(page);
  const canvas = page.locator('.whole-picture canvas');
  await canvas.click({ position: { x: 20, y: 60 } });
  await becomes('a token', () => partOf(page), 'token/0');
  await openPart(page, 'layer/0', 'ffn/0', 'inner/0/2');
  await canvas.focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /^inner\/0\/2#\d+$/.test(document.querySelector('.whole-part').dataset.part));
  // By keys alone: Tab reaches the parts, Enter opens one, arrows walk through numbers.
  await openPart(page, 'vectors');
  await page.locator('[data-opens="vector/1"]').focus();
  await page.keyboard.press('Enter');
  await becomes('a vector', () => partOf(page), 'vector/1');
  await page.locator('.whole-numbers .cell').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await becomes('a number', () => partOf(page), 'vector/1#1');
}

/** Two fingers zoom the picture, never the page; while the whole is seen, one finger scrolls the page. */
async function fingers(page) {
  const options = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  const { page: phone, close } = await open(page.context().browser(), page.url(), options);
  await phone.locator(sign).waitFor();
  await phone.getByRole('button', { name: 'The whole picture' }).tap();
  await whole(phone);
  const { x, y, width, height } = await phone.locator('.whole-picture canvas').boundingBox();
  const [middle, low] = [x + width / 2, y + height / 2];
  const cdp = await phone.context().newCDPSession(phone);
  const touch = (type, touchPoints) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
  const both = (apart) => [middle - apart, middle + apart].map((at, id) => ({ x: at, y: low, id }));
  await touch('touchStart', both(20));
  for (const apart of [40, 60, 80]) await touch('touchMove', both(apart));
  await touch('touchEnd', []);
  await becomes('four times as near', () => scaleOf(phone), '4.00 4.00');
  expect('the page', await phone.evaluate(() => visualViewport.scale), 1);
  await phone.getByRole('button', { name: 'The whole picture' }).tap();
  await whole(phone);
  await touch('touchStart', [{ x: middle, y: low, id: 0 }]);
  for (const up of [30, 90, 150]) await touch('touchMove', [{ x: middle, y: low - up, id: 0 }]);
  await touch('touchEnd', []);
  await phone.waitForFunction(() => scrollY > 50);
  await whole(phone);
  await close();
}

const stepShown = (page) => page.locator('.whole-path [aria-current=step] .number').innerText();

async function path(page) {
  const [back, next] = ['Back', 'Next'].map((name) => page.locator('.whole-controls').getByRole('button', { name }));
  while (await back.isEnabled()) await back.click();
  await becomes('the first step', () => stepShown(page), '1');
  await next.click();
  await page.waitForFunction(() => /^vector\//.test(document.querySelector('.whole-part').dataset.part));
  await next.click();
  await page.waitForFunction(() => /^layer\//.test(document.querySelector('.whole-part').dataset.part));
  const count = await page.locator('.whole-path li').count();
  const seen = [];
  for (let i = 3; i < count; ++i) {
    await next.click();
    await becomes('the step', () => stepShown(page), String(i + 1));
    seen.push(await partOf(page));
  }
  expect('it ends with the output', seen.at(-1), 'output');
  expect('places', new Set(seen).size, seen.length);
  await page.getByRole('button', { name: 'Play' }).click();
  await becomes('from the beginning', () => stepShown(page), '1');
  await becomes('it goes on', () => stepShown(page), '2');
  await page.getByRole('button', { name: 'Pause' }).click();
  await painted(page);
  expect('it stands', await stepShown(page), '2');
}

/** Where nobody asked for less motion, scrolling the text moves the picture, which flies. */
async function scrolls(page) {
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await page.locator('.whole-path').evaluate((list) => (list.scrollTop = list.children[3].offsetTop));
  await becomes('the step', () => stepShown(page), '4');
  await page.waitForFunction(() => /^head\//.test(document.querySelector('.whole-part').dataset.part));
  await page.waitForFunction(() => parseFloat(document.querySelector('.whole-picture canvas').dataset.scale) > 20);
  await page.emulateMedia({ reducedMotion: 'reduce' });
}

async function texts(page) {
  await openPart(page);
  await page.locator('#whole-text').fill('');
  await page.getByText('Write a sentence.').waitFor();
  expect('parts of no text', await page.locator('.whole-part').count(), 0);
  await fill(page, 'one two');
  const { tokens } = await byNode('one two');
  await openPart(page, 'tokens');
  const plain = tokens.map((token) => token.replace(/^##/, ''));
  await becomes('tokens', () => page.locator('.whole-children button').allInnerTexts(), plain);
  await fill(page, kText);
}

/** A decoder from a folder: its next words, and what a person writes with them. */
async function decoder(page) {
  const folder = mkdtempSync(join(tmpdir(), 'wattn-demo-'));
  cpSync(kDecoder, folder, { recursive: true });
  await loadFolder(page, folder, 'whole');
  await fill(page, 'the cat sat');
  const { AutoModelForCausalLM, AutoTokenizer } = await nodeEntry();
  const [tokenizer, model] = [await AutoTokenizer.from_pretrained(kDecoder), await AutoModelForCausalLM.from_pretrained(kDecoder)];
  const { logits } = await model(tokenizer('the cat sat'));
  await model.dispose();
  const last = [...logits.data.slice(-logits.dims[2])];
  const sum = last.reduce((total, one) => total + Math.exp(one), 0);
  const best = last.map((logit, id) => ({ id, logit, share: Math.exp(logit) / sum })).sort((a, b) => b.logit - a.logit);
  await openPart(page, 'output', 'guess/0');
  const share = written(100 * best[0].share, best[0].share < 0.0995 ? 1 : 0);
  expect('the next word', await title(page), `“${tokenizer.decode([best[0].id])}”: ${share} %`);
  const found = (await lines(page)).map(lastOf);
  expect('its logit', found[0], written(best[0].logit, 4));
  expect('from the last vector', found.length, 3);
  expect('its share', found.at(-1), written(best[0].share, 4));
  await page.getByRole('button', { name: /^Write / }).click();
  await becomes('the text', () => page.locator('#whole-text').inputValue(), `the cat sat${tokenizer.decode([best[0].id])}`);
  rmSync(folder, { recursive: true });
}

/** The page's own decoder, a click away. */
async function story(page) {
  await page.evaluate(() => void (document.querySelector('[data-panel="whole"]').dataset.before = 'yes'));
  await page.locator('.whole-answers summary').click();
  await page.getByRole('button', { name: 'Load wattn-story' }).click();
  await page.waitForSelector('[data-panel="whole"]:not([data-before])');
  expect('the model', await page.locator('#model-title').innerText(), 'wattn-story');
  await fill(page, 'Once upon a');
  await openPart(page, 'output', 'guess/0');
  const { pipeline } = await nodeEntry();
  const generate = await pipeline('text-generation', kStory, { dtype: 'f32' });
  const [{ generated_text }] = await generate('Once upon a', { max_new_tokens: 1, do_sample: false });
  await generate.dispose();
  const next = generated_text.slice('Once upon a'.length);
  expect('the next word', (await title(page)).replace(/: .*/, ''), `“${next.trim()}”`);
}

/** An encoder with a head for hidden words fills one in. */
async function masked(page) {
  const { folder, remove } = headFolder('masked_lm');
  await loadFolder(page, folder, 'whole');
  await fill(page, kText);
  await page.getByRole('button', { name: 'Show the hidden word' }).waitFor();
  const { AutoModelForMaskedLM, AutoTokenizer } = await nodeEntry();
  const [tokenizer, model] = [await AutoTokenizer.from_pretrained(folder), await AutoModelForMaskedLM.from_pretrained(folder)];
  const inputs = tokenizer(kText);
  await openPart(page, 'tokens');
  const tokens = await page.locator('.whole-children button').allInnerTexts();
  const hidden = tokens.indexOf('[MASK]');
  inputs.input_ids.data[hidden] = tokenizer.mask_token_id;
  const { logits } = await model(inputs);
  await model.dispose();
  const width = logits.dims[2];
  const own = [...logits.data.slice(hidden * width, (hidden + 1) * width)];
  await openPart(page, 'output', 'guess/0');
  expect('the logit', lastOf((await lines(page))[0]), written(Math.max(...own), 4));
  await page.getByRole('button', { name: 'Show the hidden word' }).click();
  await page.getByRole('button', { name: /^Hide / }).waitFor();
  remove();
}

/** What is there once the panel has computed something. */
export const sign = '.whole-part';

export async function drive(page) {
  await page.waitForSelector(sign);
  await check("whole: every number opens to a formula that ends with Node's number", () => formulas(page));
  await check('whole: wheel, keys and buttons move the camera', () => camera(page));
  await check('whole: fingers zoom the picture and scroll the page', () => fingers(page));
  await check('whole: clicks and keys open what is in the picture', () => opens(page));
  await check('whole: a path leads through the picture, and plays', () => path(page));
  await check('whole: scrolling the text moves the picture', () => scrolls(page));
  await check('whole: no text, other words', () => texts(page));
  await check('whole: light, axe-core', () => accessible(page));
  await check('whole: its address shows the same elsewhere', async () => {
    await openPart(page, 'layer/1', 'outs/1', 'out/1/2');
    await linked(page, '.whole-part h3', ['text', 'at'], title);
  });
  await check('whole: a decoder from a folder writes the next word', () => decoder(page));
  await check('whole: wattn-story is a click away', () => story(page));
  await check('whole: an encoder fills in a hidden word', () => masked(page));
}
