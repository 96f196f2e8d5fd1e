// The panel Classify: each card's answers are the ones that the package's entry for Node gives.
import { readFileSync } from 'node:fs';
import { accessible, becomes, check, expect, headFolder, kModel, loadFolder, nodeEntry, written } from './support.mjs';

const card = (page, title) => page.locator(`[aria-labelledby="${title}"]`);
const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;

/** Waits until the card shows these labels with these scores. */
const labelsBecome = (page, title, expected) =>
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

const kClasses = {
  up: ['one', 'the boat', 'a river'],
  down: ['bridge of stone', 'a house', 'two and three'],
  side: ['old', 'new', 'the light'],
};
const kTry = 'the boat below the bridge';

async function teach(page) {
  const { pipeline, Classifier } = await nodeEntry();
  for (const [i, [name, lines]] of Object.entries(kClasses).entries()) {
    await page.getByLabel(`Name of class ${i + 1}`).fill(name);
    await page.locator('.classes textarea').nth(i).fill(lines.join('\n'));
  }
  await page.locator('#teach-text').fill(kTry);
  const embed = await pipeline('feature-extraction', kModel);
  const texts = Object.values(kClasses).flat();
  const labels = Object.entries(kClasses).flatMap(([name, lines]) => lines.map(() => name));
  const classifier = await Classifier.fit(embed, texts, labels, { validation: 3, class_weight: 'balanced' });
  const expected = (await classifier(kTry, { top_k: null })).map(({ label, score }) => [label, percent(score)]);
  await labelsBecome(page, 'teach-title', expected);
  expect(
    'the accuracy',
    await card(page, 'teach-title').locator('.validation strong').textContent(),
    percent(classifier.report.accuracy),
  );
  const cells = await card(page, 'teach-title').locator('.confusion td[class]').allTextContents();
  expect('the confusion', cells.map(Number), classifier.report.confusion.flat());
  const { words } = await classifier.explain(kTry);
  const shown = await card(page, 'teach-title')
    .locator('.word')
    .evaluateAll((all) => all.map(({ textContent, title }) => [textContent, title]));
  expect(
    'the words',
    shown,
    words.map(({ word, weight }) => [word, `${weight < 0 ? '−' : '+'}${Math.abs(weight).toFixed(2)}`]),
  );
  await embed.dispose();
  return expected;
}

/** Downloaded, then loaded by the page again: the same answers. */
async function saved(page, expected) {
  const files = [];
  for (const name of ['classifier.json', 'classifier.safetensors']) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name }).click()]);
    files.push({ name, mimeType: 'application/octet-stream', buffer: readFileSync(await download.path()) });
  }
  await page.getByLabel('Examples of up').fill('something\nelse altogether');
  await page.getByText('in 2 folds').waitFor();
  await page.getByLabel('Files of a classifier').setInputFiles(files);
  await page.waitForSelector('.validation[data-loaded=true]');
  await labelsBecome(page, 'teach-title', expected);
}

async function missing(page) {
  await page.getByLabel('Examples of down').fill('only one');
  await page.getByText('“down” needs at least two examples.').waitFor();
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
    await page.locator('#entities-text').fill(text);
    const ner = await pipeline('ner', folder);
    const found = await ner(text, { aggregation_strategy: 'simple' });
    await ner.dispose();
    const expected = found.map(({ start, end, entity_group }) => `${text.slice(start, end)} ${entity_group}`);
    if (expected.length === 0) throw new Error('the model finds nothing, so nothing is tested');
    await becomes('entities', () => page.locator('.entity').allTextContents(), expected);
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
export const sign = '.explained .word';

export async function drive(page) {
  let expected;
  await check("classify: sentiment by the package's model, which the card says", () => sentiment(page));
  await check('classify: labels without examples, by nearness, which the card says', () => zeroShot(page));
  await check("classify: taught classes: scores, validation and explanation are Node's", async () => {
    expected = await teach(page);
  });
  await check('classify: light, axe-core', () => accessible(page));
  await check('classify: saved, and loaded again', () => saved(page, expected));
  await check('classify: says what is missing', () => missing(page));
  await check('classify: says why there are no entities', () => noEntities(page));
  await check('classify: entities of a model that marks them', () => entities(page));
  await check('classify: a model of inference is asked itself', () => inference(page));
}
