// Collects console output in `heard` for WebKit, whose driver does not report it. Loaded before everything else in a page.
globalThis.heard = [];
const hear = (line) => globalThis.heard.push(line);
for (const name of ['debug', 'error', 'info', 'log', 'warn']) {
  const write = console[name].bind(console);
  console[name] = (...args) => {
    hear(args.map(String).join(' '));
    write(...args);
  };
}
addEventListener('error', ({ message, target }) => hear(message ?? `could not load ${target.src ?? target.href}`), true);
addEventListener('unhandledrejection', ({ reason }) => hear(String(reason)));
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  hear(`policy: ${violatedDirective} ${blockedURI}`),
);
