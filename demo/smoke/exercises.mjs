// The panel Exercises: questions, right answers and what the model says are those that Node makes of the same sentence.
import { accessible, becomes, check, demoModule, expect, kModel, nodeEntry } from './support.mjs';

const kSentence = 'the boat waits below the old bridge of stone';

const { makeExercises, rightAnswer } = await demoModule('exercises/exercises.ts');
const { openDoor } = await demoModule('attention/use_inside.ts');
const { kExercises, kOfPanel } = await demoModule('exercises/list.ts');

async function exercisesOfNode(text) {
  const { pipeline } = await nodeEntry();
  const [door, embed] = [await openDoor(kModel), await pipeline('feature-extraction', kModel)];
  const inside = await door.run({ text, pair: '', off: new Set() });
  const exercises = await makeExercises({ inside, embed, options: {} });
  door.dispose();
  await embed.dispose();
  return exercises;
}

const verdict = (page) => page.locator('.exercise-verdict').getAttribute('data-verdict');

async function answer(page, { answer }, right) {
  if ('choice' in answer) {
    const choice = right ? answer.choice : (answer.choice + 1) % answer.choices.length;
    await page.getByRole('radio', { name: answer.choices[choice], exact: true }).focus();
    await page.keyboard.press('Space');
  } else {
    const wrong = answer.number + 3 * answer.within + 1;
    await page.getByLabel('Your answer').fill((right ? answer.number : wrong).toFixed(4).replace('-', '−'));
  }
  await page.getByRole('button', { name: 'Check', exact: true }).focus();
  await page.keyboard.press('Enter');
}

async function solve(page, exercise, number) {
  const [, name] = kExercises.find(([id]) => id === exercise.id);
  await page.getByRole('button', { name: `${number}. ${name}` }).click();
  await page.locator(`[data-exercise=${exercise.id}]`).getByText(exercise.asks).waitFor();
  const cells = await page.locator('.exercise-given td:not(:empty)').allTextContents();
  expect('what is given', cells, exercise.given.flatMap(({ numbers }) => numbers)); // prettier-ignore
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await becomes('nothing given', () => verdict(page), 'unread');
  await answer(page, exercise, false);
  await becomes('a wrong answer', () => verdict(page), 'wrong');
  await page.getByText(exercise.hint).waitFor();
  await answer(page, exercise, true);
  await becomes('the right answer', () => verdict(page), 'right');
  const says = await page.locator('.exercise-verdict').innerText();
  for (const part of [rightAnswer(exercise), exercise.because, exercise.model])
    if (!says.includes(part)) throw new Error(`'${part}' is not in '${says}'`);
  return rightAnswer(exercise);
}

async function told(page) {
  await page.getByRole('button', { name: '1. Dot products' }).click();
  await page.getByRole('button', { name: 'Show the answer' }).click();
  await becomes('told', () => verdict(page), 'told');
}

/** Each panel's link leads to an exercise that is there, and an address to its exercise. */
async function ways(page) {
  for (const [panel, id] of Object.entries(kOfPanel)) {
    await page.evaluate((hash) => void (location.hash = hash), panel);
    await page.locator(`.to-exercise a[href="#exercises?at=${id}"]`).waitFor();
  }
  await page.locator('.to-exercise a').click();
  const [number, name] = [kExercises.findIndex(([id]) => id === kOfPanel.lessons) + 1, kExercises.find(([id]) => id === kOfPanel.lessons)[1]]; // prettier-ignore
  await becomes('the exercise', () => page.locator('#exercise-title').innerText(), `${number}. ${name}`);
}

/** What is there once the panel has computed something. */
export const sign = '[data-exercise]';

export async function drive(page) {
  await page.locator('#exercises-text').fill(kSentence);
  const exercises = await exercisesOfNode(kSentence);
  for (const [i, exercise] of exercises.entries()) await check(`exercises: ${exercise.id}: asked, wrong, right, as Node says`, () => solve(page, exercise, i + 1)); // prettier-ignore
  await check('exercises: all are solved', () => page.getByText('All seven are solved.').waitFor());
  await check('exercises: light, solved: axe-core', () => accessible(page));
  await check('exercises: an answer can be shown', () => told(page));
  await check('exercises: each panel leads to one', () => ways(page));
}
