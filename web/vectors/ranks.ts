// Ranks, and how two lists of values agree in them.

/** Ranks from 1; equal values share the mean of theirs. */
function ranks(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => (values[a] as number) - (values[b] as number));
  const out = new Array<number>(values.length);
  for (let begin = 0; begin < order.length;) {
    let end = begin + 1;
    while (end < order.length && values[order[end] as number] === values[order[begin] as number]) ++end;
    for (let i = begin; i < end; ++i) out[order[i] as number] = (begin + 1 + end) / 2;
    begin = end;
  }
  return out;
}

/** Spearman's rank correlation. */
export function spearman(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [ranks(a), ranks(b)];
  const mean = (a.length + 1) / 2;
  let xy = 0;
  let xx = 0;
  let yy = 0;
  x.forEach((rank, i) => {
    const other = y[i] as number;
    xy += (rank - mean) * (other - mean);
    xx += (rank - mean) ** 2;
    yy += (other - mean) ** 2;
  });
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : 0;
}
