// The models of the programs: the tiny ones of tests/goldens, in folders that both libraries read as `local/NAME`.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const kHeads = { sequence: 'sequence', nli: 'sequence', ranker: 'ranker', token: 'token', answer: 'answer', masked: 'masked_lm' };
const kWhole = { chat: 'decoders/smollm', translate: 'seq2seq/marian' };

/** What each program is given. */
export const kArguments = {
  ...Object.fromEntries(['embed', ...Object.keys(kHeads), ...Object.keys(kWhole)].map((name) => [name, `local/${name}`])),
  chat_template: "{% for message in messages %}{{ message['content'] }} {% endfor %}",
};

/** Writes the models into the folder `local` of a place. */
export function writeModels(goldens, place) {
  const to = (name) => join(place, 'local', name);
  mkdirSync(join(place, 'local'), { recursive: true });
  const encoder = join(goldens, 'bert-tiny/model');
  cpSync(encoder, to('embed'), { recursive: true });
  for (const [name, head] of Object.entries(kHeads)) {
    const own = to(name);
    cpSync(encoder, own, { recursive: true });
    for (const file of ['modules.json', '1_Pooling', '2_Normalize']) rmSync(join(own, file), { recursive: true, force: true });
    cpSync(join(goldens, 'tasks', head), own, { recursive: true });
    cpSync(join(own, 'model.safetensors'), join(own, 'encoder.safetensors'));
    rmSync(join(own, 'model.safetensors'));
    const weight_map = { encoder: 'encoder.safetensors', head: 'head.safetensors' };
    writeFileSync(join(own, 'model.safetensors.index.json'), JSON.stringify({ metadata: {}, weight_map }));
  }
  for (const [name, from] of Object.entries(kWhole)) cpSync(join(goldens, from), to(name), { recursive: true });
}

/** A program's text with another import: the only change. */
export const withImport = (file, name) =>
  readFileSync(file, 'utf8').replaceAll("'@huggingface/transformers'", JSON.stringify(name));
