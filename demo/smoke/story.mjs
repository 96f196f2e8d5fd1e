// The story: every number is the model's own, as the package's entry for Node computes it.
import { readFileSync, rmSync } from 'node:fs';
import { accessible, becomes, check, expect, kModel, nodeEntry, painted, runs, written } from './support.mjs';

const kText = 'The boat waits below the small bridge boat.'; // the last word looks most at the one before it, which the story leaves out

async function toldByNode(text) {
  const { AutoModel, AutoTokenizer, cos_sim, pipeline } = await nodeEntry();
  const [tokenizer, model] = [await AutoTokenizer.from_pretrained(kModel), await AutoModel.from_pretrained(kModel)];
  const inputs = tokenizer(text, { return_offsets_mapping: true });
  const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
  const out = await model(inputs, { output_attentions: true, output_qkv: true, output_hidden_states: true });
  await model.dispose();
  const embed = await pipeline('feature-extraction', kModel);
  const embedded = async (texts) => (await embed(texts)).tolist();
  return { ids: [...inputs.input_ids.data], tokens, out, cos_sim, embedded, done: () => embed.dispose() };
}

/** From the first picture or from another step. */
async function step(page, number) {
  const next = page.locator('.story-next');
  if (await next.isVisible()) await next.click();
  await page
    .locator('.story-steps button')
    .nth(number - 1)
    .click();
}
const texts = (page, selector) => page.locator(`.story-stage ${selector}`).allTextContents();

/** Which layer and head the page follows, from its own words. */
async function followed(page) {
  const says = await page.locator('.story-caption').innerText();
  const [, layer, head] = /layer (\d+), head (\d+)/.exec(says).map(Number);
  const from = await page.locator('.story-column .story-chip[aria-pressed=true]').evaluate((chip) => {
    return [...chip.parentElement.children].indexOf(chip);
  });
  return { layer: layer - 1, head: head - 1, from };
}

const shares = (weights) => weights.map((weight) => `${written(100 * weight, weight < 0.0995 ? 1 : 0)} %`);

async function numbers(page) {
  await page.locator('#story-text').fill(kText);
  const node = await toldByNode(kText);
  const { tokens, out } = node;
  await step(page, 2);
  await becomes('tokens', () => texts(page, '.story-tile'), tokens);
  expect('ids', await texts(page, '.num'), node.ids.map(String));
  await step(page, 3);
  const dim = out.hidden_states[0].dims[2];
  await page.locator('.story-stage .open-strip').nth(2).click();
  const all = [...out.hidden_states[0].data.slice(2 * dim, 3 * dim)].map((value) => written(value));
  expect('a vector', (await page.locator('.story-numbers').innerText()).split(/\s+/), all);
  await step(page, 4);
  const { layer, head, from } = await followed(page);
  const [seq, size] = [tokens.length, out.queries[layer].dims[3]];
  const row = ({ data }, i) => data.slice((head * seq + i) * size, (head * seq + i + 1) * size);
  const query = row(out.queries[layer], from);
  const scores = tokens.map((_, i) => row(out.keys[layer], i).reduce((sum, x, k) => sum + x * query[k], 0) / Math.sqrt(size));
  expect(
    'scores',
    await texts(page, '.num'),
    scores.map((score) => written(score)),
  );
  await step(page, 5);
  const weights = [...out.attentions[layer].data.slice((head * seq + from) * seq, (head * seq + from + 1) * seq)];
  expect('shares', await texts(page, '.num:last-child'), shares(weights));
  // The head that gives a word most above what other tokens give it, among words that do not stand beside the followed one.
  const far = tokens.flatMap((token, k) => (Math.abs(k - from) > 1 && /\w/.test(token) && token[0] !== '[' ? [k] : []));
  const links = out.attentions.flatMap(({ data, dims }) =>
    Array.from({ length: dims[1] }, (_, h) =>
      far.map((k) => {
        const column = tokens.map((__, i) => data[(h * seq + i) * seq + k]);
        const average = column.filter((__, i) => i !== from).reduce((sum, weight) => sum + weight, 0) / (seq - 1);
        const others = column.filter((__, i) => i !== from);
        const spread = Math.sqrt(others.reduce((sum, weight) => sum + (weight - average) ** 2, 0) / (seq - 1));
        const contrast = column[from] - average;
        return { weight: column[from], average, rank: contrast + (contrast >= Math.max(0.1, 2 * spread) ? 1 : 0) };
      }),
    ).flat(),
  );
  const most = links.reduce((a, b) => (b.rank > a.rank ? b : a));
  const says = await page.locator('.story-caption').innerText();
  for (const part of [`gives ${written(100 * most.weight, 0)} %`, `give it ${written(100 * most.average, 0)} % on average`])
    if (!says.includes(part)) throw new Error(`expected '${part}' in '${says}'`);
  await page.locator('.story-stage .num:last-child').nth(1).click();
  const opened = await page.locator('.story-opened').innerText();
  if (!opened.includes(`= ${written(weights[1], 4)}`)) throw new Error(`the opened number says '${opened}'`);
  await step(page, 6);
  const sum = Array.from({ length: size }, (_, k) =>
    weights.reduce((total, weight, i) => total + weight * row(out.values[layer], i)[k], 0),
  );
  await page.locator('.story-vector.is-sum .open-strip').click();
  expect(
    'the mix',
    (await page.locator('.story-numbers').innerText()).split(/\s+/),
    sum.map((value) => written(value)),
  );
  await step(page, 7);
  const state = (l, i) => out.hidden_states[l].data.slice(i * dim, (i + 1) * dim);
  const score = (value) => (Math.abs(value) < 0.005 ? '0.00' : written(value));
  const cosines = tokens.flatMap((_, i) => out.hidden_states.map((__, l) => score(node.cos_sim(state(l, from), state(l, i)))));
  expect('cosines', await texts(page, '.num'), cosines);
  await step(page, 8);
  await page.locator('.story-meaning li').first().waitFor();
  const others = await texts(page, '.story-meaning li > span:first-child');
  const [vector, ...rest] = await node.embedded([kText, ...others]);
  expect(
    'nearness',
    await texts(page, '.story-meaning .num'),
    rest.map((other) => score(node.cos_sim(vector, other))),
  );
  await node.done();
}

/**
 * The first picture: bars of both sentences, and a claim that Node's own patching agrees with. The tiny model is random, so it mostly tells nothing apart;
 * tests/web/demo_evidence.test.ts has heads that tell and heads that lie.
 */
async function contrast(page) {
  const [text, other] = ['The boat waits below the old bridge.', 'The river waits below the old bridge.'];
  await page.locator('#story-text').fill(text);
  await page.locator('#story-other').fill(other);
  const { AutoModel, AutoTokenizer, cos_sim, patch_map } = await nodeEntry();
  const [tokenizer, model] = [await AutoTokenizer.from_pretrained(kModel), await AutoModel.from_pretrained(kModel)];
  const [a, b] = [tokenizer(text), tokenizer(other)];
  const tokens = tokenizer.convert_ids_to_tokens(a.input_ids);
  const others = tokenizer.convert_ids_to_tokens(b.input_ids);
  const asked = { output_attentions: true };
  const [ours, theirs] = [await model(a, asked), await model(b, asked)];
  const words = tokens.flatMap((token, i) => (/\w/.test(token) && token[0] !== '[' ? [i] : []));
  const from = words.at(-1);
  const [seq, dim] = ours.last_hidden_state.dims.slice(1);
  const vector = ({ last_hidden_state: { data } }, row) => data.slice((row * seq + from) * dim, (row * seq + from + 1) * dim);
  const target = vector(theirs, 0);
  const metric = (output, row) => cos_sim(vector(output, row), target);
  const { scores } = await patch_map(model, b, a, { at: 'head', metric });
  await model.dispose();
  const heads = ours.attentions[0].dims[1];
  const contrastOf = ({ attentions }, l, h, to) => {
    const column = tokens.map((_, i) => attentions[l].data[(h * seq + i) * seq + to]);
    return column[from] - column.filter((_, i) => i !== from).reduce((sum, weight) => sum + weight, 0) / (seq - 1);
  };
  const told = [];
  for (const l of ours.attentions.keys())
    for (let h = 0; h < heads; ++h)
      for (const to of words.filter((i) => Math.abs(i - from) > 1 && tokens[i] === others[i])) {
        const [x, y] = [contrastOf(ours, l, h, to), contrastOf(theirs, l, h, to)];
        const share = scores.data[l * heads + h];
        if (Math.max(x, y) >= 0.1 && Math.abs(x - y) >= 0.1 && share > 2 / (heads * ours.attentions.length)) told.push(to);
      }
  await page.locator('.contrast:not(.is-one)').waitFor();
  const verdict = page.locator('.story-verdict');
  await verdict.filter({ hasText: told.length > 0 ? 'looks more at' : 'does not tell the two apart here' }).waitFor();
  await page.locator('.story-evidence summary').click();
  const place = /layer (\d+), head (\d+)/
    .exec(await page.locator('.story-evidence').innerText())
    .slice(1)
    .map(Number);
  const [layer, head] = place.map((one) => one - 1);
  // The pieces of a word stand together.
  const pieces = words.reduce((all, to) => (/^##/.test(tokens[to]) ? all.at(-1).push(to) : all.push([to]), all), []);
  const percents = ({ attentions }) =>
    pieces.map((all) => {
      const sum = all.reduce((total, to) => total + attentions[layer].data[(head * seq + from) * seq + to], 0);
      return `${Math.round(100 * sum)} %`;
    });
  const bars = (column) => page.locator(`.contrast tbody tr:not(.is-rest) td:nth-child(${column}) small`).allTextContents();
  expect('the first sentence', await bars(1), percents(ours));
  expect('the second sentence', await bars(3), percents(theirs));
  await page.locator('#story-other').fill('Something else.');
  await page.locator('.contrast.is-one').waitFor();
  await page.locator('#story-text').fill('');
  await page.getByText('Write a sentence.').waitFor();
  expect('pictures of no text', await page.locator('.contrast, .story-stage > *').count(), 0);
  await page.locator('#story-text').fill('東京で猫が座った 東京で猫が座った 東京で');
  await page.locator('.story-foreign').waitFor();
  await page.locator('#story-text').fill(kText);
  await page.locator('.story-foreign').waitFor({ state: 'detached' });
}

async function words(page) {
  await step(page, 2);
  await page.locator('#story-text').fill('one two');
  const node = await toldByNode('one two');
  await node.done();
  await becomes('tokens', () => texts(page, '.story-tile'), node.tokens);
  await step(page, 5);
  await page.locator('.story-column .story-chip').nth(2).click();
  await page.locator('.story-caption', { hasText: `“${node.tokens[2]}” gives` }).waitFor();
  await page.locator('#story-text').fill('');
  await page.getByText('Write a sentence.').waitFor();
  await page.locator('#story-text').fill(kText);
  await page.locator('.story-caption', { hasText: 'of its attention' }).waitFor();
}

async function keys(page) {
  await step(page, 4);
  await page.keyboard.press('ArrowRight');
  expect('the step', await page.locator('.story-steps [aria-current=step]').innerText(), '5\nSoftmax');
  await page.keyboard.press('Home');
  expect('the focus', await page.evaluate(() => document.activeElement.getAttribute('aria-current')), 'step');
  expect('letters', (await texts(page, '.story-letters b')).length, [...kText].length);
}

async function plays(page) {
  await step(page, 2);
  await page.getByRole('button', { name: 'Play' }).click();
  await page.locator('.story-stage[data-scene="2"]').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await painted(page);
  expect('the step', await page.locator('.story-stage').getAttribute('data-scene'), '2');
}

/** Where nobody asked for less motion, each token glides from its place to the next one. */
async function glides(page) {
  await step(page, 2);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await page.evaluate(() => {
    globalThis.glided = [];
    const animate = Element.prototype.animate;
    Element.prototype.animate = function (...how) {
      globalThis.glided.push(this.dataset.token);
      return animate.apply(this, how);
    };
  });
  const count = await page.locator('[data-token]').count();
  const all = Array.from({ length: count }, (_, i) => String(i));
  for (const [number, chips] of [
    [3, '.story-column .story-chip'],
    [7, '.story-layers .story-chip'],
    [2, '.story-tile'],
  ]) {
    // prettier-ignore
    await page.evaluate(() => void (globalThis.glided = []));
    await step(page, number);
    await page.locator(chips).first().waitFor();
    await becomes('tokens that glide', () => page.evaluate(() => globalThis.glided), all);
  }
  await page.emulateMedia({ reducedMotion: 'reduce' });
}

/** The address says which step of which text it is; another page shows the same. */
async function link(page) {
  await step(page, 5);
  await painted(page);
  const address = page.url();
  const other = await page.context().newPage();
  await other.goto(address);
  await other.locator('.story-caption', { hasText: 'of its attention' }).waitFor();
  expect('the text', await other.locator('#story-text').inputValue(), kText);
  expect('the words', await other.locator('.story-caption').innerText(), await page.locator('.story-caption').innerText());
  await other.close();
}

/** The program of the card, run by Node beside the package, prints the page's own numbers. */
async function program(page) {
  await step(page, 5);
  await page.locator('.code-of summary').click();
  const code = await page.locator('.code-of pre').innerText();
  const printed = await runs(code);
  const lines = printed.trim().split('\n');
  const found = lines.slice(0, -3).map((line) => shares([Number(line.trim().split(/\s+/).at(-1))])[0]);
  const shown = await texts(page, '.num:last-child');
  expect('tokens', lines.length - 3, shown.length);
  // Three digits of a weight against its share in percent: half a unit of the last digit.
  shown.forEach((text, i) => {
    if (Math.abs(Number.parseFloat(text) - Number.parseFloat(found[i])) > 0.55)
      throw new Error(`${text} here, ${found[i]} printed`);
  });
}

async function pictures(page) {
  for (const [name, begins] of [
    ['Save as SVG', '<svg'],
    ['Save as PNG', '\u2030PNG'],
  ]) {
    // prettier-ignore
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
    const file = await download.path();
    const start = readFileSync(file).subarray(0, 4).toString('latin1').replace('\x89', '\u2030');
    expect(name, start, begins);
    rmSync(file);
  }
}

/** What is there once the panel has computed something. */
export const sign = '.story-share';

export async function drive(page) {
  await page.waitForSelector(sign);
  await check('story: two sentences, and what may be claimed of them, as Node has it', () => contrast(page));
  await check("story: every number is Node's", () => numbers(page));
  await check('story: another word, another token to follow, no text', () => words(page));
  await check('story: keys walk through the steps', () => keys(page));
  await check('story: it plays, and stops when asked', () => plays(page));
  await check('story: tokens glide from step to step', () => glides(page));
  await check('story: light, axe-core', () => accessible(page));
  await check('story: its address shows the same elsewhere', () => link(page));
  await check("story: its program prints the page's numbers", () => program(page));
  await check('story: pictures to take along', () => pictures(page));
}
