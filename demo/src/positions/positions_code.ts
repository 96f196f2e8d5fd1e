// The programs of the panel Positions, to run as they are.
import type { Kind } from './attend.js';

/** How queries and keys come to know their places: what `attend` does in each case. */
const kAttend: Record<Kind, string> = {
  none: 'run(x, x, x)',
  sinusoidal: 'together(functional.add(x, positional.sinusoidal({ length: words.length, dim })))',
  learned: 'together(functional.add(x, rows(words.map((_, i) => i), 11)))',
  rotary: 'run(positional.rotary(x), positional.rotary(x), x)',
  alibi: 'run(x, x, x, positional.alibi_bias(1, { queries: words.length }).reshape(words.length, words.length))',
};

const kTogether = 'const together = (x) => run(x, x, x);\n';

export function orderCode(words: readonly string[], order: readonly number[], kind: Kind): string {
  const attend = kAttend[kind];
  return `import { nn, Tensor } from 'wattn/nn';

await nn.ready();
const { functional, positional } = nn;
const words = ${JSON.stringify(words)};
const order = ${JSON.stringify(order)}; // which word stands at each place afterwards
const dim = 32;
const rows = (ids, seed) => {
  nn.manual_seed(seed); // vectors drawn at random, the same ones each time
  const table = new nn.Embedding(64, dim);
  return functional.mul(table.forward(new Tensor('int32', ids, [ids.length])), new Tensor('float32', [0.5], [1]));
};
const known = [...new Set(words.map((word) => word.toLowerCase()))];
const x = rows(words.map((word) => known.indexOf(word.toLowerCase()) % 64), 7);
const run = (queries, keys, values, attn_mask) =>
  functional.scaled_dot_product_attention(queries, keys, values, { need_weights: true, ...(attn_mask && { attn_mask }) });
${attend.startsWith('together') ? kTogether : ''}const attend = (x) => ${attend};
const [before] = attend(x);
const [after] = attend(nn.permute(x, order));
const expected = nn.permute(before, order).data;
const change = Math.max(...after.data.map((value, i) => Math.abs(value - expected[i])));
console.log(change < 1e-5 ? 'it does not notice' : 'it notices', change);
`;
}

/** call: of positional, with its options; the values of the first picture. */
export const encodingCode = (call: string): string => `import { nn, Tensor } from 'wattn/nn';

await nn.ready();
const { positional } = nn;
const encoding = ${call};
console.log(encoding.dims, [...encoding.data.slice(0, 8)]);
`;
