// What a long command says of its progress: a bar with rate and time left on a terminal, some lines elsewhere with --progress.
const kCells = 20;
const kLineEvery = 10; // percent
const kLineEveryMs = 5000; // without a total
const kRedrawMs = 100;

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** `3 texts`, or with a rate below ten `2.5 texts`. */
export const counted =
  (what: string) =>
  (count: number): string =>
    `${count < 10 && !Number.isInteger(count) ? count.toFixed(1) : Math.round(count)} ${what}`;

export function timeText(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 99.5) return `${Math.ceil(seconds)} s`;
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `[#####---------------]` */
function bar(share: number): string {
  const full = Math.round(share * kCells);
  return `[${'#'.repeat(full)}${'-'.repeat(kCells - full)}]`;
}

export interface At {
  done: number;
  /** undefined: nobody knows. */
  total?: number | undefined;
  /** What is done now, which stands before the numbers: a file's name, a phase. */
  what?: string | undefined;
  /** What stands after them. */
  more?: string | undefined;
  /** Seconds that the rest takes, where the work itself knows better than its rate. */
  left?: number | undefined;
}

/** One piece of work from its first report to end(). measure: how an amount is written. */
export class Progress {
  private readonly begun: number;
  private shownAt = -Infinity;
  private shownShare = -Infinity;

  /** values: of the command line. beside: whether standard output is for results, so that a terminal may show both only where they do not mix. */
  constructor(
    private readonly values: Readonly<Record<string, unknown>>,
    private readonly measure: (amount: number) => string,
    private readonly beside = false,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.begun = now();
  }

  private get isTerminal(): boolean {
    return process.stderr.isTTY && !(this.beside && process.stdout.isTTY);
  }

  /** The line for a report. */
  text({ done, total, what, more, left }: At): string {
    const seconds = (this.now() - this.begun) / 1000;
    const rate = seconds > 0 ? done / seconds : 0;
    const rest = left ?? (total === undefined || rate === 0 ? undefined : (total - done) / rate);
    const parts = [
      total === undefined ? this.measure(done) : `${this.measure(done)} of ${this.measure(total)}`,
      ...(more === undefined ? [] : [more]),
      ...(rate > 0 ? [`${this.measure(rate)}/s`] : []),
      ...(rest === undefined || done === total ? [] : [`${timeText(rest)} left`]),
    ];
    const percent = total === undefined ? '' : `${total > 0 ? Math.floor((100 * done) / total) : 100}% `;
    return `${what === undefined ? '' : `${what}: `}${percent}${parts.join(', ')}`;
  }

  show(at: At): void {
    const now = this.now();
    const share = at.total === undefined ? undefined : at.total > 0 ? at.done / at.total : 1;
    if (this.isTerminal) {
      if (now - this.shownAt < kRedrawMs && share !== 1) return;
      const width = (process.stderr.columns ?? 80) - 1;
      const line = `${share === undefined ? '' : `${bar(share)} `}${this.text(at)}`;
      process.stderr.write(`\r\x1b[K${line.slice(0, width)}`);
    } else if (this.values['progress'] === true) {
      const step = Math.floor(((share ?? 0) * 100) / kLineEvery);
      if (share === undefined ? now - this.shownAt < kLineEveryMs : step <= this.shownShare) return;
      this.shownShare = step;
      process.stderr.write(`${this.text(at)}\n`);
    } else return;
    this.shownAt = now;
  }

  /** Takes the bar away. */
  end(): void {
    if (this.isTerminal && this.shownAt > -Infinity) process.stderr.write('\r\x1b[K');
  }
}
