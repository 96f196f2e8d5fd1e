// The panel Attention: lines, numbers and steps are the model's own, as the package's entry for Node gives them.
import { accessible, becomes, check, expect, kModel, nodeEntry } from './support.mjs';

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

/** The strongest link between two words that are no neighbours: the one that Node finds; it leads to its head and its token. */
async function links(page) {
  await page.locator('#attention-pair').fill(kPair);
  const { tokens, out } = await insideOfNode(kText, kPair);
  const seq = tokens.length;
  const isWord = (i) => !/^\[/.test(tokens[i]) && /\w/.test(tokens[i]);
  let best = { weight: 0 };
  out.attentions.forEach(({ data, dims }, layer) =>
    data.forEach((weight, at) => {
      const [to, from, head] = [at % seq, Math.floor(at / seq) % seq, Math.floor(at / seq / seq) % dims[1]];
      if (isWord(from) && isWord(to) && Math.abs(from - to) > 1 && weight > best.weight) best = { layer, head, from, to, weight };
    }),
  );
  const first = page.locator('.links .link').first();
  const says = `${tokens[best.from]} looks at ${tokens[best.to]} ${best.weight.toFixed(2)} layer ${best.layer + 1}, head ${best.head + 1}`;
  await becomes('the strongest link', async () => (await first.innerText()).replace(/\s+/g, ' '), says);
  await first.click();
  await page.getByRole('heading', { name: `Layer ${best.layer + 1}, head ${best.head + 1}` }).waitFor();
  await choose(page, 'Lines');
  const row = [...out.attentions[best.layer].data].slice((best.head * seq + best.from) * seq).slice(0, seq);
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

/** What is there once the panel has computed something. */
export const sign = '.heads .head canvas';

export async function drive(page) {
  await check("attention: tokens and weights of a pair are Node's; arrow keys walk", () => matrix(page));
  await check('attention: the steps of a head, against double precision', () => steps(page));
  await check('attention: light, axe-core', () => accessible(page));
  await check('attention: pointing at a token shows its weights, which add up to 1', () => lines(page));
  await check('attention: heads turned off, and what is left', () => headsOff(page));
  await check('attention: the strongest link between words, in words and as lines', () => links(page));
}
