// Which rows of vectors are nearest to one of them, by cosine.

export const kNear = 10;

export interface Near {
  row: number;
  score: number;
}

/** The same rows with length 1; a row of zeros stays. vectors: [rows, dim] */
export function unitRows(vectors: Float32Array, dim: number): Float32Array {
  const units = new Float32Array(vectors.length);
  for (let at = 0; at < vectors.length; at += dim) {
    let sum = 0;
    for (let k = at; k < at + dim; ++k) sum += (vectors[k] as number) ** 2;
    const length = Math.sqrt(sum) || 1;
    for (let k = at; k < at + dim; ++k) units[k] = (vectors[k] as number) / length;
  }
  return units;
}

/** The cosines of a vector to all rows. query: of unit length, too. */
export function cosinesTo(units: Float32Array, query: Float32Array): Float32Array {
  const dim = query.length;
  const scores = new Float32Array(units.length / dim);
  for (let row = 0, at = 0; at < units.length; ++row, at += dim) {
    let sum = 0;
    for (let k = 0; k < dim; ++k) sum += (units[at + k] as number) * (query[k] as number);
    scores[row] = sum;
  }
  return scores;
}

/** The best, best first; of equal ones the first. except: a row that is left out. */
export function best(scores: ArrayLike<number>, count: number, except?: number): Near[] {
  const found: Near[] = [];
  for (let row = 0; row < scores.length; ++row) {
    const score = scores[row] as number;
    if (row === except || (found.length === count && score <= (found[count - 1] as Near).score)) continue;
    let at = found.length;
    while (at > 0 && (found[at - 1] as Near).score < score) --at;
    found.splice(at, 0, { row, score });
    if (found.length > count) found.pop();
  }
  return found;
}

/** The rows that are nearest to a row, itself left out. */
export const nearestRows = (units: Float32Array, dim: number, row: number, count = kNear): Near[] =>
  best(cosinesTo(units, units.subarray(row * dim, (row + 1) * dim)), count, row);
