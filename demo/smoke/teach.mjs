// The panel Teach: the classifier's answers and the fine-tuned model's are those of the package's entry for Node.
import { readFileSync } from 'node:fs';
import { card, labelsBecome, percent } from './classify.mjs';
import { linked, saved as pictureSaved } from './pictures.mjs';
import { accessible, becomes, check, demoModule, expect, kModel, nodeEntry, runs } from './support.mjs';

const { ofAll } = await demoModule('ui/interval.ts');

const kClasses = {
  up: ['one', 'the boat', 'a river'],
  down: ['bridge of stone', 'a house', 'two and three'],
  side: ['old', 'new', 'the light'],
};
const kTry = 'the boat below the bridge';

const saysThatNounsMislead = (page) => card(page, 'tune-title').getByText('nouns mislead');

async function teach(page) {
  const { pipeline, Classifier } = await nodeEntry();
  await saysThatNounsMislead(page).waitFor();
  for (const [i, [name, lines]] of Object.entries(kClasses).entries()) {
    await page.getByLabel(`Name of class ${i + 1}`).fill(name);
    await page.locator('.classes textarea').nth(i).fill(lines.join('\n'));
  }
  await saysThatNounsMislead(page).waitFor({ state: 'hidden' });
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
    ofAll(Math.round(classifier.report.accuracy * classifier.report.examples), classifier.report.examples),
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
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      card(page, 'teach-title').getByRole('link', { name }).click(),
    ]);
    files.push({ name, mimeType: 'application/octet-stream', buffer: readFileSync(await download.path()) });
  }
  await page.getByLabel('Examples of up').fill('something\nelse altogether');
  await page.getByText('in 2 folds').waitFor();
  await page.getByLabel('Classifier files').setInputFiles(files);
  await page.waitForSelector('.validation[data-loaded=true]');
  await labelsBecome(page, 'teach-title', expected);
}

/** Slices, confusions, what is near and which edits count: as Node computes them. */
async function errs(page) {
  const { pipeline, Classifier, cos_sim } = await nodeEntry();
  const { confusionsOf, editsOf, flipsOf, judge, slicesOf, wordsOfLabels } = await demoModule('teach/judge.ts');
  const embed = await pipeline('feature-extraction', kModel);
  const pairs = Object.entries(kClasses).flatMap(([label, lines]) => lines.map((text) => ({ label, text })));
  const vectors = (await embed(pairs.map(({ text }) => text))).tolist();
  const examples = pairs.map((one, i) => ({ ...one, vector: Float32Array.from(vectors[i]) }));
  const classifier = await Classifier.fit(embed, pairs.map(({ text }) => text), pairs.map(({ label }) => label), { validation: 3, class_weight: 'balanced' }); // prettier-ignore
  const judged = await judge(embed, examples, classifier.C);
  await page.getByLabel('Slice by your own word').fill('the');
  const slices = slicesOf(judged, 'the').map(({ name, right, of }) => `${name}\t${ofAll(right, of)}`);
  await becomes('slices', () => page.locator('.data-slices tr').allInnerTexts(), slices);
  const [first] = confusionsOf(judged);
  const summaries = await page.locator('.data-view summary').allInnerTexts();
  expect('confusions', summaries, confusionsOf(judged).map(({ label, said, at }) => `${label} mistaken for ${said}: ${at.length}`)); // prettier-ignore
  const { text, vector } = judged[first.at[0]];
  await page.locator('.data-wrong button', { hasText: text }).first().click();
  const near = judged
    .filter((one) => one.text !== text)
    .map((one) => [one.text, cos_sim(vector, one.vector)])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 5);
  const shown = await page.locator('.data-near').first().locator('li').allInnerTexts();
  near.forEach(([other], i) => expect('near', shown[i].startsWith(other), true));
  await page.getByRole('button', { name: 'Try one word at a time' }).click();
  await page.locator('[data-edits]').waitFor();
  const [now] = await classifier([text]);
  const instead = [...wordsOfLabels(judged, 4)].flatMap(([label, own]) => (label === now.label ? [] : own));
  const edits = editsOf(text, instead);
  const flips = flipsOf(edits, await classifier(edits.map((edit) => edit.text)), now.label, 6);
  const found = await page.locator('[data-edits] li').allInnerTexts();
  expect('edits', found.length, flips.length);
  flips.forEach((flip, i) => expect('an edit', found[i].startsWith(`${flip.text} ${flip.says}`), true));
  await embed.dispose();
  return `${confusionsOf(judged).length} confusions, ${flips.length} edits`;
}

async function missing(page) {
  await page.getByLabel('Examples of down').fill('only one');
  await page.getByText('“down” needs at least two examples.').waitFor();
}

/** Fine-tuned here and by Node: the same answers to a digit, the same files to a byte. */
async function fineTuned(page) {
  const { Trainer } = await import(new URL('../../dist/train_entry_node.js', import.meta.url));
  const rows = Object.entries(kClasses).flatMap(([label, lines]) => lines.slice(0, 2).map((text) => ({ text, label })));
  const held = Object.entries(kClasses).map(([label, lines]) => [lines[2], label]);
  const trainer = await Trainer.from_pretrained(kModel, { task: 'text-classification', loss: 'SupConLoss' });
  const losses = [];
  for await (const { loss } of trainer.fit(rows)) losses.push(loss);
  const { classifier } = trainer;
  const scores = (await classifier(kTry, { top_k: null })).map(({ label, score }) => [label, percent(score)]);
  const said = await classifier(held.map(([text]) => text));
  const files = await trainer.save();
  await trainer.dispose();
  await page.getByRole('button', { name: 'Fine-tune' }).click();
  await page.locator('[data-tuned]').waitFor();
  const count = said.filter(({ label }, i) => label === held[i][1]).length;
  expect('right answers', await page.locator('[data-tuned]').innerText(), `${ofAll(count, held.length)} right`);
  await labelsBecome(page, 'tune-title', scores);
  const shares = await page.locator('.curve svg[aria-label^=Right]').getAttribute('aria-label');
  if (!shares.includes(`fine-tuned`) || !shares.includes(`${(count / held.length).toFixed(3)} at step ${losses.length};`))
    throw new Error(`the curve of right answers says '${shares}', and ${count} of ${held.length} are right`);
  const [first, last] = [losses[0], losses.at(-1)].map((loss) => loss.toFixed(3));
  const curve = await page.locator('.curve svg[aria-label^=Loss]').getAttribute('aria-label');
  expect('the curve', curve, `Loss by step: loss ${first} at step 1, ${last} at step ${losses.length}`);
  const name = 'adapter_model.safetensors';
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name }).click()]);
  expect('the adapter', readFileSync(await download.path()).equals(Buffer.from(files[name])), true);
}

/** The programs of both cards end with the labels that the cards show. */
async function programs(page) {
  for (const title of ['teach-title', 'tune-title']) {
    await card(page, title).locator('.code-of summary').click();
    const lines = (await runs(await card(page, title).locator('.code-of pre').innerText())).trim().split('\n');
    const scores = lines.filter((line) => /^\w+ 0\.\d{3}$/.test(line)).map((line) => line.split(' '));
    const shown = await card(page, title).locator('.label-name').allTextContents();
    if (title === 'teach-title') expect('labels', scores.map(([label]) => label), shown); // prettier-ignore
    expect('the number of labels', scores.length, 3);
  }
}

/** What is there once the panel has computed something. */
export const sign = '.explained .word';

export async function drive(page) {
  let expected;
  await check("teach: scores, validation and explanation are Node's", async () => {
    expected = await teach(page);
  });
  await check("teach: slices, confusions, nearest examples and edits are Node's", () => errs(page));
  await check("teach: fine-tuned as Node does it, to the adapter's last bit", () => fineTuned(page));
  await check('teach: the loss to take along', async () => {
    await pictureSaved(page, card(page, 'tune-title'), { texts: ['Fine-tuning: ', 'Loss by step'], elements: { polyline: 1 } });
  });
  await check('teach: a link brings the examples along', async () => {
    const fields = (one) => one.locator('.classes :is(input, textarea), #teach-text').evaluateAll((all) => all.map(({ value }) => value)); // prettier-ignore
    await linked(page, sign, ['classes', 'text'], fields);
  });
  await check('teach: the programs of the cards run', () => programs(page));
  await check('teach: light, axe-core', () => accessible(page));
  await check('teach: saved, and loaded again', () => saved(page, expected));
  await check('teach: says what is missing', () => missing(page));
}
