import { env } from './env.js';
import { shared } from './shared.js';

// The only warnings on the console: settings that other libraries have and that do nothing here.
const kWarning = 30;
const told = (shared.told ??= new Set());

/** Writes a warning, once for each text. */
export function warnOnce(text: string): void {
  if (env.logLevel > kWarning || told.has(text)) return;
  told.add(text);
  console.warn(`wattn: ${text}`);
}
