import type { IndexDocument } from 'wattn';
import type { Library } from './library.js';
import { keepOffline } from './offline.js';
import { documentItem, hitItem } from './results.js';

const byId = <Type extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as Type;
const query = byId<HTMLInputElement>('query');
const dialog = byId<HTMLDialogElement>('add');
const text = byId<HTMLTextAreaElement>('text');
const title = byId<HTMLInputElement>('title');
const files = byId<HTMLInputElement>('files');
const progress = byId<HTMLProgressElement>('progress');
const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;

let library: Library;

function showError(error: unknown) {
  byId('error').hidden = error === undefined;
  byId('error').textContent = error === undefined ? '' : error instanceof Error ? error.message : String(error);
}

/** Runs an action, and shows its error. */
const attempt = (work: () => Promise<void>) => {
  showError(undefined);
  work().catch(showError);
};

function showProgress(label: string, share: number | undefined) {
  progress.hidden = share === undefined;
  progress.value = share ?? 0;
  progress.setAttribute('aria-label', label);
  if (share !== undefined) byId('status').textContent = label;
}

function showList(heading: string, items: HTMLLIElement[], whenEmpty: [string, string]) {
  byId('heading').hidden = items.length === 0;
  byId('heading').textContent = heading;
  byId('empty').hidden = items.length > 0;
  byId('empty').querySelector('h3')!.textContent = whenEmpty[0];
  byId('empty').querySelector('p')!.textContent = whenEmpty[1];
  byId('list').replaceChildren(...items);
}

/** Shows the hits of the query, or all documents if it is empty. */
async function show() {
  const asked = query.value.trim();
  if (asked === '') {
    const all = library.all().reverse();
    const items = all.map((each) => documentItem(each, () => attempt(() => remove(each.id))));
    byId('status').textContent = `${plural(all.length, 'document')} in this browser`;
    return showList('Documents', items, ['No documents yet', 'Press Add, or drop text files anywhere on this page.']);
  }
  const start = performance.now();
  const hits = await library.search(asked);
  if (asked !== query.value.trim()) return undefined; // the query has changed meanwhile
  byId('status').textContent = `${plural(hits.length, 'result')} in ${Math.max(1, Math.round(performance.now() - start))} ms`;
  return showList('Results', hits.map(hitItem), [
    'No results',
    'Try other words. The model that comes with this page reads English.',
  ]);
}

async function remove(id: string) {
  await library.remove(id);
  await show();
  byId<HTMLButtonElement>('open-add').focus();
}

async function add(documents: IndexDocument[]) {
  if (documents.length === 0) return;
  const label = (done: number) => `Reading ${done} of ${plural(documents.length, 'document')}`;
  try {
    showProgress(label(0), 0);
    await library.add(documents, (done) => showProgress(label(done), done / documents.length));
  } finally {
    showProgress('', undefined);
  }
  query.value = '';
  await show();
}

async function addFiles(list: FileList | readonly File[]) {
  const documents: IndexDocument[] = [];
  const refused: string[] = [];
  for (const file of list) {
    const content = await file.text();
    // A NUL or U+FFFD: an image, a PDF, or no UTF-8.
    if (content.trim() === '' || /[\0\ufffd]/.test(content.slice(0, 10_000))) refused.push(file.name);
    else documents.push({ id: `file:${file.webkitRelativePath || file.name}`, title: file.name, text: content });
  }
  await add(documents);
  if (refused.length > 0) throw new Error(`Only UTF-8 text files that are not empty can be added: ${refused.join(', ')}`);
}

function listen() {
  byId('search').addEventListener('submit', (event) => event.preventDefault());
  query.addEventListener('input', () => attempt(show));
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
    if (event.key !== '/' || isTyping || dialog.open) return;
    event.preventDefault();
    query.focus();
  });

  byId('open-add').addEventListener('click', () => dialog.showModal());
  byId('cancel').addEventListener('click', () => dialog.close());
  dialog.querySelector('form')!.addEventListener('submit', (event) => {
    if (text.value.trim() === '') {
      event.preventDefault();
      text.setCustomValidity('Write or paste a text first.');
      text.reportValidity();
      return;
    }
    const own = { id: `note:${crypto.randomUUID()}`, text: text.value, ...(title.value.trim() && { title: title.value.trim() }) };
    attempt(() => add([own]));
    text.value = title.value = '';
  });
  text.addEventListener('input', () => text.setCustomValidity(''));
  files.addEventListener('change', () => {
    const chosen = [...(files.files ?? [])];
    files.value = '';
    dialog.close();
    attempt(() => addFiles(chosen));
  });

  const isFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
  document.addEventListener('dragover', (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    byId('drop').hidden = false;
  });
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) byId('drop').hidden = true;
  });
  document.addEventListener('drop', (event) => {
    byId('drop').hidden = true;
    if (!isFiles(event)) return;
    event.preventDefault();
    const dropped = [...(event.dataTransfer?.files ?? [])];
    attempt(() => addFiles(dropped));
  });
}

try {
  await keepOffline();
  // Loaded after that, so that the service worker caches what it loads.
  const { openLibrary } = await import('./library.js');
  library = await openLibrary((share) => showProgress('Loading the model', share));
  showProgress('', undefined);
  listen();
  query.disabled = byId<HTMLButtonElement>('open-add').disabled = false;
  if (matchMedia('(hover: hover)').matches) query.focus(); // not on a phone, whose keyboard would cover the page
  await show();
} catch (error) {
  showProgress('', undefined);
  byId('status').textContent = 'The search could not start.';
  showError(error);
}
