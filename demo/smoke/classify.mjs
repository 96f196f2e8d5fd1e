// The panel Classify: each card's answers are the ones that the package's entry for Node gives.
import { saved } from './pictures.mjs';
import { accessible, becomes, check, expect, headFolder, kModel, loadFolder, nodeEntry, runs, written } from './support.mjs';

export const card = (page, title) => page.locator(`[aria-labelledby="${title}"]`);
export const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;

/** Waits until the card shows these labels with these scores. */
export const labelsBecome = (page, title, expected) =>
  becomes(
    title,
    () =>
      card(page, title)
        .locator('.labels li')
        .evaluateAll((all) => all.map((one) => ['.label-name', '.label-score'].map((part) => one.querySelector(part).textContent))),
    expected,
  );

async function sentiment(page) {
  const { pipeline } = await nodeEntry();
  const text = 'What a dull, lifeless mess.';
  await page.locator('#sentiment-text').fill(text);
  const classify = await pipeline('text-classification');
  const expected = (await classify(text, { top_k: null })).map(({ label, score }) => [label.toLowerCase(), percent(score)]);
  await classify.dispose();
  await labelsBecome(page, 'sentiment-title', expected);
  await card(page, 'sentiment-title').getByText('has no labels of its own').waitFor(); // the tiny model's files
}

/** The table's numbers are the ones that Node's own calls give, and the sentence above it follows from them. */
async function deciding(page) {
  const { attribute, AutoModelForSequenceClassification, AutoTokenizer } = await nodeEntry();
  const text = 'A dull and lifeless film.';
  await page.locator('#sentiment-text').fill(text);
  const [tokenizer, model] = [await AutoTokenizer.from_pretrained(), await AutoModelForSequenceClassification.from_pretrained()];
  const inputs = tokenizer(text);
  const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
  const { logits, attentions } = await model(inputs, { output_attentions: true });
  const metric = { logit: logits.data.indexOf(Math.max(...logits.data)) };
  const columns = [];
  for (const how of [{ method: 'leave_one_out' }, { method: 'gradient_x_input' }, { method: 'integrated_gradients', n_steps: 20 }])
    columns.push([...(await attribute(model, inputs, { ...how, metric })).scores.data]);
  const rows = attentions.at(-1).data;
  const seen = tokens.map((_, key) => {
    const column = rows.filter((__, i) => i % tokens.length === key);
    return column.reduce((sum, weight) => sum + weight, 0) / column.length;
  });
  await model.dispose();
  const sentiment = card(page, 'sentiment-title');
  await sentiment.getByText('Which words decide?').click();
  await sentiment.getByRole('button', { name: 'Compute attributions' }).click();
  const read = () => sentiment.locator('.deciding td').allTextContents();
  await becomes('cells', async () => (await read()).length, 4 * tokens.length);
  const expected = tokens.flatMap((_, i) => [
    `${Math.round(100 * seen[i])} %`,
    ...columns.map((scores) => scores[i].toFixed(2).replace('-', '−')),
  ]);
  expect('cells', await read(), expected);
  const words = [...columns, seen].map(
    (numbers) => tokens.slice(1, -1)[numbers.slice(1, -1).indexOf(Math.max(...numbers.slice(1, -1)))],
  );
  const said = await sentiment.locator('.deciding [role=status]').textContent();
  expect(
    'words in the sentence',
    words.filter((word) => !said.includes(`“${word}”`) && !said.startsWith('All three')),
    [],
  );
  await saved(page, sentiment, { texts: ['left out', 'gradient', 'path'] });
  const printed = (await runs(await sentiment.locator('.deciding .code-of pre').textContent())).trim().split('\n');
  expect(
    'what its program prints',
    printed.map((line) => line.split(' ')[0]),
    ['leave_one_out', 'gradient_x_input', 'integrated_gradients'],
  );
}

async function zeroShot(page) {
  const { pipeline, cos_sim } = await nodeEntry();
  const [text, labels] = ['The old bridge over the river.', ['boats', 'numbers', 'music']];
  await page.locator('#zero-text').fill(text);
  await page.locator('#zero-labels').fill(labels.join(', '));
  const embed = await pipeline('feature-extraction', kModel);
  const [first, ...others] = (await embed([text, ...labels])).tolist();
  await embed.dispose();
  const scores = others.map((vector, i) => [labels[i], cos_sim(first, vector)]).sort((a, b) => b[1] - a[1]);
  await labelsBecome(
    page,
    'zero-title',
    scores.map(([label, score]) => [label, written(score)]),
  );
  await card(page, 'zero-title').getByText('not probabilities').waitFor();
}

async function noEntities(page) {
  await card(page, 'entities-title').getByText('was not trained to mark entities').waitFor();
}

async function entities(page) {
  const { folder, remove } = headFolder('token');
  try {
    const { pipeline } = await nodeEntry();
    await loadFolder(page, folder, 'classify');
    const text = 'Ada met Bob in London and went on to Paris with seven others.';
    const box = page.locator('#entities-text');
    await box.fill(text);
    const ner = await pipeline('ner', folder);
    const found = await ner(text, { aggregation_strategy: 'simple' });
    await ner.dispose();
    const expected = found.map(({ start, end, entity_group }) => `${text.slice(start, end)} ${entity_group}`);
    if (expected.length === 0) throw new Error('the model finds nothing, so nothing is tested');
    const read = async () => {
      if ((await box.inputValue()) !== text) await box.fill(text); // the card may have been drawn anew for the model
      return page.locator('.entity').allTextContents();
    };
    await becomes('entities', read, expected);
    return `${expected.length} of them`;
  } finally {
    remove();
  }
}

async function inference(page) {
  const { folder, remove } = headFolder('sequence');
  try {
    const { pipeline } = await nodeEntry();
    await loadFolder(page, folder, 'classify');
    const classify = await pipeline('zero-shot-classification', folder);
    const { labels, scores } = await classify('The old bridge over the river.', ['boats', 'numbers', 'music']);
    await classify.dispose();
    await labelsBecome(
      page,
      'zero-title',
      labels.map((label, i) => [label, percent(scores[i])]),
    );
  } finally {
    remove();
  }
}

/** What is there once the panel has computed something. */
export const sign = '.labels li';

export async function drive(page) {
  await check("classify: sentiment by the package's model, which the card says", () => sentiment(page));
  await check('classify: labels without examples, by nearness, which the card says', () => zeroShot(page));
  await check('classify: which words decide, in three ways', () => deciding(page));
  await check('classify: light, axe-core', () => accessible(page));
  await check('classify: says why there are no entities', () => noEntities(page));
  await check('classify: entities of a model that marks them', () => entities(page));
  await check('classify: a model of inference is asked itself', () => inference(page));
}
