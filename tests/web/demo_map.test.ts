// The demo page's own arithmetic for its maps: principal components against the covariance in double precision, files, colours, dots, views.
import { colouringOf } from '../../demo/src/map/colours.js';
import { exampleRows } from '../../demo/src/map/example.js';
import { place, type Placed } from '../../demo/src/map/map_task.js';
import { best, nearestRows, unitRows } from '../../demo/src/map/near.js';
import { byWords, readTable, writeTable } from '../../demo/src/map/rows.js';
import { clear, splat } from '../../demo/src/map/splat.js';
import { inside, moved, placesOf, viewOfAll, zoomed } from '../../demo/src/map/view.js';
import { principalPlane, project } from '../../demo/src/search/pca.js';

const kRows = 200;
const kDim = 12;

/** Numbers from -1 to 1, always the same. */
function makeRandom(state = 12345): () => number {
  return () => {
    state = (state * 48271) % 0x7fffffff;
    return (2 * state) / 0x7fffffff - 1;
  };
}

/** Rows that differ much along two slanted directions, and a little along all. */
function makeRows(): Float32Array {
  const random = makeRandom();
  return Float32Array.from({ length: kRows }, random).reduce(
    (rows, _, row) => {
      const [along, across] = [5 * random(), 2 * random()];
      for (let k = 0; k < kDim; ++k) rows[row * kDim + k] = 1 + along * (k % 3) + across * ((k + 1) % 2) + 0.3 * random();
      return rows;
    },
    new Float32Array(kRows * kDim),
  );
}

function covarianceOf(rows: Float32Array, mean: Float64Array): number[][] {
  return Array.from({ length: kDim }, (_, a) =>
    Array.from({ length: kDim }, (__, b) => {
      let sum = 0;
      for (let row = 0; row < kRows; ++row) {
        sum += (rows[row * kDim + a]! - mean[a]!) * (rows[row * kDim + b]! - mean[b]!);
      }
      return sum;
    }),
  );
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>) => Array.from(a).reduce((sum, x, i) => sum + x * b[i]!, 0);

describe('principalPlane', () => {
  const rows = makeRows();
  const { mean, axes, shares } = principalPlane(rows, kDim);
  const covariance = covarianceOf(rows, mean);
  const trace = covariance.reduce((sum, row, i) => sum + row[i]!, 0);

  it('gives the two largest eigenvectors of the covariance', () => {
    expect(dot(axes[0], axes[1])).toBeCloseTo(0, 8);
    const spreads = axes.map((axis) => {
      const turned = covariance.map((row) => dot(row, axis));
      const spread = dot(turned, axis);
      // C v = s v. Rounds end when 1 - cosine is below 1e-10, so an angle of at most 2e-5 is left.
      turned.forEach((x, k) => expect(Math.abs(x - spread * axis[k]!)).toBeLessThan(2e-5 * trace));
      return spread;
    });
    expect(spreads[0]).toBeGreaterThan(spreads[1]!);
    // What is left after both is less than either: no third direction was passed over.
    expect(trace - spreads[0]! - spreads[1]!).toBeLessThan(spreads[1]!);
    shares.forEach((share, i) => expect(share).toBeCloseTo(spreads[i]! / trace, 6));
  });

  it('projects rows on them', () => {
    const points = project(rows, kDim, { mean, axes, shares });
    expect(points.length).toBe(2 * kRows);
    const row = Array.from(rows.slice(3 * kDim, 4 * kDim), (x, k) => x - mean[k]!);
    expect(points[6]).toBeCloseTo(dot(row, axes[0]), 4);
    expect(points[7]).toBeCloseTo(dot(row, axes[1]), 4);
  });

  it('takes rows that are all the same, and one row', () => {
    for (const same of [new Float32Array(3 * kDim).fill(0.5), new Float32Array(kDim).fill(2)]) {
      const plane = principalPlane(same, kDim);
      expect(plane.shares).toEqual([0, 0]);
      expect([...project(same, kDim, plane)].every((x) => x === 0)).toBe(true);
    }
  });
});

describe('a file of texts', () => {
  it('is TSV, with a header in any order or without one', () => {
    const rows = [{ text: 'a boat', label: 'sea' }, { text: 'a hill' }];
    expect(readTable('a.tsv', 'label\tid\ttext\nsea\t1\ta boat\n\t2\ta hill\n')).toEqual({ rows, problems: [] });
    expect(readTable('a.tsv', '\ufeffa boat\tsea\r\n\r\na hill\r\n')).toEqual({ rows, problems: [] });
  });

  it('is JSONL, by its name or by its first line', () => {
    const rows = [{ text: 'a boat', label: '3' }, { text: 'a hill' }];
    for (const name of ['a.jsonl', 'a.txt'])
      expect(readTable(name, '{"text": "a boat", "label": 3}\n{"text": "a hill", "label": null, "more": []}')).toEqual({
        rows,
        problems: [],
      });
  });

  it('says by line what is wrong, and keeps the rest', () => {
    const { rows, problems } = readTable(
      'a.jsonl',
      '{"text": "one"}\n\n[1]\n{"text": ""}\n{"text": 1}\n{"text": "x", "label": {}}\n{',
    );
    expect(rows).toEqual([{ text: 'one' }]);
    expect(problems).toEqual([
      'Line 3: it has no field "text" with a string.',
      'Line 4: it has no text.',
      'Line 5: it has no field "text" with a string.',
      'Line 6: its "label" is neither a string nor a number.',
      'Line 7: it is not JSON: {.',
    ]);
    expect(readTable('a.tsv', 'text\tlabel\na\tb\nc\n').problems).toEqual(['Line 3: it has 1 column, and the header has 2.']);
  });

  it('is refused where there is nothing to show', () => {
    expect(() => readTable('a.csv', 'text,label')).toThrow('a.csv is CSV.');
    expect(() => readTable('a.json', '[{"text": "a"}]')).toThrow('Write each row on a line of its own');
    expect(() => readTable('a.tsv', '\n')).toThrow('a.tsv is empty.');
    expect(() => readTable('a.bin', 'a\0b')).toThrow('null bytes');
    expect(() => readTable('a.jsonl', 'x')).toThrow('Line 1: it is not JSON: x.');
  });

  it('stops at the most rows that a map takes', () => {
    const { rows, problems } = readTable('a.txt', Array.from({ length: 20_002 }, (_, i) => `text ${i}`).join('\n'));
    expect(rows.length).toBe(20_000);
    expect(problems).toEqual(['Line 20001 and all lines after it: a map takes at most 20000 rows.']);
  });

  it('is written as it can be read again', () => {
    const rows = [{ text: 'a\tb\nc', label: 'x' }, { text: 'd' }];
    const written = writeTable(rows, [1, -2, 0.5, 0.25]);
    expect(written).toBe('text\tlabel\tx\ty\na b c\tx\t1.00000\t-2.00000\nd\t\t0.50000\t0.25000\n');
    expect(readTable('a.tsv', written).rows).toEqual([{ text: 'a b c', label: 'x' }, { text: 'd' }]);
    expect(writeTable(rows, [1, -2, 0.5, 0.25], [1]).split('\n').length).toBe(3);
  });
});

describe('the rows of a map', () => {
  it('have examples without a text twice, of eight labels', () => {
    const rows = exampleRows(10_000);
    expect(new Set(rows.map(({ text }) => text)).size).toBe(10_000);
    expect(colouringOf(rows).groups.length).toBe(8);
  });

  it('have a colour of their own for the most frequent labels', () => {
    const rows = Array.from({ length: 100 }, (_, i) => ({
      text: `${i}`,
      label: `label ${Math.min(10, Math.floor(Math.sqrt(i)))}`,
    }));
    const { groups, of } = colouringOf(rows);
    expect(groups.map(({ label }) => label).slice(-2)).toEqual(['label 3', '3 other labels']);
    groups.forEach((group, number) => group.rows.forEach((row) => expect(of[row]).toBe(number)));
    expect(groups.reduce((sum, group) => sum + group.rows.length, 0)).toBe(100);
    expect(colouringOf([{ text: 'a' }]).groups).toEqual([{ label: 'no label', rows: [0] }]);
  });

  it('are found by all words of a query', () => {
    expect(byWords([{ text: 'The Boat waits' }, { text: 'a boat' }], 'waits boat')).toEqual([0]);
  });
});

describe('nearest rows', () => {
  const units = unitRows(Float32Array.of(3, 4, 0, 2, 1, 1, 0, 0), 2);

  it('are by cosine, the row itself left out', () => {
    expect(Array.from(units, (x) => Number(x.toFixed(4)))).toEqual([0.6, 0.8, 0, 1, 0.7071, 0.7071, 0, 0]);
    expect(nearestRows(units, 2, 0, 2).map(({ row }) => row)).toEqual([2, 1]);
  });

  it('are the first of equal ones', () => {
    expect(best([1, 5, 5, 2, 5], 3).map(({ row }) => row)).toEqual([1, 2, 4]);
    expect(best([1, 5], 3, 1)).toEqual([{ row: 0, score: 1 }]);
  });
});

describe('place', () => {
  it('sends the plane at once and ends with neighbours that lie together', async () => {
    const random = makeRandom();
    const dim = 8;
    const vectors = Float32Array.from({ length: 60 * dim }, (_, i) => 0.1 * random() + Number(i % dim === Math.floor(i / dim) % 3));
    const said: Placed[] = [];
    const { first } = await place({ vectors, dim }, (placed) => said.push(placed as Placed));
    expect(said[0]?.stage).toBe('plane');
    expect(said[1]?.stage).toBe('neighbours');
    expect(first.points.length).toBe(120);
    const near = nearestRows(unitRows(vectors, dim), dim, 0, 5).map(({ row }) => row % 3);
    expect(new Set(near)).toEqual(new Set([0]));
    const away = (row: number) =>
      Math.hypot(first.points[2 * row]! - first.points[0]!, first.points[2 * row + 1]! - first.points[1]!);
    const others = Array.from({ length: 59 }, (_, i) => i + 1).sort((a, b) => away(a) - away(b));
    expect(others.slice(0, 19).every((row) => row % 3 === 0)).toBe(true);
  });

  it('says how many neighbours are kept: all where the plane is the space', async () => {
    const random = makeRandom();
    const vectors = Float32Array.from({ length: 120 }, () => random());
    const said: Placed[] = [];
    await place({ vectors, dim: 2 }, (placed) => said.push(placed as Placed));
    expect(said[0]).toMatchObject({ stage: 'plane', kept: 1 });
    expect((said[0] as { share: number }).share).toBeCloseTo(1, 5);
    const more = Float32Array.from({ length: 60 * 16 }, () => random());
    await place({ vectors: more, dim: 16 }, (placed) => said.push(placed as Placed));
    expect((said.filter(({ stage }) => stage === 'plane').at(-1) as { kept: number }).kept).toBeLessThan(0.9);
  });

  it('takes a few rows', async () => {
    for (const rows of [1, 2, 4, 5]) {
      const vectors = Float32Array.from({ length: 3 * rows }, (_, i) => Math.sin(i + 1));
      const { first } = await place({ vectors, dim: 3 }, () => {});
      expect(first.points.length).toBe(2 * rows);
      expect([...first.points].every(Number.isFinite)).toBe(true);
    }
  });
});

describe('the view of a map', () => {
  const points = Float32Array.of(0, 0, 4, 2, 2, 1);

  it('shows all points, and keeps what is under the finger', () => {
    const view = viewOfAll(points, { width: 440, height: 240 });
    expect([...placesOf(points, view)]).toEqual([20, 20, 420, 220, 220, 120]);
    expect([...placesOf(points, zoomed(view, 2, 220, 120))].slice(4)).toEqual([220, 120]);
    expect([...placesOf(points, moved(view, 5, -5))].slice(0, 2)).toEqual([25, 15]);
    expect([...placesOf(Float32Array.of(7, 7), viewOfAll(Float32Array.of(7, 7), { width: 100, height: 100 }))]).toEqual([50, 50]);
  });

  it('finds what a lasso holds', () => {
    const places = Float32Array.of(1, 1, 5, 5, 9, 1, 5, 1);
    expect(inside(places, [0, 0, 6, 0, 6, 6, 0, 6])).toEqual([0, 1, 3]);
    expect(inside(places, [0, 0, 10, 0, 5, 4])).toEqual([3]);
    expect(inside(places, [])).toEqual([]);
  });
});

describe('splat', () => {
  const paint = (places: number[], only?: number[], radius = 1, opacity = 1) => {
    const pixels = { width: 8, height: 6, data: new Uint8ClampedArray(8 * 6 * 4) };
    clear(pixels, [10, 20, 30]);
    const count = places.length / 2;
    splat(pixels, { places: Float32Array.from(places), colours: Array.from({ length: count }, (_, i) => i), palette: Array.from({ length: count }, (_, i) => [250, i, 0] as const), radius, opacity }, only); // prettier-ignore
    return (x: number, y: number) => [...pixels.data.subarray(4 * (8 * y + x), 4 * (8 * y + x) + 4)];
  };

  it('covers the middle of a disc wholly and its edge in part', () => {
    const at = paint([3, 2]);
    expect(at(3, 2)).toEqual([250, 0, 0, 255]);
    expect(at(4, 2)).toEqual([130, 10, 15, 255]);
    expect(at(6, 2)).toEqual([10, 20, 30, 255]);
  });

  it('paints later dots over earlier ones, and only those that are asked for', () => {
    expect(paint([3, 2, 3, 2])(3, 2)[1]).toBe(1);
    expect(paint([3, 2, 3, 2], [0])(3, 2)[1]).toBe(0);
    expect(paint([3, 2], undefined, 1, 0.5)(3, 2)).toEqual([130, 10, 15, 255]);
  });

  it('stays inside the picture', () => {
    const at = paint([0, 0, 7, 5, -30, 2, 40, 2]);
    expect(at(0, 0)[0]).toBe(250);
    expect(at(7, 5)[0]).toBe(250);
    expect(at(7, 0)).toEqual([10, 20, 30, 255]);
    expect(at(0, 5)).toEqual([10, 20, 30, 255]);
  });
});
