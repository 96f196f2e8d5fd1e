// The frame in which an example runs: it waits for a program, runs it as a module and shows its output.
const output = document.querySelector('output');
let speaks = false;

/** A value as consoles show it, but shorter. */
function shown(value, depth = 0) {
  if (typeof value === 'string') return depth === 0 ? value : JSON.stringify(value);
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  if (typeof value === 'function') return value.name ? `[Function: ${value.name}]` : '[Function]';
  if (value === null || typeof value !== 'object') return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value.dims && value.data) return `Tensor ${shown(value.dims, 1)} ${shown(value.data, 1)}`;
  if (depth > 4) return '..';
  const isList = Array.isArray(value) || ArrayBuffer.isView(value);
  const kMost = isList ? 12 : 40;
  const entries = isList ? Array.from(value.subarray ? value.subarray(0, kMost) : value.slice(0, kMost)) : Object.entries(value);
  const parts = entries
    .slice(0, kMost)
    .map((each) => (isList ? shown(each, depth + 1) : `${each[0]}: ${shown(each[1], depth + 1)}`));
  const more = (isList ? value.length : entries.length) - parts.length;
  if (more > 0) parts.push(`.. ${more} more`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const line = parts.join(', ');
  if (line.length < 90 && !line.includes('\n')) return parts.length > 0 ? `${open} ${line} ${close}` : open + close;
  return `${open}\n${parts.map((part) => `  ${part.replaceAll('\n', '\n  ')}`).join(',\n')}\n${close}`;
}

function say(kind, values) {
  if (!speaks && kind === 'log') return;
  const line = document.createElement('div');
  line.textContent = values.map((value) => shown(value)).join(' ');
  line.className = line.textContent.includes('\n') ? `${kind} lines` : kind;
  output.append(line);
}

for (const kind of ['log', 'info', 'warn', 'error']) {
  const own = console[kind];
  console[kind] = (...values) => {
    own.apply(console, values);
    say(kind === 'info' ? 'log' : kind, values);
  };
}
// For the program: where the example itself begins, and its results.
globalThis.begin = () => (speaks = true);
globalThis.result = (value) => say('log', [value]);

const tell = (message) => parent.postMessage(message, location.origin);
new ResizeObserver(() => tell({ height: Math.ceil(document.documentElement.getBoundingClientRect().height) })).observe(output);
addEventListener('unhandledrejection', ({ reason }) => say('error', [reason]));

addEventListener('message', async ({ data, origin }) => {
  if (origin !== location.origin || typeof data.program !== 'string') return;
  document.documentElement.style.colorScheme = data.theme;
  const url = URL.createObjectURL(new Blob([data.program], { type: 'text/javascript' }));
  const start = performance.now();
  try {
    await import(url);
    tell({ ended: `done in ${((performance.now() - start) / 1000).toFixed(1)} s` });
  } catch (error) {
    say('error', [error]);
    tell({ ended: 'ended with an error' });
  } finally {
    URL.revokeObjectURL(url);
  }
});
