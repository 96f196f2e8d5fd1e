// Numbers as people read them.

const kSpace = '\u00a0'; // no line ends between a number and its unit

/** 90868376 -> '90.9 MB' (a megabyte is a million bytes). */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes}${kSpace}bytes`;
  if (bytes < 1e6) return `${Math.round(bytes / 1e3)}${kSpace}kB`;
  if (bytes < 1e9) return `${(bytes / 1e6).toFixed(1)}${kSpace}MB`;
  return `${(bytes / 1e9).toFixed(2)}${kSpace}GB`;
}

/** 0.4 -> 'under 1 ms', 87.3 -> '87 ms', 1234 -> '1.23 s'. */
export function formatTime(ms: number): string {
  if (ms < 1) return `under 1${kSpace}ms`;
  return ms < 1000 ? `${Math.round(ms)}${kSpace}ms` : `${(ms / 1000).toFixed(2)}${kSpace}s`;
}

const kCounts = new Intl.NumberFormat('en-GB'); // made once: making one takes longer than a thousand uses

export function formatCount(count: number): string {
  return kCounts.format(count);
}

/** A cosine with two digits and a real minus sign, and never '-0.00'. */
export function formatScore(score: number): string {
  const text = Math.abs(score).toFixed(2);
  return score < 0 && text !== '0.00' ? `−${text}` : text;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** A text in one line of so many characters at most. */
export function shorten(text: string, length: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${line.slice(0, length - 1).trimEnd()}…`;
}
