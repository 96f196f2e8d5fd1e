// The panel Model: its table, its memory plan, and the bench.
import { accessible, check, clickAsSoonAs, expect, kModel, kPatience, nodeEntry } from './support.mjs';

async function layers(page) {
  const { inspectModel } = await nodeEntry();
  const { layers: expected, parameters, macs } = await inspectModel(kModel, { seq: 8 });
  await page.locator('.seq select').selectOption('8');
  const total = page.locator('.layer-table tfoot td').last();
  await page.waitForFunction(
    (text) => document.querySelector('.layer-table tfoot td:last-child')?.textContent === text,
    macs.toLocaleString('en-GB'),
  );
  expect('MACs', await total.textContent(), macs.toLocaleString('en-GB'));
  expect('parameters', await page.locator('.layer-table tfoot td').first().textContent(), parameters.toLocaleString('en-GB'));
  expect(
    'names',
    await page.locator('.layer-table tbody th').allTextContents(),
    expected.map(({ name }) => name),
  );
}

async function memory(page) {
  const { pipeline } = await nodeEntry();
  const embed = await pipeline('feature-extraction', kModel);
  const { weights } = embed.memory();
  await embed.dispose();
  expect('bytes of weights', await page.locator('.memory dd b').first().textContent(), `${Math.round(weights / 1000)}\u00a0kB`);
}

async function bench(page) {
  await page.getByRole('button', { name: 'Measure', exact: true }).click();
  await page.getByRole('button', { name: 'Measure again' }).waitFor({ timeout: 5 * kPatience }); // some seconds of computing
  const names = await page
    .locator('.bench-table tbody th')
    .evaluateAll((all) => all.map(({ firstChild }) => firstChild.textContent));
  expect('the first variants', names.slice(0, 4), ['f32', 'f32, fast', 'q16', 'q8']);
  const cells = await page
    .locator('.bench-table tbody tr')
    .evaluateAll((rows) => rows.map((one) => [...one.cells].map(({ innerText }) => innerText)));
  for (const [name, speed, , , , cosine] of cells) {
    if (!(Number(/^[\d,]+/.exec(speed.trim())[0].replaceAll(',', '')) > 0)) throw new Error(`${name}: ${speed} texts a second`);
    if (!/^(1|1 − .*|0\.9\d+)$/.test(cosine)) throw new Error(`${name}: a cosine of ${cosine} to f32`);
  }
  return cells.map(([name, speed]) => `${name.split('\n')[0]} ${speed.trim().split(' ')[0]}`).join(', ');
}

async function cancelled(page) {
  const again = page.getByRole('button', { name: 'Measure again' });
  await clickAsSoonAs(page, () => again.click(), { sign: '.bench [role=status]', says: 'Measuring f32: 1 of', button: 'Cancel' });
  await page.getByRole('button', { name: /^Measure/ }).waitFor();
  expect('errors', await page.locator('.error').count(), 0);
}

/** What is there once the panel has computed something. */
export const sign = '.layer-table tbody tr';

export async function drive(page) {
  await check("model: the table of layers is Node's", () => layers(page));
  await check('model: the memory plan', () => memory(page));
  await check('model: the bench of its variants', () => bench(page));
  await check('model: light, axe-core', () => accessible(page));
  await check('model: the bench can be cancelled', () => cancelled(page));
}
