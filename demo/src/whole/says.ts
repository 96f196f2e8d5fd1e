// What a part of the picture says in words: its name, what it is, and how its number comes about.
import { linkOf } from '../attention/evidence.js';
import { formatCount, plural } from '../ui/format.js';
import { plainToken } from '../ui/words.js';
import type { Facts } from './facts.js';
import { written } from './inner.js';
import { part, type Part } from './parts.js';

export interface Said {
  title: string;
  /** A sentence or two. */
  says: string;
  /** A formula, line by line; each ends with a number. */
  lines: string[];
}

export const nameOf = ({ run }: Facts, token: number): string => {
  const plain = plainToken(run.tokens[token] ?? '');
  return plain.trim() === '' ? '␣' : plain;
};

const percent = (share: number) => `${written(100 * share, share < 0.0995 ? 1 : 0)} %`;

const kTerms = 3;

function sumOf(terms: readonly (readonly [number, number])[], what: string): string {
  const first = terms.slice(0, kTerms).map(([a, b]) => `${written(a)} × ${written(b)}`);
  return `${first.join(' + ')}${terms.length > kTerms ? ` + … (${formatCount(terms.length)} ${what})` : ''}`;
}

/** What a short name on a button is. */
export function shortName(facts: Facts, { kind, at, cell }: Part): string {
  const [layer = 0, head = 0, token = 0, to = 0] = at;
  if (cell !== undefined) return `number ${cell + 1}`;
  switch (kind) {
    case 'whole':
      return 'The whole model';
    case 'tokens':
      return 'Tokens';
    case 'vectors':
      return 'Vectors';
    case 'token':
    case 'vector':
      return nameOf(facts, layer);
    case 'layer':
      return `Layer ${layer + 1}`;
    case 'heads':
      return 'Heads';
    case 'head':
      return `Head ${head + 1}`;
    case 'row':
      return nameOf(facts, token);
    case 'link':
      return `${percent(weightOf(facts, layer, head, token, to))} to ${nameOf(facts, to)}`;
    case 'query':
      return 'Query';
    case 'key':
      return `Key of ${nameOf(facts, token)}`;
    case 'value':
      return `Value of ${nameOf(facts, token)}`;
    case 'context':
      return 'Weighted sum';
    case 'mixes':
      return facts.isPreNorm ? 'Add' : 'Add & norm';
    case 'ffn':
      return 'Feed-forward';
    case 'outs':
      return 'Output of the layer';
    case 'mix':
    case 'inner':
    case 'out':
      return nameOf(facts, head);
    case 'output':
      return facts.run.guesses ? 'Output' : 'Output: a vector';
    case 'guess':
      return facts.run.guesses?.best[layer]?.word ?? '';
    case 'sentence':
      return 'Vector of the text';
  }
}

export const weightOf = ({ run }: Facts, layer: number, head: number, from: number, to: number): number =>
  run.attentions[layer]?.[head]?.[from * run.tokens.length + to] ?? 0;

/** Scores of one token in one head: q · k, that over √d, and the model's own weights. */
export function scoresOf({ run, whole: { headDim } }: Facts, layer: number, head: number, from: number) {
  const query = run.queries[layer]?.[head]?.[from] ?? new Float32Array();
  const keys = run.keys[layer]?.[head] ?? [];
  const products = keys.map((key) => query.reduce((sum, x, k) => sum + x * (key[k] as number), 0));
  const scaled = products.map((product) => product / Math.sqrt(headDim));
  return { query, keys, products, scaled };
}

const kClose = 1e-3; // between softmax of these scores and the model's own weight

function linkLines(facts: Facts, [layer = 0, head = 0, from = 0, to = 0]: readonly number[]): string[] {
  const { query, keys, products, scaled } = scoresOf(facts, layer, head, from);
  const seen = scaled.map((score, i) => (facts.sizes.isCausal && i > from ? -Infinity : score));
  const most = Math.max(...seen);
  const exps = seen.map((score) => Math.exp(score - most));
  const sum = exps.reduce((total, one) => total + one, 0);
  const key = keys[to] ?? new Float32Array();
  const [product, score, exp] = [products[to] as number, scaled[to] as number, exps[to] as number];
  const weight = weightOf(facts, layer, head, from, to);
  const lines = [
    `q · k = ${sumOf(
      Array.from(query, (x, k) => [x, key[k] as number] as const),
      'products',
    )} = ${written(product)}`,
    `score = ${written(product)} / √${facts.whole.headDim} = ${written(score)}`,
    `exp(${written(score)} − ${written(most)}) = ${written(exp)}`,
    `softmax = ${written(exp)} / ${written(sum)} = ${written(exp / sum)}`,
  ];
  if (Math.abs(exp / sum - weight) > kClose)
    lines.push(`the model's own weight: ${written(weight)}; it adds another term to its scores, such as one for positions`);
  return lines;
}

function contextLines(facts: Facts, [layer = 0, head = 0, token = 0]: readonly number[], cell: number): string[] {
  const values = facts.run.values[layer]?.[head] ?? [];
  const terms = values
    .map((value, i) => [weightOf(facts, layer, head, token, i), value[cell] as number] as const)
    .filter(([weight]) => weight > 0);
  const sum = terms.reduce((total, [weight, value]) => total + weight * value, 0);
  return [`sum of weight × value = ${sumOf(terms, 'tokens')} = ${written(sum)}`];
}

/** The mean of the last vectors, as most models of sentences have it; nothing where this model does it in another way. */
function sentenceLines({ run, vectorOf }: Facts, cell: number): string[] {
  const sentence = vectorOf(part('sentence'));
  if (!sentence) return [];
  const mean = sentence.map((_, k) => run.last.reduce((sum, row) => sum + (row[k] as number), 0) / run.last.length);
  const length = Math.hypot(...mean);
  const [own, value] = [mean[cell] as number, sentence[cell] as number];
  const terms = run.last.slice(0, kTerms).map((row) => written(row[cell] as number));
  const lines = [`mean = (${terms.join(' + ')}${run.last.length > kTerms ? ' + …' : ''}) / ${run.last.length} = ${written(own)}`];
  if (Math.abs(own / length - value) < 5e-3) return [...lines, `divided by the vector's length ${written(length)} = ${written(own / length)}`]; // prettier-ignore
  return Math.abs(own - value) < 5e-3 ? lines : [];
}

function cellLines(facts: Facts, one: Part): string[] {
  const { inner } = facts;
  const { kind, at, cell = 0 } = one;
  const value = facts.vectorOf(one)?.[cell] ?? 0;
  const [layer = 0, head = 0, token = 0] = at;
  const own = inner?.layers[layer];
  switch (kind) {
    case 'vector':
      return inner?.embeddings.explain('embeddings.output', layer, cell) ?? [];
    case 'query':
      return own?.explainHead('query', token, head * facts.whole.headDim + cell, value) ?? [];
    case 'key':
    case 'value': {
      const group = Math.floor((head * facts.whole.kvHeads) / facts.whole.heads);
      return own?.explainHead(kind, token, group * facts.whole.headDim + cell, value) ?? [];
    }
    case 'context':
      return contextLines(facts, at, cell);
    case 'mix':
      return own?.explain('attention.output', head, cell) ?? [];
    case 'inner':
      return own?.explain('intermediate', head, cell) ?? [];
    case 'out':
      return own?.explainEnd(head, cell) ?? [];
    case 'sentence':
      return sentenceLines(facts, cell);
    default:
      return [];
  }
}

function guessSaid(facts: Facts, rank: number): Said {
  const { guesses, last } = facts.run;
  const guess = guesses?.best[rank];
  if (!guesses || !guess) return { title: '', says: '', lines: [] };
  const { word, id, logit, share } = guess;
  const exp = Math.exp(logit - guesses.most);
  const explained = facts.kind === 'decoder' ? (facts.inner?.explainLogit(last[guesses.token] as Float32Array, id) ?? []) : [];
  return {
    title: `“${word}”: ${percent(share)}`,
    says: `The last vector of “${nameOf(facts, guesses.token)}” is compared with every row of the vocabulary. This is row ${formatCount(id)}; softmax turns all scores into percentages.`,
    lines: [
      ...(explained.length > 0 ? explained : [`logit = ${written(logit)}`]),
      `exp(${written(logit)} − ${written(guesses.most)}) = ${written(exp)}`,
      `softmax = ${written(exp)} / ${written(guesses.sum)} = ${written(share)}`,
    ],
  };
}

/** What is said of a part. */
export function saidOf(facts: Facts, one: Part): Said {
  const { kind, at, cell } = one;
  const { whole, run, sizes } = facts;
  const [layer = 0, head = 0, token = 0, to = 0] = at;
  const place = `layer ${layer + 1}, head ${head + 1}`;
  const title = shortName(facts, one);
  const vector = facts.vectorOf(one);
  if (cell !== undefined && vector) {
    const above = saidOf(facts, { kind, at });
    const lines = cellLines(facts, one);
    return {
      title: `${written(vector[cell] ?? 0)}: number ${cell + 1} of ${formatCount(vector.length)}`,
      says: `${above.title}.${lines.length > 0 ? '' : facts.inner ? ' This page does not show how it is computed.' : ' Its formula needs the model’s weights.'}`,
      lines: lines.length > 0 ? lines : [`= ${written(vector[cell] ?? 0)}`],
    };
  }
  const numbers = vector ? plural(vector.length, 'number') : '';
  const say = (says: string, own = title, lines: string[] = []): Said => ({ title: own, says, lines });
  switch (kind) {
    case 'whole':
      return say(
        `${plural(sizes.tokens, 'token')} go through ${plural(sizes.layers, 'layer')} of ${plural(sizes.heads, 'head')}, from left to right. Each row is one token throughout.`,
      );
    case 'tokens':
      return say('The tokenizer splits your sentence into pieces from its vocabulary.');
    case 'token':
      return say(`Number ${formatCount(run.ids[layer] ?? 0)} of the vocabulary.`, `“${nameOf(facts, layer)}”`);
    case 'vectors':
      return say(`Each token begins as ${formatCount(whole.hidden)} learned numbers for its word and its position. Violet is above zero, orange below.`); // prettier-ignore
    case 'vector':
      return say('What the model knows about the token before the first layer.', `“${nameOf(facts, layer)}”: ${numbers}`);
    case 'layer':
      return say('Its heads move information between tokens; then the feed-forward network processes each token by itself.');
    case 'heads':
      return say(`${plural(sizes.heads, 'head')}, side by side. Each draws its own lines.`, `Heads of layer ${layer + 1}`);
    case 'head':
      return say('Lines go from each token, on the right, to the tokens it looks at, on the left.', `Layer ${layer + 1}, head ${head + 1}`); // prettier-ignore
    case 'row':
      return say(`Where “${nameOf(facts, token)}” looks, and the weighted sum of the values it finds there.`, `“${nameOf(facts, token)}” in ${place}`); // prettier-ignore
    case 'link':
      return say(
        `“${nameOf(facts, token)}” gives “${nameOf(facts, to)}” this share of its attention in ${place}. Other tokens give it ${percent(linkOf(run.attentions, sizes.tokens, layer, head, token, to).average)} on average.`,
        percent(weightOf(facts, layer, head, token, to)),
        linkLines(facts, at),
      );
    case 'query':
      return say('What the token looks for.', `Query of “${nameOf(facts, token)}” in ${place}: ${numbers}`);
    case 'key':
      return say('How other tokens find this token.', `Key of “${nameOf(facts, token)}” in ${place}: ${numbers}`);
    case 'value':
      return say('What other tokens take from this token.', `Value of “${nameOf(facts, token)}” in ${place}: ${numbers}`);
    case 'context':
      return say('The values of all tokens, added up and weighted by attention.', `Sum for “${nameOf(facts, token)}” in ${place}: ${numbers}`); // prettier-ignore
    case 'mixes':
      return say('The outputs of all heads pass through one matrix and are added to the token’s vector.');
    case 'mix':
      return say('The heads’ output is added to the token’s vector.', `“${nameOf(facts, head)}” after the heads of layer ${layer + 1}: ${numbers}`); // prettier-ignore
    case 'ffn':
      return say('For each token by itself: a matrix that widens the vector, a curve that cuts off below zero, and a matrix that narrows it again.', `Feed-forward of layer ${layer + 1}`); // prettier-ignore
    case 'inner':
      return say('Most are near zero: only a few are active for this token.', `“${nameOf(facts, head)}” inside the feed-forward of layer ${layer + 1}: ${numbers}`); // prettier-ignore
    case 'outs':
      return say('The input of the next layer.', `Output of layer ${layer + 1}`);
    case 'out':
      return say('The feed-forward output is added to the token’s vector.', `“${nameOf(facts, head)}” after layer ${layer + 1}: ${numbers}`); // prettier-ignore
    case 'output':
      return run.guesses
        ? say(facts.kind === 'decoder' ? 'The next word, predicted from the vector of the last token.' : 'The hidden word, predicted from the vector at its position.') // prettier-ignore
        : say('The vectors of all tokens are combined into one that represents the text. Search and classification build on it.');
    case 'guess':
      return guessSaid(facts, layer);
    case 'sentence':
      return say('Texts with a similar meaning have vectors that point the same way.', `Vector of the text: ${numbers}`);
  }
}
