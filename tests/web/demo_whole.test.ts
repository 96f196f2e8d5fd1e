// The demo's picture of the whole model: its parts, their places, and formulas whose results equal the model's own numbers on every architecture
// shown.
import { plainToken, wordOf, wordsOf } from '../../demo/src/ui/words.js';
import { factsOf } from '../../demo/src/whole/facts.js';
import { innerOf } from '../../demo/src/whole/inner.js';
import { cellOf, layoutOf, partAt, rectOf, viewOf, type Rect } from '../../demo/src/whole/layout.js';
import { childrenOf, idOf, isThere, isVector, kWhole, parentOf, part, partOf, wayTo, type Part, type Sizes } from '../../demo/src/whole/parts.js'; // prettier-ignore
import { planOf } from '../../demo/src/whole/plan.js';
import { saidOf } from '../../demo/src/whole/says.js';
import { readWeights } from '../../demo/src/whole/weights.js';
import { openWhole } from '../../demo/src/whole/whole_model.js';
import { headFiles } from './support.js';

const golden = (name: string) => new URL(`../goldens/${name}`, import.meta.url).pathname;

describe('wordsOf', () => {
  const spansOf = (pieces: readonly [string, number, number][]) => ({
    tokens: pieces.map(([token]) => token),
    spans: pieces.map(([, start, end]) => [start, end] as const),
  });
  it('joins the pieces of WordPiece, and leaves marks alone', () => {
    const pieces = spansOf([['[CLS]', 0, 0], ['st', 0, 2], ['##oop', 2, 5], ['##ed', 5, 7], ['.', 7, 8], ['[SEP]', 0, 0]]); // prettier-ignore
    expect(wordsOf(pieces).map(({ text }) => text)).toEqual(['[CLS]', 'stooped', '.', '[SEP]']);
    expect(wordOf(pieces, 2)).toBe('stooped');
  });
  it('joins the pieces of byte-level BPE at no space', () => {
    const pieces = spansOf([['The', 0, 3], ['Ġsto', 3, 7], ['oped', 7, 11], ['Ġ', 11, 12], ['!', 12, 13]]); // prettier-ignore
    expect(wordsOf(pieces).map(({ text }) => text)).toEqual(['The', 'stooped', 'Ġ', '!']);
    expect(plainToken('▁cat')).toBe('cat');
  });
  it('does not join words of a script without spaces', () => {
    const pieces = spansOf([['東', 0, 1], ['京', 1, 2]]); // prettier-ignore
    expect(wordsOf(pieces)).toHaveLength(2);
  });
});

const kSizes: Sizes = { layers: 2, heads: 3, tokens: 4, isCausal: false, hasInner: true, guesses: 0 };

/** Every part of a picture, each once. */
function allParts(sizes: Sizes): Part[] {
  const found = new Map<string, Part>();
  const walk = (one: Part) => {
    if (found.has(idOf(one))) return;
    found.set(idOf(one), one);
    childrenOf(one, sizes).forEach(walk);
  };
  walk(kWhole);
  return [...found.values()];
}

describe('parts of the picture', () => {
  it('have names that lead back to them, and a way from the whole', () => {
    const all = allParts(kSizes);
    expect(all.length).toBe(1 + 3 + 2 * kSizes.tokens + 1 + 2 * (5 + 3 * 4) + 2 * 3 * (1 + 4 * (1 + 4 + 4)));
    for (const one of all) {
      expect(partOf(idOf(one))).toEqual(one);
      expect(isThere(one, kSizes)).toBe(true);
      expect(wayTo(one)[0]).toEqual(kWhole);
    }
  });
  it('refuse names of nothing', () => {
    for (const id of ['', 'head', 'head/1', 'head/1/2/3', 'layer/x', 'toString', 'layer/1#2', 'vector/-1'])
      expect(partOf(id)).toBeUndefined();
    expect(partOf('vector/1#7')).toEqual({ kind: 'vector', at: [1], cell: 7 });
    expect(parentOf({ kind: 'vector', at: [1], cell: 7 })).toEqual(part('vector', 1));
    for (const gone of [part('layer', 2), part('link', 0, 0, 0, 4), part('guess', 0), part('inner', 0, 4)])
      expect(isThere(gone, kSizes)).toBe(false);
  });
  it('show no link to a later token where none is looked at', () => {
    const links = childrenOf(part('row', 0, 0, 1), { ...kSizes, isCausal: true }).filter(({ kind }) => kind === 'link');
    expect(links.map(({ at }) => at[3])).toEqual([0, 1]);
  });
});

describe('the layout', () => {
  const inside = (inner: Rect, outer: Rect) => {
    const slack = 1e-6;
    return inner.x >= outer.x - slack && inner.y >= outer.y - slack && inner.x + inner.w <= outer.x + outer.w + slack && inner.y + inner.h <= outer.y + outer.h + slack; // prettier-ignore
  };
  it.each([
    [390, 420, 0],
    [900, 560, 0],
    [900, 560, 8],
  ])('of %i by %i px has every part in its parent, found by its place', (width, height, guesses) => {
    // prettier-ignore
    const sizes = { ...kSizes, guesses };
    const layout = layoutOf(width, height, sizes);
    const count = (one: Part) => (isVector(one) ? 12 : 0);
    for (const one of allParts(sizes)) {
      const rect = rectOf(layout, one);
      const above = parentOf(one);
      // Keys and values are to the left of all rows; a link is drawn in the row of the token looked at.
      if (above && one.kind !== 'link') expect([idOf(one), inside(rect, rectOf(layout, above))]).toEqual([idOf(one), true]);
      const { x, y, w, h } = viewOf(layout, one, 0);
      expect([x, y, w, h].every(Number.isFinite)).toBe(true);
      if (!isVector(one)) continue;
      const cell = cellOf(rect, 12, 7);
      const at = { x: cell.x + cell.w / 2, y: cell.y + cell.h / 2 };
      const found = (scale: number) => partAt(layout, at, { scale: [scale, scale], least: 14, children: (own) => childrenOf(own, sizes), count }); // prettier-ignore
      expect(found(1e4)).toEqual({ ...one, cell: 7 });
      expect(found(1e-3)).toEqual(kWhole);
    }
  });
});

describe('planOf', () => {
  it('reads sections, steps and columns', () => {
    const { embeddings, layers, end } = planOf(
      'embeddings\n  v2 = words(words [59, 24])\nlayers 0, 2\n  v3 = linear(x; up [48, 24]; gelu)\n  attention.query = v3[0:24]\nlayer 1\n  output = add(v3, x)\nfinal_norm\n  final_norm.output = norm(x; final_norm [1, 24]; rms)\n',
    );
    expect(embeddings.steps).toEqual([{ out: 'v2', op: 'words', inputs: [], weight: { name: 'words', rows: 59, width: 24 }, constants: [] }]); // prettier-ignore
    expect(layers[0]).toBe(layers[2]);
    expect(layers[0]?.steps[0]).toEqual({ out: 'v3', op: 'linear', inputs: ['x'], weight: { name: 'up', rows: 48, width: 24 }, constants: ['gelu'] }); // prettier-ignore
    expect(layers[0]?.columns).toEqual([{ name: 'attention.query', of: 'v3', from: 0, to: 24 }]);
    expect(layers[1]?.steps[0]?.inputs).toEqual(['v3', 'x']);
    expect(end.steps[0]?.constants).toEqual(['rms']);
  });
});

const kText = 'the cat sat';
const numberOf = (line: string | undefined) => Number(line?.split(' = ').at(-1)?.replace('−', '-'));

describe('formulas', () => {
  it.each([
    'bert-tiny/model',
    'decoders/gpt2',
    'decoders/llama',
    'decoders/gemma2',
    'decoders/gemma3',
    'decoders/smollm',
    'decoders/qwen2',
  ])("of %s end with the model's numbers", async (name) => {
    const source = golden(name);
    const whole = await openWhole(source, true);
    const run = await whole.run(kText);
    const weights = await readWeights(source, whole);
    if (!weights) throw new Error('some weights were not found');
    const inner = await innerOf(weights, run);
    if (!inner) throw new Error('the layers come out otherwise');
    expect(inner.gap).toBeLessThan(1e-5);
    const facts = factsOf(whole, run, undefined, inner, true);
    const [last, head, token, cell] = [whole.layers - 1, 1, 2, 3];
    const vectors = ['out', 'mix', 'inner'].map((kind) => part(kind as 'out', last, token));
    for (const one of [
      part('vector', token),
      ...vectors,
      part('context', last, head, token),
      part('value', last, head, token),
      part('query', last, head, token),
    ]) {
      const lines = saidOf(facts, { ...one, cell }).lines;
      expect([one.kind, numberOf(lines.at(-1))]).toEqual([one.kind, expect.closeTo(facts.vectorOf(one)?.[cell] ?? NaN, 3)]);
    }
    const link = saidOf(facts, part('link', last, head, token, 1));
    if (link.lines.length === 4)
      expect(numberOf(link.lines[3])).toBeCloseTo(run.attentions[last]?.[head]?.[token * run.tokens.length + 1] ?? NaN, 3);
    if (run.guesses) {
      const { lines } = saidOf(facts, part('guess', 0));
      expect(numberOf(lines.at(-1))).toBeCloseTo(run.guesses.best[0]?.share ?? NaN, 3);
      expect(numberOf(lines.at(-3))).toBeCloseTo(run.guesses.best[0]?.logit ?? NaN, 3);
    }
    whole.dispose();
  });

  it('are not claimed where what they give is not what the model has', async () => {
    const source = golden('bert-tiny/model');
    const whole = await openWhole(source, true);
    const run = await whole.run(kText);
    const weights = await readWeights(source, whole);
    const up = weights?.layers[1]?.get('up');
    if (!weights || !up) throw new Error('some weights were not found');
    up.data.reverse();
    expect(await innerOf(weights, run)).toBeUndefined();
    whole.dispose();
  });

  it('hide a word from a model that fills it in', async () => {
    const whole = await openWhole(headFiles('masked_lm'), true);
    const shown = await whole.run(kText);
    expect([whole.kind, shown.guesses]).toEqual(['masked', undefined]);
    const run = await whole.run(kText, 2);
    expect([run.masked, run.tokens[2], run.guesses?.token]).toEqual([2, '[MASK]', 2]);
    const shares = run.guesses?.best.map(({ share }) => share) ?? [];
    expect(shares).toEqual([...shares].sort((a, b) => b - a));
    whole.dispose();
  });
});
