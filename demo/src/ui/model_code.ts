// Pieces of the programs that cards offer to copy.
import type { ModelSpecifier } from 'wattn';

/** A string as a literal of JavaScript. */
export const quoted = (text: string): string =>
  `'${JSON.stringify(text)
    .slice(1, -1)
    .replace(/\\"/g, '"')
    .replace(/'/g, "\\'")
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029')}'`;

/** The model as an argument; files of this machine cannot be named, so a place to fill stands there. */
export function modelArgument(source: ModelSpecifier | null): string {
  if (source === null) return 'null'; // the model in the package
  if (typeof source === 'string') return quoted(source);
  return "'./path/to/the/model'";
}

/** Options as one more argument of a call: ", { pooling: 'mean' }"; nothing where there are none. */
export function optionsArgument(options: object): string {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return '';
  const written = entries.map(([name, value]) => `${name}: ${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`);
  return `, { ${written.join(', ')} }`;
}
