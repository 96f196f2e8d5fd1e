// How sure a count of right answers is.

/** P(X <= k) of a binomial distribution. */
function atMost(k: number, n: number, p: number): number {
  if (p <= 0) return 1;
  if (p >= 1) return k >= n ? 1 : 0;
  let term = (1 - p) ** n;
  let sum = term;
  for (let i = 1; i <= k; ++i) {
    term *= ((n - i + 1) / i) * (p / (1 - p));
    sum += term;
  }
  return Math.min(1, sum);
}

/** Where a falling function of p crosses a level. */
function crossing(of: (p: number) => number, level: number): number {
  let [low, high] = [0, 1];
  for (let i = 0; i < 60; ++i) {
    const middle = (low + high) / 2;
    if (of(middle) > level) low = middle;
    else high = middle;
  }
  return low;
}

/** The exact 95 % interval of a share, by Clopper and Pearson (1934, doi:10.1093/biomet/26.4.404). */
export function exactInterval(right: number, of: number): [low: number, high: number] {
  const low = right === 0 ? 0 : crossing((p) => atMost(right - 1, of, p), 0.975);
  const high = right === of ? 1 : crossing((p) => atMost(right, of, p), 0.025);
  return [low, high];
}

/** '18 of 18 (81 to 100 %)' */
export function ofAll(right: number, of: number): string {
  const [low, high] = exactInterval(right, of).map((share) => Math.round(100 * share));
  return `${right} of ${of} (${low} to ${high}\u00a0%)`;
}
