// A form that a language model fills in from a text, in a worker. The answer is held to a JSON Schema made from the form, and each field shows its
// value while it is written. The second visit needs no network.
import * as jinja from '@huggingface/jinja';
import { env, pipeline } from 'wattn';
import { fieldsOf, labelOf, promptOf, schemaOf, setField } from './form.js';

/** README.md says what this model was seen to do, and which others may stand here. `?model=` in the address is another one. */
const kModel = new URLSearchParams(location.search).get('model') ?? 'HuggingFaceTB/SmolLM2-135M-Instruct';
const kTokens = 200; // an answer's, at most

env.jinja = jinja; // chat templates are written in Jinja
keepPage();

const byId = (id) => document.getElementById(id);
const form = byId('form');
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
const say = (text) => (byId('status').textContent = text);
let generate;

/** For a visit without a network: what the page loaded before its service worker was there. */
async function keepPage() {
  if (!navigator.serviceWorker) return;
  await navigator.serviceWorker.register('./offline.js');
  await navigator.serviceWorker.ready;
  const urls = [location.href, ...performance.getEntriesByType('resource').map(({ name }) => name)];
  await (await caches.open('page')).addAll([...new Set(urls.filter((url) => new URL(url).origin === location.origin))]);
}

function showError(text) {
  byId('error').hidden = text === undefined;
  byId('error').textContent = text ?? '';
}

/** The model, downloaded with the first call: in the browser's cache after that. */
async function load(signal) {
  say('Loading the model');
  byId('progress').hidden = false;
  try {
    return await pipeline('text-generation', kModel, {
      worker: true,
      dtype: 'q8',
      signal,
      progress_callback: ({ status, loaded, total }) => {
        if (status !== 'progress') return;
        byId('progress').value = loaded / total;
        say(`Loading the model: ${megabytes(loaded)} of ${megabytes(total)}`);
      },
    });
  } finally {
    byId('progress').hidden = true;
  }
}

function mark(controls, state) {
  const place = controls[0].closest('fieldset, label');
  if (state) place.dataset.state = state;
  else delete place.dataset.state;
}

/** Writes the values so far; the last one is still being written. */
function show(fields, values) {
  const names = Object.keys(values);
  for (const [name, controls] of fields) {
    const i = names.indexOf(name);
    if (i < 0) continue;
    setField(controls, values[name]);
    mark(controls, i === names.length - 1 ? 'writing' : values[name] === null ? 'missing' : 'filled');
  }
}

const formatOf = (schema) => ({ type: 'json_schema', json_schema: schema, key_order: 'schema' });

/** Labels of the fields that no value fits: each alone is asked for one token. */
async function impossible(fields, { properties }) {
  const labels = [];
  for (const [name, controls] of fields) {
    const alone = generate('', { response_format: formatOf(properties[name]), max_new_tokens: 1 });
    if (await alone.then(() => false, ({ code }) => code === 'input' || code === 'unsupported')) labels.push(labelOf(controls)); // prettier-ignore
  }
  return labels;
}

async function fill(signal) {
  generate ??= await load(signal);
  const fields = fieldsOf(form);
  const schema = schemaOf(form);
  for (const controls of fields.values()) mark(controls);
  say('Reading the message');
  const chat = promptOf(form, byId('message').value.trim());
  let values = {};
  try {
    const options = { response_format: formatOf(schema), max_new_tokens: kTokens, signal };
    for await (values of generate.stream_objects(chat, options)) {
      if (form.getBoundingClientRect().top > innerHeight / 2) form.scrollIntoView(); // on a phone
      show(fields, values);
      say(`Writing: ${Object.keys(values).length} of ${fields.size} fields`);
    }
  } catch (error) {
    const labels = error.code === 'input' || error.code === 'unsupported' ? await impossible(fields, schema) : [];
    if (labels.length === 0) throw error;
    say('');
    return showError(
      `This form cannot be filled in: no value fits ${labels.map((label) => `“${label}”`).join(' and ')}. Look at its limits.`,
    );
  }
  let missing = 0;
  for (const [name, controls] of fields) {
    mark(controls, values[name] === null ? 'missing' : 'filled');
    if (values[name] === null) ++missing;
  }
  say(
    `${fields.size - missing} fields filled in${missing ? `, ${missing} left empty` : ''}. Compare them with the message: models make mistakes.`,
  );
}

async function start() {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const setBusy = (isBusy) => {
    byId('fill').disabled = isBusy;
    byId('stop').hidden = !isBusy;
    form.ariaBusy = isBusy;
  };
  showError();
  setBusy(true);
  byId('stop').addEventListener('click', stop);
  try {
    await fill(controller.signal);
  } catch (error) {
    say(controller.signal.aborted ? 'Stopped' : '');
    if (!controller.signal.aborted) {
      showError(
        error.code === 'incomplete' ? 'The answer became too long and was cut off. The fields have what there is.' : error.message,
      );
    }
  } finally {
    for (const place of form.querySelectorAll('[data-state=writing]')) delete place.dataset.state;
    byId('stop').removeEventListener('click', stop);
    setBusy(false);
  }
}

byId('fill').addEventListener('click', start);
form.addEventListener('input', ({ target }) => mark([target])); // a person's own value
form.addEventListener('submit', (event) => {
  event.preventDefault();
  say('This example sends nothing: here your own page would.');
});
