import { loadModel, type Message, type Model } from './chat.js';
import { kChoices } from './models.js';

const byId = <Type extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as Type;
const log = byId('log');
const message = byId<HTMLTextAreaElement>('message');
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

const chat: Message[] = [];
let model: Model | undefined;
let answering: AbortController | undefined;

function showError(error: unknown) {
  byId('error').hidden = error === undefined;
  byId('error').textContent = error === undefined ? '' : error instanceof Error ? error.message : String(error);
}

function showChoices() {
  const named = new URLSearchParams(location.search).get('model');
  const own = named === null ? [] : [{ id: named, name: named, size: 'from the address' }];
  const rows = [...own, ...kChoices].map(({ id, name, size }, i) => {
    const row = document.createElement('label');
    const input = document.createElement('input');
    const about = document.createElement('span');
    Object.assign(input, { type: 'radio', name: 'model', value: id, checked: i === 0 });
    about.textContent = size;
    row.append(input, name, about);
    return row;
  });
  byId('choices').append(...rows);
}

async function start() {
  const chosen = new FormData(byId<HTMLFormElement>('start')).get('model') as string;
  const controller = new AbortController();
  const cancel = () => controller.abort();
  const setLoading = (isLoading: boolean) => {
    byId('loading').hidden = !isLoading;
    byId('load').hidden = isLoading;
    byId<HTMLFieldSetElement>('choices').disabled = isLoading;
  };
  setLoading(true);
  byId('cancel').addEventListener('click', cancel);
  byId('status').textContent = 'Loading';
  try {
    model = await loadModel(chosen, controller.signal, (loaded, total) => {
      byId<HTMLProgressElement>('progress').value = loaded / total;
      byId('status').textContent = `Loading: ${megabytes(loaded)} of ${megabytes(total)}`;
    });
    byId('start').hidden = true;
    byId('log').hidden = byId('composer').hidden = byId('new').hidden = false;
    byId('status').textContent = chosen;
    message.focus();
  } catch (error) {
    byId('status').textContent = '';
    if (!controller.signal.aborted) throw error;
  } finally {
    setLoading(false);
    byId('cancel').removeEventListener('click', cancel);
  }
}

/** A bubble in the log. */
function bubble(role: Message['role'], text: string): HTMLElement {
  const item = document.createElement('li');
  const speaker = document.createElement('span');
  const body = document.createElement('p');
  item.className = role;
  speaker.className = 'hidden';
  speaker.textContent = role === 'user' ? 'You: ' : 'Answer: ';
  body.textContent = text;
  item.append(speaker, body);
  log.append(item);
  item.scrollIntoView({ block: 'end' });
  return body;
}

async function answer(text: string) {
  const controller = (answering = new AbortController());
  chat.push({ role: 'user', content: text });
  bubble('user', text);
  const body = bubble('assistant', '');
  body.classList.add('waiting');
  byId('send').hidden = true;
  byId('stop').hidden = false;
  let content = '';
  try {
    for await (const piece of model!.answer(chat, controller.signal)) {
      const isAtEnd = innerHeight + scrollY >= document.body.scrollHeight - 40;
      content += piece;
      body.textContent = content.trimStart();
      if (isAtEnd) body.scrollIntoView({ block: 'end' }); // do not scroll if the user has scrolled up
    }
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  } finally {
    body.classList.remove('waiting');
    answering = undefined;
    byId('send').hidden = false;
    byId('stop').hidden = true;
    if (controller.signal.reason !== 'new') {
      if (content.trim() !== '') chat.push({ role: 'assistant', content });
      else {
        chat.pop(); // drop the unanswered message
        body.textContent = controller.signal.aborted ? 'Stopped.' : 'No answer.';
      }
    }
    message.focus();
  }
}

/** Makes the field as tall as its text. */
function fit() {
  message.style.height = 'auto';
  message.style.height = `${message.scrollHeight + 2}px`;
}

showChoices();
byId('start').addEventListener('submit', (event) => {
  event.preventDefault();
  showError(undefined);
  start().catch(showError);
});
byId('composer').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (text === '' || answering) return;
  showError(undefined);
  message.value = '';
  fit();
  answer(text).catch(showError);
});
message.addEventListener('input', fit);
message.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') answering?.abort();
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId<HTMLFormElement>('composer').requestSubmit();
});
byId('stop').addEventListener('click', () => answering?.abort());
byId('new').addEventListener('click', () => {
  answering?.abort('new');
  chat.length = 0;
  log.replaceChildren();
  showError(undefined);
  message.focus();
});
addEventListener('pagehide', (event) => {
  if (!event.persisted) void model?.dispose();
});
