// Drives WebKit, Safari's engine, over WebDriver: Debian's WebKitWebDriver and its MiniBrowser, on their own virtual screen (Xvfb).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

const kLook = 20; // ms between two looks at something that is not so yet
const pause = () => new Promise((resolve) => setTimeout(resolve, kLook));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a program that ends with this process at the latest. */
function begin(program, args, options) {
  const child = spawn(program, args, options);
  const failed = new Promise((_, reject) => {
    child.on('error', reject);
    child.on('exit', (status, signal) => reject(new Error(`${program} ended (${signal ?? status})`)));
  });
  failed.catch(() => {}); // for when nobody waits
  const kill = () => child.kill();
  process.on('exit', kill);
  async function end() {
    process.off('exit', kill);
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    kill();
    await once(child, 'exit');
  }
  return { child, failed, end };
}

/**
 * Starts the browser. patience: ms that a call may take before it counts as never. sharedMemory: with SharedArrayBuffer, which WebKitGTK
 * does not switch on by itself; Safari does, in isolated pages.
 */
export async function launchWebKit(driver, { patience, sharedMemory = false }) {
  const screen = begin('Xvfb', ['-displayfd', '3', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  let server;
  const end = async () => {
    await server?.end();
    await screen.end(); // and with it whatever still draws on it
  };
  try {
    const [display] = await Promise.race([once(screen.child.stdio[3], 'data'), screen.failed]);
    const port = await freePort();
    const env = { ...process.env, DISPLAY: `:${String(display).trim()}`, WEBKIT_DISABLE_COMPOSITING_MODE: '1' };
    if (sharedMemory) env.JSC_useSharedArrayBuffer = '1';
    server = begin(driver, ['--host=127.0.0.1', `--port=${port}`], { env, stdio: 'ignore' });
    const session = await Promise.race([openSession(`http://127.0.0.1:${port}/session`, patience), server.failed]);
    return new WebKit(session, patience, end);
  } catch (error) {
    await end();
    throw error;
  }
}

async function command(url, method, body) {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  const { value } = await response.json();
  if (!response.ok) throw new Error(`${value.error}: ${value.message}`);
  return value;
}

/** The URL of a session with a new browser, once the driver listens. */
async function openSession(url, patience) {
  const late = Date.now() + patience;
  for (;;) {
    try {
      const { sessionId } = await command(url, 'POST', { capabilities: {} });
      return `${url}/${sessionId}`;
    } catch (error) {
      if (error.cause?.code !== 'ECONNREFUSED' || Date.now() > late) throw error;
      await pause();
    }
  }
}

class WebKit {
  #session;
  #patience;
  #end;
  #last = Promise.resolve();
  #first;

  constructor(session, patience, end) {
    this.#session = session;
    this.#patience = patience;
    this.#end = end;
  }

  /** Opens a page. hear: what receives the lines that tests/browser/page/ear.js collects in it. */
  async open(url, hear = () => {}) {
    this.#first ??= await this.command('GET', 'window'); // stays open, because commands need a window
    // Not a tab: those in the background have slow timers.
    const { handle } = await this.inWindow(this.#first, () => this.command('POST', 'window/new', { type: 'window' }));
    const page = new WebKitPage(this, handle, this.#patience, hear);
    await page.go(url);
    return page;
  }

  async command(method, path, body) {
    return command(`${this.#session}/${path}`, method, body);
  }

  /** Runs commands in a window. There is one current window, so one caller at a time. */
  inWindow(handle, work) {
    const turn = this.#last.then(async () => {
      await this.command('POST', 'window', { handle });
      return work();
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  async close() {
    await this.#last;
    await command(this.#session, 'DELETE').catch(() => {});
    await this.#end();
  }
}

class WebKitPage {
  #browser;
  #handle;
  #patience;
  #hear;
  #calls = 0;
  #isClosed = false;

  constructor(browser, handle, patience, hear) {
    this.#browser = browser;
    this.#handle = handle;
    this.#patience = patience;
    this.#hear = hear;
  }

  #command(method, path, body) {
    if (this.#isClosed) throw new Error('this page was closed');
    return this.#browser.inWindow(this.#handle, () => this.#browser.command(method, path, body));
  }

  #run(script, ...args) {
    return this.#command('POST', 'execute/sync', { script, args });
  }

  go(url) {
    return this.#command('POST', 'url', { url });
  }

  /** Calls a function in the page and gives what it answers, as JSON can. Other pages may be called meanwhile. */
  async evaluate(work, ...args) {
    const id = `call${(this.#calls += 1)}`;
    // As part of the script: a page's policy forbids it to make functions of strings.
    await this.#run(
      `const [id, args] = arguments;
      const answers = (globalThis.webDriverAnswers ??= {});
      (async () => (${work})(...args))().then(
        (value) => (answers[id] = { value }),
        (error) => (answers[id] = { error: String(error) }),
      );`,
      id,
      args,
    );
    const late = Date.now() + this.#patience;
    for (;;) {
      const look = await this.#run(
        `const answer = globalThis.webDriverAnswers[arguments[0]];
        delete globalThis.webDriverAnswers[arguments[0]];
        return JSON.stringify({ answer, heard: globalThis.heard?.splice(0) ?? [] });`,
        id,
      );
      const { answer, heard } = JSON.parse(look);
      heard.forEach((line) => this.#hear(line));
      if (answer?.error) throw new Error(answer.error);
      if (answer) return answer.value;
      if (Date.now() > late) throw new Error(`no answer within ${this.#patience} ms from ${work}`);
      await pause();
    }
  }

  /** Waits until a function in the page answers something true. */
  async becomes(work, ...args) {
    const late = Date.now() + this.#patience;
    while (!(await this.evaluate(work, ...args))) {
      if (Date.now() > late) throw new Error(`not within ${this.#patience} ms: ${work}`);
      await pause();
    }
  }

  /** Puts files of this machine into a file input. */
  async upload(selector, files) {
    const [element] = Object.values(await this.#command('POST', 'element', { using: 'css selector', value: selector }));
    await this.#command('POST', `element/${element}/value`, { text: files.join('\n') });
  }

  async close() {
    const closed = this.#command('DELETE', 'window');
    this.#isClosed = true;
    await closed;
  }
}
