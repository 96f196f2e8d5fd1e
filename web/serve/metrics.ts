// Counters in Prometheus' text format.

/** Upper limits of the times of requests in seconds. */
const kSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const quote = (value: string) => value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n');

export class Metrics {
  private readonly requests = new Map<string, number>();
  private readonly buckets = kSeconds.map(() => 0);
  private seconds = 0;
  private answered = 0;
  private calls = 0;
  private texts = 0;
  private tokens = 0;

  /** route: one of a fixed list, so that no request makes a new counter. */
  request(route: string, status: number, seconds: number): void {
    const labels = `route="${quote(route)}",status="${status}"`;
    this.requests.set(labels, (this.requests.get(labels) ?? 0) + 1);
    this.answered += 1;
    this.seconds += seconds;
    kSeconds.forEach((limit, i) => {
      if (seconds <= limit) ++this.buckets[i]!;
    });
  }

  call(texts: number, tokens: number): void {
    this.calls += 1;
    this.texts += texts;
    this.tokens += tokens;
  }

  /** gauges: what is so now, by name, with its help. */
  text(gauges: Record<string, readonly [help: string, value: number]>): string {
    const lines: string[] = [];
    const metric = (name: string, type: string, help: string, values: readonly (readonly [labels: string, value: number])[]) => {
      lines.push(`# HELP wattn_${name} ${help}`, `# TYPE wattn_${name} ${type}`);
      for (const [labels, value] of values) lines.push(`wattn_${name}${labels} ${value}`);
    };
    metric('requests_total', 'counter', 'Requests by route and status.', [...this.requests].map(([labels, count]) => [`{${labels}}`, count])); // prettier-ignore
    metric('request_seconds', 'histogram', 'Time from the head of a request to the end of its response.', [
      ...kSeconds.map((limit, i) => [`_bucket{le="${limit}"}`, this.buckets[i] as number] as const),
      ['_bucket{le="+Inf"}', this.answered],
      ['_sum', this.seconds],
      ['_count', this.answered],
    ]);
    metric('batches_total', 'counter', 'Calls of the model.', [['', this.calls]]);
    metric('texts_total', 'counter', 'Texts in these calls.', [['', this.texts]]);
    metric('tokens_total', 'counter', 'Tokens in these calls.', [['', this.tokens]]);
    for (const [name, [help, value]] of Object.entries(gauges)) metric(name, 'gauge', help, [['', value]]);
    return `${lines.join('\n')}\n`;
  }
}
