// The proof's 1,000 sentences, and the hashes of their vectors from the bundled model. Pages, Node and the Node for Arm read this file, so
// it is plain JavaScript. Everything here is integer arithmetic: the list is the same everywhere.

const kSubjects = ['The cat', 'A small boat', 'My neighbour', 'The old engineer', 'Nobody', 'A café owner in Zürich', 'The violin teacher',
  'Two children', 'The night train', 'An astronomer', 'The river', 'Our bakery', 'A tired nurse', 'The gardener', 'Señora Ibáñez', 'The robot']; // prettier-ignore
const kVerbs = ['waits for', 'repairs', 'remembers', 'paints', 'follows', 'has lost', 'is looking for', 'carries', 'explains', 'sells',
  'watches', 'writes about', 'forgets', 'measures', 'borrowed', 'dreams of']; // prettier-ignore
const kObjects = ['the last letter', 'a broken clock', 'fresh bread', 'the map of the harbour', 'seven blue bicycles', 'a quiet song',
  'the price of salt', 'an unread book', 'the first snow', 'a recipe for soup', 'the lighthouse', 'a photograph from 1987', 'warm rain',
  'the neural network', 'a piece of crème brûlée', 'the shortest path']; // prettier-ignore
const kPlaces = ['below the bridge', 'in the library', 'near the station', 'on the other side of the lake', 'at the market', 'in Kraków',
  'behind the cinema', 'far from home']; // prettier-ignore
const kTimes = [
  'at dawn',
  'every Tuesday',
  'before the storm',
  'at 7:45',
  'since last winter',
  'while everyone sleeps',
  'again',
  'today',
];
const kEnds = ['.', '.', '.', '!', '?', ' :-)', ', they say.', ' 🌧️', ' (and so do I).', '…'];
const kWhole = [
  'Good morning.',
  'Das Wetter ist heute schön.',
  '今日はとても静かです。',
  'Où est la gare ?',
  'Привет, мир',
  '100% of 3.14 is 3.14',
  'OK',
  'a',
];

/** Numbers below a limit, by xorshift with 32 bits. */
function draws(seed) {
  let state = seed;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

/** 1,000 different sentences of 1 to about 40 words. */
export function thousandSentences() {
  const below = draws(20261124);
  const one = (list) => list[below(list.length)];
  const clause = () => `${one(kSubjects)} ${one(kVerbs)} ${one(kObjects)}`;
  const found = new Set(kWhole);
  while (found.size < 1000) {
    const parts = [clause()];
    if (below(2)) parts.push(one(kPlaces));
    if (below(3) === 0) parts.push(one(kTimes));
    for (let more = below(8) - 5; more > 0; --more) parts.push('and', clause(), one(kPlaces));
    found.add(parts.join(' ') + one(kEnds));
  }
  return [...found];
}

/** SHA-256 of the bytes of float32 numbers, the lowest byte first, in hexadecimal. */
export async function hashOfVectors(numbers) {
  const bytes = new DataView(new ArrayBuffer(4 * numbers.length));
  numbers.forEach((number, i) => bytes.setFloat32(4 * i, number, true));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes.buffer));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What every engine finds for the bundled model, by the data type of its weights. tests/web/proof.test.ts compares. */
export const kPublished = {
  f32: '0a5b176ef509a4be6cba99d8df71ec5fd9d5eb369893d842f03ce17fcdca1fed',
  q16: 'ad967a1763e42a10986731a75e8f956a24268faaca53d4716f1c3c4c6fdeb130',
  q8: '0442f35f4ba92dba4a3266052a4b163a5a9602eb20e030e19af3b7fca4072bf5',
};
