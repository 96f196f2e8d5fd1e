// A question with a few answers, in a terminal: arrow keys or numbers, then Enter.
import { emitKeypressEvents } from 'node:readline';

/**
 * Asks which row it is to be.
 *
 * @param question one line.
 * @param rows each `{ name, about }`; the first one is the default.
 * @param input a terminal's input: Node's `process.stdin`, or a stream with `setRawMode`.
 * @param output where the question is drawn.
 * @returns the row's number from 0. `undefined`: Escape, Ctrl+C, Ctrl+D, or the input has ended.
 */
export function choose(question, rows, input, output) {
  const width = Math.max(...rows.map(({ name }) => name.length));
  let at = 0;
  let isDrawn = false;
  const draw = () => {
    const lines = rows.map(({ name, about }, i) => {
      const line = `${i + 1}. ${name.padEnd(width)}  ${about}`;
      return i === at ? `\x1b[36m> ${line}\x1b[39m` : `  ${line}`;
    });
    const back = isDrawn ? `\x1b[${rows.length + 1}A` : '';
    isDrawn = true;
    const all = [`${question} (arrow keys or a number, then Enter)`, ...lines];
    output.write(`${back}${all.map((line) => `\x1b[2K${line}\n`).join('')}`);
  };
  return new Promise((resolve) => {
    const end = (answer) => {
      input.off('keypress', onKey);
      input.off('end', onEnd);
      input.setRawMode?.(false);
      input.pause();
      resolve(answer);
    };
    const onEnd = () => end(undefined);
    const onKey = (text, key) => {
      const number = Number(text);
      if (key.name === 'escape' || (key.ctrl && 'cd'.includes(key.name))) return end(undefined);
      if (key.name === 'return' || key.name === 'enter') return end(at);
      if (key.name === 'up' || key.name === 'k') at = (at + rows.length - 1) % rows.length;
      else if (key.name === 'down' || key.name === 'j') at = (at + 1) % rows.length;
      else if (number >= 1 && number <= rows.length) at = number - 1;
      else return undefined;
      return draw();
    };
    emitKeypressEvents(input);
    input.setRawMode?.(true);
    input.on('keypress', onKey);
    input.on('end', onEnd);
    input.resume();
    draw();
  });
}
