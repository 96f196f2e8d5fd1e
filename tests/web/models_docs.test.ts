// docs/models.md has the tables that tools/models_table.mjs writes.
import { describeModel } from 'wattn';
import { root } from './support.js';

it('docs/models.md says what the package does (node tools/models_table.mjs writes it)', async () => {
  const { currentDocument, modelTables, withTables } = await import(`${root}/tools/models/table.mjs`);
  const text = currentDocument();
  expect(withTables(text, await modelTables(describeModel))).toBe(text);
});
