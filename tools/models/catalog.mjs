// The tables of docs/choose.md, made from models/catalog.json. `wattn models` and the demo's model picker read the same list.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../lib/shell.mjs';
import { asTable } from './table.mjs';

export const catalogFile = join(root, 'models/catalog.json');
export const choiceDocument = join(root, 'docs/choose.md');

const kSources = { shipped: 'our own package', run: 'run with real weights', card: 'model card; not run here' };
const kNames = new Intl.DisplayNames(['en'], { type: 'language' });
const kMostNamed = 4; // languages; of more, their number

const megabytes = (bytes) => (bytes === undefined ? '' : `${(bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0)} MB`);
const languagesOf = ({ languages }) => {
  const codes = languages.split(' ');
  return codes.length > kMostNamed ? `${codes.length} languages` : codes.map((code) => kNames.of(code)).join(', ');
};
const qualityOf = ({ quality = [] }) =>
  quality
    .map(({ measure, value, source }) => `${measure}: ${value.toFixed(3)}${source === 'its card' ? ' (model card)' : ''}`)
    .join('; ');
const timeOf = ({ ms, ms_of }) => (ms === undefined ? '' : `${ms} ms${ms_of ? ` ${ms_of}` : ''}`);

/** How a program asks for a model. */
const callOf = (id, task) => (id === 'wattn-default' ? `pipeline('${task}')` : `pipeline('${task}', '${id}')`);

export function choiceTables({ measured, models } = JSON.parse(readFileSync(catalogFile, 'utf8'))) {
  const wants = models.flatMap((model) =>
    model.wants.map(({ want, task, guide }) => [
      want,
      `\`${callOf(model.id, task)}\``,
      megabytes(model.bytes),
      `[guide](${guide})`,
    ]),
  );
  const rows = models.map((model) => [
    model.from === 'card' || model.from === 'run' ? `[${model.id}](https://huggingface.co/${model.id})` : `\`${model.id}\``,
    model.tasks.join(', '),
    languagesOf(model),
    megabytes(model.bytes),
    megabytes(model.memory),
    qualityOf(model),
    timeOf(model),
    model.licence,
    kSources[model.from],
  ]);
  return {
    wants: asTable(['you want to', 'call', 'download', 'more'], wants),
    models: asTable(['model', 'tasks', 'languages', 'download', 'memory', 'quality', 'one text', 'licence', 'source'], rows),
    measured: `Memory and time measured on ${measured.on}, ${measured.date}, with a text of ${measured.text.split(' ').length} words.`,
  };
}
