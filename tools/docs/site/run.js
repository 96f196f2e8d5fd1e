// Makes the examples of a page runnable in place: each becomes an editable text with a button below it, and runs in its own frame.
import { moduleOf, withResults } from './program.js';

const examples = [...document.querySelectorAll('pre[data-example]')].map((pre) => ({ pre, code: pre.querySelector('code') }));
const byNumber = new Map(examples.map((example) => [example.pre.dataset.example, example]));
const frameUrl = new URL(`${document.documentElement.dataset.base}frame.html`, document.baseURI);

/** What the code shows, with its line breaks. */
const textOf = (code) => code.innerText.replaceAll('\u00a0', ' ');

/** The module of an example and those that it needs; only the example itself says something. */
function programOf({ pre, code }) {
  const needed = (pre.dataset.needs || '').split(',').filter(Boolean);
  const codes = [...needed.map((number) => byNumber.get(number).code), code].map(textOf);
  const last = codes.length - 1;
  codes[last] = withResults(codes[last], 'result');
  return moduleOf(codes, (i) => (i === last ? 'begin(); ' : ''));
}

const button = (text) => Object.assign(document.createElement('button'), { type: 'button', textContent: text });

function makeRunnable(example) {
  const { pre, code } = example;
  const original = code.innerHTML;
  code.contentEditable = 'plaintext-only';
  code.spellcheck = false;
  code.setAttribute('role', 'textbox');
  code.setAttribute('aria-multiline', 'true');
  code.setAttribute('aria-label', 'Example, which you can change');

  const bar = Object.assign(document.createElement('div'), { className: 'example-bar' });
  const run = button('Run');
  const reset = button('Reset');
  const state = Object.assign(document.createElement('span'), { className: 'example-state', role: 'status' });
  reset.hidden = true;
  bar.append(run, reset, state);
  pre.after(bar);

  let frame;
  const end = () => {
    run.textContent = 'Run';
    run.dataset.state = '';
  };
  const stop = () => {
    frame?.remove();
    frame = undefined;
    end();
  };
  const start = () => {
    stop();
    frame = document.createElement('iframe');
    frame.title = 'What the example says';
    frame.className = 'example-frame';
    frame.addEventListener('load', ({ target }) => {
      const theme = getComputedStyle(document.documentElement).colorScheme;
      target.contentWindow.postMessage({ program: programOf(example), theme }, location.origin);
    });
    frame.src = frameUrl;
    bar.after(frame);
    run.textContent = 'Stop';
    run.dataset.state = 'running';
    state.textContent = 'running';
  };
  run.addEventListener('click', () => {
    if (run.dataset.state === 'running') {
      stop();
      state.textContent = 'stopped';
    } else start();
  });
  reset.addEventListener('click', () => {
    code.innerHTML = original;
    reset.hidden = true;
  });
  code.addEventListener('input', () => (reset.hidden = false));
  addEventListener('message', ({ source, origin, data }) => {
    if (!frame || source !== frame.contentWindow || origin !== location.origin) return;
    if (data.height) frame.style.height = `${data.height}px`;
    if (!data.ended) return;
    end();
    state.textContent = data.ended;
  });
}

examples.forEach(makeRunnable);
