// The panel Attention: lines, numbers and steps are the model's own, as the package's entry for Node gives them.
import { readFileSync } from 'node:fs';
import { saved } from './pictures.mjs';
import { accessible, becomes, check, expect, headFolder, kModel, loadFolder, nodeEntry, runs } from './support.mjs';

const kText = 'The boat waits below the old bridge.';
const kPair = 'one two';

async function insideOfNode(text, text_pair) {
  const { AutoModel, AutoTokenizer } = await nodeEntry();
  const tokenizer = await AutoTokenizer.from_pretrained(kModel);
  const model = await AutoModel.from_pretrained(kModel);
  const inputs = tokenizer(text, text_pair ? { text_pair } : {});
  const out = await model(inputs, { output_attentions: true, output_qkv: true });
  const masked = await model(inputs, { head_mask: [[1, 0, 1, 1], [1, 1, 1, 1]] }); // prettier-ignore
  await model.dispose();
  return { tokens: tokenizer.convert_ids_to_tokens(inputs.input_ids), out, masked };
}

const choose = (page, view) => page.locator('.choice label', { hasText: view }).click();
const numbers = (texts) => texts.map((text) => Number(text.replace('−', '-')));

async function matrix(page) {
  await page.locator('#attention-text').fill(kText);
  await page.locator('#attention-pair').fill(kPair);
  const { tokens, out } = await insideOfNode(kText, kPair);
  await choose(page, 'Numbers');
  await page.locator('.head').nth(5).click(); // layer 2, head 2 of 4
  await becomes('tokens', () => page.locator('.weights th[scope=row]').allTextContents(), tokens);
  const seq = tokens.length;
  const expected = [...out.attentions[1].data.slice(seq * seq, 2 * seq * seq)].map((weight) => weight.toFixed(2).replace(/^0/, ''));
  expect('weights', await page.locator('.weights .cell').allTextContents(), expected);
  await page.locator('.weights .cell[tabindex="0"]').focus();
  await page.keyboard.press('ArrowRight');
  expect('the focus', await page.evaluate(() => document.activeElement.dataset.cell), '0 1');
}

/** The steps of layer 2, head 2, for the third token, counted here anew in double precision. */
async function steps(page) {
  const { tokens, out } = await insideOfNode(kText, kPair);
  await choose(page, 'Step by step');
  await page.locator('.steps-line select').selectOption('2');
  const [seq, dim] = [tokens.length, out.queries[1].dims[3]];
  const row = (tensor, i) => [...tensor.data.slice((seq + i) * dim, (seq + i + 1) * dim)]; // of the second head
  const query = row(out.queries[1], 2);
  const scores = tokens.map((_, i) => row(out.keys[1], i).reduce((sum, x, k) => sum + x * query[k], 0));
  const weights = scores.map((score) => Math.exp(score / Math.sqrt(dim)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  await page.getByRole('button', { name: '5. Softmax' }).click();
  const column = (n) => page.locator(`.step-table tbody td:nth-child(${n})`).allTextContents();
  const near = (what, found, expected, places) =>
    numbers(found).forEach((value, i) => {
      if (!(Math.abs(value - expected[i]) <= 0.51 * 10 ** -places))
        throw new Error(`${what} ${i}: expected ${expected[i]}, found ${value}`);
    });
  near('score', await column(2), scores, 2);
  near('scaled', await column(3), scores.map((score) => score / Math.sqrt(dim)), 2); // prettier-ignore
  near('weight', await column(5), weights.map((weight) => weight / total), 3); // prettier-ignore
  await page.getByText(/own attention is the same, to within/).waitFor();
  await page.getByRole('button', { name: 'Next' }).click();
  const sum = tokens
    .map((_, i) => row(out.values[1], i))
    .reduce((all, value, i) => all.map((x, k) => x + (weights[i] / total) * value[k]), Array(dim).fill(0));
  const shown = numbers((await page.locator('.sum code').last().textContent()).split(', ').slice(0, 4));
  near('sum', shown.map(String), sum, 2);
  await page.getByRole('button', { name: 'Back' }).click();
  expect('the step', await page.locator('[aria-current=step]').textContent(), '5. Softmax');
}

/** Links that may be claimed, as Node finds them: above the average of their column, by heads that are needed. The first leads to its head and its token. */
async function links(page) {
  await page.locator('#attention-pair').fill('');
  const { AutoModel, AutoTokenizer, cos_sim } = await nodeEntry();
  const [tokenizer, model] = [await AutoTokenizer.from_pretrained(kModel), await AutoModel.from_pretrained(kModel)];
  const inputs = tokenizer(kText);
  const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
  const out = await model(inputs, { output_attentions: true });
  const [seq, dim] = out.last_hidden_state.dims.slice(1);
  const [layers, heads] = [out.attentions.length, out.attentions[0].dims[1]];
  const vectors = ({ last_hidden_state: { data } }) => tokens.map((_, i) => data.slice(i * dim, (i + 1) * dim));
  const whole = vectors(out);
  const effects = [];
  for (let l = 0; l < layers; ++l)
    for (let h = 0; h < heads; ++h) {
      const head_mask = Array.from({ length: layers }, (_, i) =>
        Array.from({ length: heads }, (__, k) => (i === l && k === h ? 0 : 1)),
      );
      effects.push(vectors(await model(inputs, { head_mask })).map((vector, i) => 1 - cos_sim(vector, whole[i])));
    }
  await model.dispose();
  const isWord = (i) => !/^\[/.test(tokens[i]) && /\w/.test(tokens[i]);
  const best = new Map();
  for (let at = 0; at < layers * heads * seq * seq; ++at) {
    const [to, from, head, layer] = [
      at % seq,
      Math.floor(at / seq) % seq,
      Math.floor(at / seq / seq) % heads,
      Math.floor(at / seq / seq / heads),
    ];
    if (!isWord(from) || !isWord(to) || Math.abs(from - to) < 2) continue;
    const column = tokens.map((_, i) => out.attentions[layer].data[(head * seq + i) * seq + to]);
    const average = column.filter((_, i) => i !== from).reduce((sum, weight) => sum + weight, 0) / (seq - 1);
    const spread = Math.sqrt(
      column.filter((_, i) => i !== from).reduce((sum, weight) => sum + (weight - average) ** 2, 0) / (seq - 1),
    );
    const contrast = column[from] - average;
    const link = {
      layer,
      head,
      from,
      to,
      weight: column[from],
      average,
      contrast,
      rank: contrast + (contrast >= Math.max(0.1, 2 * spread) ? 1 : 0),
    };
    if (!(best.get(`${from} ${to}`)?.rank >= link.rank)) best.set(`${from} ${to}`, link);
  }
  const isNeeded = ({ layer, head, from }) =>
    effects[layer * heads + head][from] > effects.reduce((sum, row) => sum + row[from], 0) / effects.length;
  const claimed = [...best.values()]
    .filter((link) => link.contrast >= 0.1 && isNeeded(link))
    .sort((a, b) => b.contrast - a.contrast);
  if (claimed.length === 0) throw new Error('no link may be claimed, so nothing is tested');
  const percent = (share) => Math.round(100 * share);
  const says = ({ layer, head, from, to, weight, average, contrast }) =>
    `${tokens[from]} looks at ${tokens[to]} +${percent(contrast)} ${percent(weight)} %, others ${percent(average)} % · layer ${layer + 1}, head ${head + 1}`;
  const shown = async () => (await page.locator('.links .link').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
  await becomes('the links', shown, claimed.slice(0, 5).map(says));
  const { layer, head, from } = claimed[0];
  await page.locator('.links .link').first().click();
  await page.getByRole('heading', { name: `Layer ${layer + 1}, head ${head + 1}` }).waitFor();
  await choose(page, 'Lines');
  const row = [...out.attentions[layer].data].slice((head * seq + from) * seq).slice(0, seq);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as SVG' }).click()]);
  const svg = readFileSync(await download.path(), 'utf8');
  const most = row.indexOf(Math.max(...row));
  // The picture has words: pieces stand together.
  const piecesOf = (token) => {
    const all = tokens.map((_, i) => i);
    const first = all.findLast((i) => i <= token && !tokens[i].startsWith('##'));
    const next = all.find((i) => i > first && !tokens[i].startsWith('##'));
    return all.slice(first, next);
  };
  const wordOf = (token) => piecesOf(token).map((i) => tokens[i].replace('##', '')).join(''); // prettier-ignore
  const givenBy = (i) => piecesOf(most).reduce((sum, k) => sum + out.attentions[layer].data[(head * seq + i) * seq + k], 0);
  const average = tokens.reduce((sum, _, i) => (i === from ? sum : sum + givenBy(i)), 0) / (seq - 1);
  const title = `“${wordOf(from)}” looks at “${wordOf(most)}” with ${percent(givenBy(from))} % of its attention; other tokens give it ${percent(average)} %`;
  if (!svg.includes(`<title>${title}</title>`)) throw new Error(`the picture says ${/<title>.*<\/title>/.exec(svg)}`);
  expect(
    'its weights',
    await page.locator('.head-view .weight').allTextContents(),
    row.map((weight) => ` ${weight.toFixed(2)}`),
  );
}

async function lines(page) {
  await choose(page, 'Lines');
  const first = page.locator('.head-view text[tabindex]').nth(2);
  await first.hover();
  const shown = numbers(await page.locator('.head-view .weight').allTextContents());
  const sum = shown.reduce((total, weight) => total + weight, 0);
  if (!(Math.abs(sum - 1) < 0.01 * shown.length)) throw new Error(`the weights of a token add up to ${sum}`);
  await page.locator('h1').hover();
}

async function headsOff(page) {
  const { cos_sim } = await nodeEntry();
  await page.locator('#attention-pair').fill('');
  const { out, masked } = await insideOfNode(kText);
  const mean = ({ last_hidden_state: { data, dims } }) =>
    Array.from({ length: dims[2] }, (_, k) => data.reduce((sum, x, i) => (i % dims[2] === k ? sum + x / dims[1] : sum), 0));
  const cosine = cos_sim(mean(out), mean(masked)).toFixed(2);
  await page.locator('.head').nth(1).click();
  await page.getByRole('button', { name: 'Turn layer 1, head 2 off' }).click();
  await page.getByText(`1 head off: the text's mean vector has a cosine of ${cosine} to`).waitFor();
  expect('pictures of heads that are off', await page.locator('.head.is-off').count(), 1);
  await page.getByRole('button', { name: 'Turn layer 1, head 2 on' }).click();
  await page.getByText('Every head is on.').waitFor();
}

/** Every cell of the grid, computed by Node: one vector taken over, and how far the mean vector goes to the other text's. */
async function patching(page) {
  const other = kText.replace('boat', 'river');
  const { AutoModel, AutoTokenizer, Tensor } = await nodeEntry();
  const [tokenizer, model] = [await AutoTokenizer.from_pretrained(kModel), await AutoModel.from_pretrained(kModel)];
  const [a, b] = [tokenizer(kText), tokenizer(other)];
  const options = { output_hidden_states: true };
  const [own, donor] = [await model(a, options), await model(b, options)];
  const [seq, dim] = own.last_hidden_state.dims.slice(1);
  const mean = ({ last_hidden_state: { data } }) =>
    Array.from({ length: dim }, (_, k) => data.reduce((sum, x, i) => (i % dim === k ? sum + x / seq : sum), 0));
  const [from, to] = [mean(own), mean(donor)];
  const way = from.map((x, k) => to[k] - x);
  const length = way.reduce((sum, x) => sum + x * x, 0);
  const expected = [];
  for (let i = 0; i < seq; ++i)
    for (let layer = 0; layer < own.hidden_states.length - 1; ++layer) {
      const mixed = own.hidden_states[layer + 1].data.slice();
      mixed.set(donor.hidden_states[layer + 1].data.slice(i * dim, (i + 1) * dim), i * dim);
      const out = await model(a, { patch: { [`layer.${layer}.output`]: new Tensor('float32', mixed, [1, seq, dim]) } });
      expected.push(mean(out).reduce((sum, x, k) => sum + (x - from[k]) * way[k], 0) / length);
    }
  await model.dispose();
  await page.locator('#attention-text').fill(kText);
  await page.locator('#attention-other').fill(other);
  await page.getByRole('button', { name: 'Trace it' }).click();
  const cells = page.locator('.shares:not(.lens) td');
  await becomes('cells', () => cells.count(), expected.length);
  const shown = numbers((await cells.allTextContents()).map((text) => text.replace(' %', '')));
  const card = page.locator('.panel', { has: page.locator('#attention-other') });
  await saved(page, card, { texts: ['layer', 'boat → river', '[SEP]'] });
  const layers = own.hidden_states.length - 1;
  const printed = (await runs(await card.locator('.code-of pre').textContent())).trim().split('\n');
  expect('what its program prints', printed.map((line) => /: (-?\d+) %$/.exec(line)?.[1]), shown.map((_, i) => String(shown[(i % seq) * layers + Math.floor(i / seq)]))); // prettier-ignore
  const worst = Math.max(...shown.map((value, i) => Math.abs(value - 100 * expected[i])));
  if (!(worst <= 0.51)) throw new Error(`a share differs by ${worst} %`);
  if (!(Math.max(...shown) > 20)) throw new Error('no vector makes a difference, so nothing is tested');
  await page.locator('#attention-other').fill(`${other} And more of it.`);
  await page.getByRole('button', { name: 'Trace it' }).click();
  await page.locator('.error', { hasText: 'Replace a word' }).waitFor();
  await page.locator('#attention-other').fill(other);
}

/** What each layer would predict, of a model with a head over its vocabulary; of one without, why it says nothing. */
async function lens(page) {
  await page.getByRole('button', { name: 'Ask each layer' }).click();
  await page.getByText('The loaded model has no such head.').waitFor();
  const { folder, remove } = headFolder('masked_lm');
  try {
    await loadFolder(page, folder, 'attention');
    const { AutoModelForMaskedLM, AutoTokenizer } = await nodeEntry();
    const [tokenizer, model] = [await AutoTokenizer.from_pretrained(folder), await AutoModelForMaskedLM.from_pretrained(folder)];
    const inputs = tokenizer(kText);
    const { logit_lens } = await model(inputs, { logit_lens: 1 });
    await model.dispose();
    const [layers, , seq] = logit_lens.ids.dims;
    const ids = [...logit_lens.ids.data];
    const expected = Array.from({ length: seq }, (_, i) =>
      tokenizer.convert_ids_to_tokens(Array.from({ length: layers }, (__, layer) => ids[layer * seq + i])),
    );
    await page.locator('#attention-text').fill(kText);
    await page.getByRole('button', { name: 'Ask each layer' }).click();
    await page.locator('.lens td').first().waitFor();
    expect('tokens', await page.locator('.lens td').allTextContents(), expected.flat());
    await saved(page, page.locator('.panel', { has: page.locator('.lens') }), { texts: ['What each layer would predict'] });
  } finally {
    remove();
  }
}

/** What is there once the panel has computed something. */
export const sign = '.heads .head canvas';

export async function drive(page) {
  await check("attention: tokens and weights of a pair are Node's; arrow keys walk", () => matrix(page));
  await check('attention: the steps of a head, against double precision', () => steps(page));
  await check('attention: light, axe-core', () => accessible(page));
  await check('attention: pointing at a token shows its weights, which add up to 1', () => lines(page));
  await check('attention: the numbers of a head to take along', async () => {
    await choose(page, 'Numbers');
    const numbers = await page.locator('.weights .cell').allTextContents();
    await saved(page, page.locator('.panel', { has: page.locator('.weights') }), { texts: ['Attention of layer', ...numbers] });
    await choose(page, 'Lines');
  });
  await check('attention: heads turned off, and what is left', () => headsOff(page));
  await check('attention: links between words that may be claimed, in words and as lines', () => links(page));
  await check('attention: one vector taken over from another text: what that changes, in every cell', () => patching(page));
  await check('attention: what each layer would say', () => lens(page));
}
