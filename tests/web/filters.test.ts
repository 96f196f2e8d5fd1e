// Other arguments of an index: filters, callbacks, documents. Anything invalid is an InputError.
import {
  AutoModelForCausalLM,
  Index,
  InputError,
  semantic_search,
  StoppingCriteriaList,
  Tensor,
  TextStreamer,
  type Filter,
  type IndexDocument,
} from 'wattn';
import { failure, goldens } from './support.js';

const open = (options = {}) => Index.open('filters', { store: 'memory', ...options });
const idsOf = async (index: Index, filter: unknown): Promise<string[]> =>
  (await index.search('x', { filter: filter as Filter, top_k: 1000 })).map(({ id }) => id).sort();

/** Numbers from 0 on, from a linear congruence. */
function makeRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

let told: string[];
const { warn } = console;
beforeEach(() => {
  told = [];
  console.warn = (text: string) => void told.push(text);
});
afterEach(() => (console.warn = warn));

describe('filters', () => {
  const documents: IndexDocument[] = [
    { id: 'a', text: 'x', lang: 'en', year: 2001, draft: false, tags: ['food', 'time'], by: null },
    { id: 'b', text: 'x', lang: 'en', year: 2002, draft: true, tags: [] },
    { id: 'c', text: 'x', lang: 'de', year: 2003, tags: ['food'], place: { town: 'x' } },
    { id: 'd', text: 'x', year: '2001', tags: 'food' },
  ];
  let index: Index;
  beforeAll(async () => {
    index = await open();
    await index.add(documents);
  });
  afterAll(() => index.dispose());

  const cases: [filter: unknown, ids: string][] = [
    [{}, 'abcd'],
    [{ lang: 'en' }, 'ab'],
    [{ lang: 'en', year: 2002 }, 'b'],
    [{ lang: ['en', 'de'] }, 'abc'],
    [{ lang: [] }, ''],
    [{ tags: 'food' }, 'acd'],
    [{ tags: ['time', 'other'] }, 'a'],
    [{ by: null }, 'a'],
    [{ draft: false }, 'a'],
    [{ lang: { $eq: 'en' } }, 'ab'],
    [{ lang: { $ne: 'en' } }, 'cd'],
    [{ tags: { $ne: 'food' } }, 'b'],
    [{ lang: { $in: ['en', 'fr'] } }, 'ab'],
    [{ tags: { $nin: ['time'] } }, 'bcd'],
    [{ year: { $gt: 2001 } }, 'bc'],
    [{ year: { $gte: 2001, $lt: 2003 } }, 'ab'],
    [{ year: { $lte: '2001' } }, 'd'],
    [{ year: { $lte: Infinity } }, 'abc'],
    [{ by: { $exists: true } }, 'a'],
    [{ by: { $exists: false } }, 'bcd'],
    [{ place: { $exists: true } }, 'c'],
    [{ place: 'x' }, ''],
    [{ lang: { $not: 'en' } }, 'cd'],
    [{ lang: { $not: ['en', 'de'] } }, 'd'],
    [{ year: { $not: { $gt: 2001 } } }, 'ad'],
    [{ $and: [{ lang: 'en' }, { year: { $gt: 2001 } }] }, 'b'],
    [{ $or: [{ lang: 'de' }, { year: 2001 }] }, 'ac'],
    [{ lang: 'en', $or: [{ year: 2001 }, { year: 2003 }] }, 'a'],
    [{ $not: { lang: 'en', year: 2001 } }, 'bcd'],
    [(document: IndexDocument) => document['year'] === 2001, 'a'],
    [{ $and: [{ lang: 'en' }, (document: IndexDocument) => document['draft'] === true] }, 'b'],
    [Object.assign(Object.create(null), { lang: 'de' }), 'c'],
  ];
  it.each(cases)('%j', async (filter, ids) => expect((await idsOf(index, filter)).join('')).toBe(ids));

  /** The rules once more, by what they say of one document. */
  function fits(document: IndexDocument, filter: any): boolean {
    const values = (name: string) => (Object.hasOwn(document, name) ? [document[name]].flat() : []);
    const field = (name: string, wanted: any): boolean => {
      if (Array.isArray(wanted)) return values(name).filter((value) => wanted.includes(value)).length > 0;
      if (typeof wanted !== 'object' || wanted === null) return field(name, [wanted]);
      return Object.entries(wanted).every(([operator, value]: [string, any]) => {
        const like = values(name).filter((own) => typeof own === typeof value) as any[];
        if (operator === '$eq') return field(name, [value]);
        if (operator === '$ne') return !field(name, [value]);
        if (operator === '$in') return field(name, value);
        if (operator === '$nin') return !field(name, value);
        if (operator === '$not') return !field(name, value);
        if (operator === '$exists') return Object.keys(document).includes(name) === value;
        if (operator === '$gt') return like.filter((own) => own > value).length > 0;
        if (operator === '$gte') return like.filter((own) => own >= value).length > 0;
        if (operator === '$lt') return like.filter((own) => own < value).length > 0;
        return like.filter((own) => own <= value).length > 0;
      });
    };
    return Object.entries(filter).every(([name, value]: [string, any]) => {
      if (name === '$and') return value.every((each: any) => fits(document, each));
      if (name === '$or') return !value.every((each: any) => !fits(document, each));
      return name === '$not' ? !fits(document, value) : field(name, value);
    });
  }

  it('find what a second reading of the rules finds', async () => {
    const random = makeRandom(1);
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
    const values = [null, true, false, 0, 1, 2, '', 'x', 'y', '1'];
    const some = () => Array.from({ length: random(3) }, () => pick(values));
    const names = ['p', 'q', 'r'];
    const many = Array.from({ length: 80 }, (_, i): IndexDocument => {
      const fields = names.filter(() => random(4) > 0).map((name) => [name, random(3) === 0 ? some() : pick(values)]);
      return { id: String(i), text: 'x', ...Object.fromEntries(fields) };
    });
    const operators = (depth: number): object =>
      Object.fromEntries(
        Array.from({ length: 1 + random(2) }, (): [string, unknown] => {
          const name = pick(['$eq', '$ne', '$in', '$nin', '$gt', '$gte', '$lt', '$lte', '$exists', '$not']);
          if (name === '$in' || name === '$nin') return [name, some()];
          if (name === '$exists') return [name, random(2) === 0];
          if (name === '$not') return [name, depth > 2 ? pick(values) : condition(depth + 1)];
          return [name, name === '$eq' || name === '$ne' ? pick(values) : pick([0, 1, 2, '', 'x', '1'])];
        }),
      );
    const condition = (depth: number): unknown => (random(3) === 0 ? operators(depth) : random(2) === 0 ? some() : pick(values));
    const filter = (depth: number): object =>
      Object.fromEntries(
        Array.from({ length: 1 + random(2) }, (): [string, unknown] => {
          const name = depth < 3 ? pick([...names, '$and', '$or', '$not']) : pick(names);
          if (name === '$not') return [name, filter(depth + 1)];
          if (name[0] === '$') return [name, Array.from({ length: 1 + random(3) }, () => filter(depth + 1))];
          return [name, condition(depth)];
        }),
      );
    const all = await open();
    await all.add(many);
    let found = 0;
    for (let i = 0; i < 300; ++i) {
      const wanted = filter(0);
      const expected = many.filter((document) => fits(document, wanted)).map(({ id }) => id);
      expect([wanted, await idsOf(all, wanted)]).toEqual([wanted, expected.sort()]);
      found += expected.length;
    }
    expect(found).toBeGreaterThan(3000);
    await all.dispose();
  });

  class Wanted {
    lang = 'en';
  }
  const refused: [what: string, filter: unknown, message: RegExp][] = [
    ['an async function', async () => true, /expected a function that returns true or false at once, found one of another kind \(AsyncFunction\)/],
    ['a generator', function* () {}, /another kind \(GeneratorFunction\)/],
    ['an async generator', async function* () {}, /another kind \(AsyncGeneratorFunction\)/],
    ['a function that returns a promise', () => Promise.reject(new Error('late')), /expected it to return true or false, found an object \(Promise\)/],
    ['a function that returns a thenable', () => ({ then: () => {} }), /expected it to return true or false, found an object/],
    ['a function that returns nothing', () => {}, /expected it to return true or false, found undefined/],
    ['a function that returns a number', () => 1, /found 1/],
    ['a function that returns a text', () => 'yes', /found 'yes'/],
    ['a function inside $and', { $and: [() => 0] }, /found 0/],
    ['a Map', new Map([['lang', 'en']]), /expected a function or an object of fields, found an object \(Map\)/],
    ['a Set', new Set(['en']), /found an object \(Set\)/],
    ['a RegExp', /en/, /found an object \(RegExp\)/],
    ['a Date', new Date(), /found an object \(Date\)/],
    ['an instance of a class', new Wanted(), /found an object/],
    ['what inherits its fields', Object.create({ lang: 'en' }), /found an object/],
    ['a list', [{ lang: 'en' }], /found an array/],
    ['a text', 'lang', /found 'lang'/],
    ['a number', 3, /found 3/],
    ['true', true, /found true/],
    ['a symbol', { [Symbol('lang')]: 'en' }, /expected names of fields, found a symbol/],
    ['a Date as a value', { year: new Date() }, /filter': year: expected a string, a finite number, a boolean or null, found an object \(Date\)/],
    ['a RegExp as a value', { lang: /e/ }, /found an object \(RegExp\)/],
    ['a Map as a value', { lang: new Map() }, /found an object \(Map\)/],
    ['a function as a value', { lang: () => true }, /found a function/],
    ['a promise as a value', { lang: Promise.resolve('en') }, /found an object \(Promise\)/],
    ['undefined as a value', { lang: undefined }, /found undefined/],
    ['NaN', { year: NaN }, /found NaN/],
    ['Infinity', { year: Infinity }, /found Infinity/],
    ['a bigint', { year: 2001n }, /found 2001/],
    ['NaN as a bound', { year: { $gt: NaN } }, /year: \$gt: expected a number or a string, found NaN/],
    ['a boolean as a bound', { year: { $lt: true } }, /found true/],
    ['a list as a bound', { year: { $lte: [1] } }, /found an array/],
    ['an object as a value', { place: { town: 'x' } }, /place: expected operators .*, found 'town'/],
    ['an empty object as a value', { place: {} }, /found an empty object/],
    ['an operator beside a field', { year: { $gt: 1, town: 'x' } }, /found 'town'/],
    ['an unknown operator', { year: { $regex: 'a' } }, /year: \$regex: expected one of the operators \$eq, .*, found '\$regex'/],
    ['an unknown operator at the top', { $nor: [] }, /expected fields, or \$and, \$or, \$not, found '\$nor'/],
    ['an operator of a field at the top', { $gt: 1 }, /found '\$gt'; it belongs inside a field/],
    ['$and inside a field', { lang: { $and: ['en'] } }, /found '\$and'/],
    ['$and of nothing', { $and: [] }, /\$and: expected an array of filters, found an array/],
    ['$or of an object', { $or: { lang: 'en' } }, /\$or: expected an array of filters, found an object/],
    ['$not of a text', { $not: 'en' }, /\$not: expected a function or an object of fields, found 'en'/],
    ['$in of a text', { lang: { $in: 'en' } }, /\$in: expected an array of values, found 'en'/],
    ['$in of a Set', { lang: { $in: new Set(['en']) } }, /found an object \(Set\)/],
    ['$nin of objects', { lang: { $nin: [{}] } }, /\$nin\[0\]: expected a string/],
    ['a list with a gap', { lang: [, 'en'] }, /lang\[0\]: expected a string, .*, found undefined/], // prettier-ignore
    ['$exists of a number', { lang: { $exists: 1 } }, /expected true or false, found 1/],
    ['$eq of a list', { tags: { $eq: ['food'] } }, /\$eq: expected a string, .*, found an array/],
    ['filters without end', Array.from({ length: 200 }).reduce((inner) => ({ $not: inner }), { lang: 'en' }), /at most 100 filters inside each other/],
    ['conditions without end', { lang: Array.from({ length: 200 }).reduce((inner) => ({ $not: inner }), 'en') }, /at most 100/],
  ]; // prettier-ignore
  it.each(refused)('refuse %s', async (_, filter, message) => {
    const error = await failure(index.search('x', { filter: filter as Filter }));
    expect(error).toBeInstanceOf(InputError);
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/^Index\.search: option 'filter'/);
  });

  it('look at own properties, and read each once', async () => {
    expect(await idsOf(index, { constructor: 'x' })).toEqual([]);
    expect(await idsOf(index, { toString: { $exists: true } })).toEqual([]);
    let reads = 0;
    const lying = { get lang() { return reads++ === 0 ? 'de' : 'en'; } }; // prettier-ignore
    expect([await idsOf(index, lying), reads]).toEqual([['c'], 1]);
    const prototype = Object.prototype as Record<string, unknown>;
    prototype['lang'] = 'en';
    prototype['filter'] = () => false;
    try {
      expect(await idsOf(index, { lang: 'en' })).toEqual(['a', 'b']);
      expect(await idsOf(index, undefined)).toEqual(['a', 'b', 'c', 'd']);
    } finally {
      delete prototype['lang'];
      delete prototype['filter'];
    }
    const odd = await open();
    await odd.add(JSON.parse('[{ "id": "p", "text": "x", "__proto__": "y" }, { "id": "q", "text": "x" }]') as IndexDocument[]);
    expect(await idsOf(odd, JSON.parse('{ "__proto__": "y" }'))).toEqual(['p']);
    await odd.dispose();
  });

  it('say once that no document has a field', async () => {
    expect(await idsOf(index, { langg: 'en' })).toEqual([]);
    expect(await idsOf(index, { langg: 'en', $or: [{ yeer: 1 }, { lang: 'en' }] })).toEqual([]);
    expect(await idsOf(index, { langg: { $exists: false } })).toEqual(['a', 'b', 'c', 'd']);
    const said = (name: string) => `wattn: Index.search: option 'filter': no document of 'filters' has the field '${name}'`;
    expect(told).toEqual([said('langg'), said('yeer')]);
    const empty = await Index.open('empty', { store: 'memory' });
    expect(await idsOf(empty, { langg: 'en' })).toEqual([]);
    expect(told).toHaveLength(2);
    await empty.dispose();
  });
});

describe('callbacks', () => {
  const one = { id: 'a', text: 'x y' };
  const search = async (options: object, asked = {}) => {
    const index = await open(options);
    try {
      await index.add([one, { id: 'b', text: 'x' }]);
      return await index.search('x', asked);
    } finally {
      await index.dispose();
    }
  };
  const garbage = { then: (done: (value: unknown) => void) => done('rubbish') };
  const embed = (answer: unknown) => ({ embed: () => answer });
  const tensor = (fields: object) => embed({ dims: [1, 2], data: Float32Array.of(1, 0), ...fields });
  const chunk = (answer: unknown) => ({ embed: async (texts: string[]) => texts.map(() => [1, 0]), chunk: () => answer });

  const cases: [what: string, call: () => Promise<unknown>, message: RegExp][] = [
    ['rerank: null', () => search({}, { rerank: () => null }), /option 'rerank': expected it to return 2 numbers, found null/],
    ['rerank: a number', () => search({}, { rerank: () => 1 }), /found 1/],
    ['rerank: a text', () => search({}, { rerank: () => 'ab' }), /found 'ab'/],
    ['rerank: too few', () => search({}, { rerank: () => [1] }), /expected it to return 2 numbers, found 1/],
    ['rerank: NaN', () => search({}, { rerank: () => [1, NaN] }), /expected it to return numbers, found NaN at index 1/],
    ['rerank: texts', () => search({}, { rerank: () => ['1', '2'] }), /found '1' at index 0/],
    ['rerank: a gap', () => search({}, { rerank: () => [, 1] }), /found undefined at index 0/], // prettier-ignore
    ['rerank: a promise of rubbish', () => search({}, { rerank: () => garbage }), /found 'rubbish'/],
    ['rerank of the index', () => search({ rerank: () => ({}) }), /found an object/],
    ['stem: undefined', () => search({ words: { stem: () => undefined } }), /words': stem: expected it to return a string, found undefined/],
    ['stem: a number', () => search({ words: { stem: () => 1 } }), /found 1/],
    ['stem: async', () => search({ words: { stem: async () => 'x' } }), /found an object \(Promise\)/],
    ['stopwords: numbers', () => search({ words: { stopwords: [1] } }), /stopwords: expected a string at index 0, found 1/],
    ['stopwords: a number', () => search({ words: { stopwords: 5 } }), /stopwords: expected an array or a Set of strings, found 5/],
    ['stopwords: an object', () => search({ words: { stopwords: {} } }), /stopwords: expected an array or a Set of strings, found an object/],
    ['stopwords: a text', () => search({ words: { stopwords: 'the and' } }), /stopwords: expected one of ar, .*, found 'the and'/],
    ['chunk: null', () => search(chunk(null)), /option 'chunk': document 'a': expected it to return an array of \{ start, end \}, found null/],
    ['chunk: a text', () => search(chunk('x')), /found 'x'/],
    ['chunk: nothing', () => search(chunk([])), /expected at least one chunk, found none/],
    ['chunk: rubbish', () => search(chunk([null])), /expected offsets in a text of 3, found undefined to undefined/],
    ['chunk: texts', () => search(chunk([{ start: '0', end: 1 }])), /found '0' to 1/],
    ['chunk: beyond the end', () => search(chunk([{ start: 0, end: 9 }])), /found 0 to 9/],
    ['chunk: a promise of rubbish', () => search(chunk(garbage)), /found 'rubbish'/],
    ['embed: undefined', () => search(embed(undefined)), /Index: embed: expected a vector, found undefined/],
    ['embed: a promise of rubbish', () => search(embed(garbage)), /found 'rubbish'/],
    ['embed: texts', () => search(embed([['a', 'b']])), /expected a number at index 0, found 'a'/],
    ['embed: NaN', () => search(embed([[NaN, 1]])), /expected finite numbers/],
    ['embed: a gap', () => search(embed([,])), /Index: embed/], // prettier-ignore
    ['embed: a shape without numbers', () => search(tensor({ data: null })), /expected a Tensor, found dims \[1,2\] and null/],
    ['embed: too few numbers', () => search(tensor({ data: Float32Array.of(1) })), /found dims \[1,2\] and 1 numbers/],
    ['embed: a shape of texts', () => search(tensor({ dims: ['1', '2'] })), /found dims an array and 2 numbers/],
    ['embed: numbers of words', () => search(tensor({ data: ['a', 'b'] })), /Index: embed/],
    ['score_function', async () => semantic_search([1, 0], [[1, 0]], { score_function: (() => '1') as never }), /score_function': expected it to return a number, found '1'/],
  ]; // prettier-ignore
  it.each(cases)('%s', async (_, call, message) => {
    const error = await failure(call());
    expect(error).toBeInstanceOf(InputError);
    expect(error.message).toMatch(message);
  });

  it('that end texts say so of each', async () => {
    const model = await AutoModelForCausalLM.from_pretrained(`${goldens}/decoders/qwen2`);
    const inputs = new Tensor('int64', [1n, 2n], [1, 2]);
    const list = new StoppingCriteriaList();
    list.push((() => [undefined]) as never);
    for (const criterion of [async () => [true], () => true, () => [], () => [1], () => undefined, list]) {
      const stopping_criteria = criterion as never;
      const error = await failure(model.generate({ inputs, max_new_tokens: 4, stopping_criteria }));
      expect(error).toBeInstanceOf(InputError);
      expect(error.message).toMatch(
        /option 'stopping_criteria': expected it to return an array of true or false, one for each text/,
      );
    }
    await model.dispose();
  });

  it('that reject late do not end the process', async () => {
    const decode = (ids: bigint[]) => ids.join(' ');
    const streamer = new TextStreamer({ decode, all_special_ids: [] } as never, {
      callback_function: (async () => Promise.reject(new Error('late'))) as never,
    });
    streamer.put([[1n, 2n]]);
    await new Promise((resolve) => setTimeout(resolve));
    expect(() => streamer.end()).not.toThrow();
    expect(() => {
      streamer.put([[3n]]);
      streamer.end();
    }).toThrow('late');
  });
});

describe('documents', () => {
  const refused: [what: string, document: unknown, message: RegExp][] = [
    ['no object', 3, /document 1: expected \{ id, text \}, found 3/],
    ['a list', [], /found an array/],
    ['a toJSON without a text', { id: 'a', text: 'x', toJSON: () => ({ id: 'a' }) }, /document 1 \('a'\): expected 'text' to be a string, found undefined/],
    ['a toJSON of nothing', { id: 'a', text: 'x', toJSON: () => null }, /expected \{ id, text \} from its toJSON, found null/],
    ['a toJSON of a text', { id: 'a', text: 'x', toJSON: () => 'x' }, /from its toJSON, found 'x'/],
    ['an inherited text', Object.create({ id: 'a', text: 'x' }), /expected 'id' to be a string with characters, found undefined/],
    ['a String', { id: 'a', text: new String('x') }, /expected 'text' to be a string/],
    ['a circle', (() => { const own: Record<string, unknown> = { id: 'a', text: 'x' }; own['self'] = own; return own; })(), /expected fields that JSON can hold, found others in 'self'/],
    ['a bigint', { id: 'a', text: 'x', year: 1n }, /found others in 'year'/],
    ['a field that is too deep', { id: 'a', text: 'x', deep: JSON.parse('['.repeat(300) + ']'.repeat(300)) }, /document 1 \('a'\): 'deep': expected at most 200 lists and objects inside each other/],
    ['a field without end', { id: 'a', text: 'x', deep: JSON.parse('['.repeat(1e5) + ']'.repeat(1e5)) }, /document 1 \('a'\)/],
    ['a title that is too long', { id: 'a', text: 'x', title: 'y'.repeat(10_001) }, /'title' to have at most 10000 characters, found 10001/],
  ]; // prettier-ignore
  it.each(refused)('with %s are refused by their places, and change nothing', async (_, document, message) => {
    const index = await open();
    const error = await failure(async () => index.add([{ id: 'first', text: 'x' }, document as IndexDocument]));
    expect(error).toBeInstanceOf(InputError);
    expect(error.message).toMatch(message);
    expect([index.size, await idsOf(index, undefined)]).toEqual([0, []]);
    await index.dispose();
  });

  it('are read once', async () => {
    const reads: Record<string, number> = {};
    const lying = (name: string, first: unknown) => ({
      enumerable: true,
      get: () => ((reads[name] = (reads[name] ?? 0) + 1) === 1 ? first : 7),
    });
    const document = Object.defineProperties({}, { id: lying('id', 'a'), text: lying('text', 'x y'), title: lying('title', 'z'), lang: lying('lang', 'en') }); // prettier-ignore
    const index = await open();
    await index.add([document as IndexDocument]);
    expect(reads).toEqual({ id: 1, text: 1, title: 1, lang: 1 });
    expect(index.get('a')).toEqual({ id: 'a', text: 'x y', title: 'z', lang: 'en' });
    await index.add([{ id: 'c', text: 'x', day: new Date(0), no: undefined, minus: -0, list: [undefined, NaN] }]);
    expect(index.get('c')).toEqual({ id: 'c', text: 'x', day: '1970-01-01T00:00:00.000Z', minus: 0, list: [null, null] });
    await index.dispose();
  });

  it('have no title from Object.prototype', async () => {
    const prototype = Object.prototype as Record<string, unknown>;
    prototype['title'] = 'polluted';
    try {
      const index = await open();
      await index.add([{ id: 'a', text: 'x' }]);
      expect(await index.search('polluted')).toEqual([]);
      await index.dispose();
    } finally {
      delete prototype['title'];
    }
  });
});
