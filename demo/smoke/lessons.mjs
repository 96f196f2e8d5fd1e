// The panel Lessons: every experiment ends as it does in Node, can be stopped, and its code is that of docs/lessons.md.
import { readFileSync } from 'node:fs';
import { saved } from './pictures.mjs';
import { accessible, becomes, check, clickAsSoonAs, demoModule, expect } from './support.mjs';

const kPoints = { order: 120, scaling: 22, sorting: 200, characters: 60, reversing: 250, batchNorm: 80 };

const card = (page, id) => page.locator(`[data-lesson="${id}"]`);
const pointsOf = (page, id) =>
  card(page, id)
    .locator('polyline')
    .evaluateAll((lines) => lines.map((line) => line.points.numberOfItems).reduce((a, b) => a + b, 0));

/** Each row of a picture, read by keys as far as its largest number. */
async function read(figure, { rows, columns, values, names, columnNames }) {
  await figure.locator('canvas').focus();
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const key = column > 0 ? 'ArrowRight' : row > 0 ? 'ArrowDown' : 'ArrowLeft';
      if (column === 0) for (let back = 1; back < columns; ++back) await figure.locator('canvas').press('ArrowLeft');
      await figure.locator('canvas').press(key);
      const says = `“${names[row]}”, “${columnNames[column]}”: ${values[row * columns + column].toFixed(4)}`;
      expect('a number', await figure.locator('.detail').textContent(), says);
    }
  }
  // What it is for: what is written is what is read most, the other way round.
  const most = Array.from({ length: rows }, (_, row) => values.slice(row * columns, (row + 1) * columns));
  expect('the strongest', most.map((row) => row.indexOf(Math.max(...row))), [4, 3, 2, 1, 0]); // prettier-ignore
}

async function runs(page, id, runLesson) {
  const { text: expected, picture } = await runLesson(id, () => {});
  await card(page, id).getByRole('button', { name: /^Run/ }).focus();
  await page.keyboard.press('Enter');
  await becomes('the result', () => card(page, id).locator('.lesson-result').textContent(), expected);
  if (picture) await read(card(page, id).locator('.heatmap'), picture);
  expect('points of the curves', await pointsOf(page, id), kPoints[id]);
  return expected;
}

async function stopped(page) {
  const workers = page.workers().length;
  const sorting = card(page, 'sorting');
  const again = sorting.getByRole('button', { name: 'Run again' });
  await clickAsSoonAs(page, () => again.click(), { sign: '[data-lesson="sorting"][data-state="running"]', button: 'Stop' });
  await sorting.getByText('Stopped.').waitFor();
  await becomes('workers', () => page.workers().length, workers);
}

/** The programs are those of the guide, with what it shows printed: a test of the guide runs them, and smoke.mjs runs these. */
async function code(page) {
  const docs = readFileSync(new URL('../../docs/lessons.md', import.meta.url), 'utf8');
  const programs = [...docs.matchAll(/```js\n([^]*?)```/g)].slice(1).map(([, program]) => program);
  const shown = await page.locator('.lesson .code-of code').allTextContents();
  expect('programs', shown.length, programs.length);
  shown.forEach((program, i) => {
    const printed = program.match(/^console\.log\(/gm).length;
    expect('results', printed, programs[i].match(/^.*\/\/ => /gm).length);
    if (!program.replace(/console\.log\((.*)\); \/\/ =>/g, '$1; // =>').endsWith(programs[i])) throw new Error(program);
  });
}

/** What is there once the first experiment has ended. */
export const sign = '.lesson-result:not(:empty)';

export async function drive(page) {
  const { runLesson } = await demoModule('lessons/lessons.ts');
  await page.waitForSelector(sign); // the first experiment begins by itself
  for (const id of Object.keys(kPoints)) await check(`lessons: ${id} ends as in Node`, () => runs(page, id, runLesson));
  await check('lessons: curves and pictures to take along', async () => {
    await saved(page, card(page, 'order'), { texts: ['with positions'], elements: { polyline: 2 } });
  });
  await check('lessons: light, with results: axe-core', () => accessible(page));
  await check('lessons: stops at once', () => stopped(page));
  await check('lessons: the code is that of the guide', () => code(page));
}
