// redact and restore: with made-up findings, with patterns, and with models.
import { join } from 'node:path';
import { pipeline, redact, restore, type RedactOptions } from 'wattn';
import { expectError, goldens, headFiles } from './support.js';

interface Finding {
  label: string;
  start: number;
  end: number;
  score: number;
}

/** A pipeline that finds what it is told to. */
const finder = (find: (text: string) => Finding[]): any =>
  Object.assign(async (texts: string[]) => texts.map(find), { task: 'zero-shot-ner' });

/** Finds words. */
const words = (labels: Record<string, string>) =>
  finder((text) =>
    Object.entries(labels).flatMap(([word, label]) =>
      [...text.matchAll(new RegExp(word, 'g'))].map(({ index }) => ({ label, start: index, end: index + word.length, score: 0.9 })),
    ),
  );

/** Numbers below most, always the same ones. */
function lehmer(seed: number): (most: number) => number {
  let state = seed;
  return (most) => (state = (state * 48271) % 0x7fffffff) % most;
}

const kPieces = ['[', ']', '_', 'PERSON', 'A', '1', '2', '[PERSON_1]', '[A_2]', '[PLACEHOLDER_1]', ' ', 'Ada', 'é', 'e\u0301', '\u{1f600}', '\ud83d', '\ude00', '日本', '-', '@', '.', '\n', '__proto__', '[__proto__]']; // prettier-ignore

function randomText(random: (most: number) => number): string {
  return Array.from({ length: random(14) }, () => kPieces[random(kPieces.length)]).join('');
}

function randomFindings(text: string, random: (most: number) => number): Finding[] {
  return Array.from({ length: random(5) }, () => {
    const start = random(text.length + 1);
    return {
      label: ['person', 'a', '[1]', '', '__proto__', '\ud800'][random(6)] as string,
      start,
      end: start + random(text.length + 1 - start),
      score: random(100) / 100,
    };
  });
}

describe('redact', () => {
  it('gives equal texts equal placeholders, and restores them', async () => {
    const ner = words({ Ada: 'person', Bo: 'person', Paris: 'city of birth' });
    const input = 'Ada and Bo met Ada in Paris.';
    const { text, entities, map } = await redact(ner, input, { labels: ['person'] });
    expect(text).toBe('[PERSON_1] and [PERSON_2] met [PERSON_1] in [CITY_OF_BIRTH_1].');
    expect(map).toEqual({ '[PERSON_1]': 'Ada', '[PERSON_2]': 'Bo', '[CITY_OF_BIRTH_1]': 'Paris' });
    expect(entities[2]).toEqual({ label: 'person', text: 'Ada', start: 15, end: 18, placeholder: '[PERSON_1]', score: 0.9 });
    expect(restore(text, map)).toBe(input);
    expect(restore('[PERSON_2] and [PERSON_9]', map)).toBe('Bo and [PERSON_9]');
  });

  it('keeps placeholders from text to text and from call to call', async () => {
    const ner = words({ Ada: 'person', Bo: 'person' });
    const first = await redact(ner, ['Bo', 'Ada Bo'], { labels: 'person' });
    expect(first.map(({ text }) => text)).toEqual(['[PERSON_1]', '[PERSON_2] [PERSON_1]']);
    const { map } = first[0] as (typeof first)[number];
    expect(first[1]?.map).toEqual(map);
    const frozen = Object.freeze({ ...map });
    const second = await redact(ner, 'Ada, Cy and [PERSON_2]', { labels: 'person', map: frozen, patterns: { person: /Cy/ } });
    expect(second.text).toBe('[PERSON_2], [PERSON_3] and [PLACEHOLDER_1]');
    expect(restore(second.text, second.map)).toBe('Ada, Cy and [PERSON_2]');
    expect(map).toEqual(frozen);
  });

  it('leaves out numbers whose placeholders are in the texts', async () => {
    const [a, b] = await redact(words({ Ada: 'person' }), ['Ada', '[PERSON_1] [PERSON_2]'], { labels: 'person' });
    expect(a?.text).toBe('[PERSON_3]');
    expect(b?.text).toBe('[PERSON_1] [PERSON_2]');
  });

  it('replaces what it finds as a whole', async () => {
    const find = (text: string, ...ranges: [number, number][]) =>
      redact(
        finder(() => ranges.map(([start, end]) => ({ label: 'person', start, end, score: 0.5 }))),
        text,
        { labels: 'person' },
      );
    // Some of a word's tokens; a mark beside a letter; half of a surrogate pair; spaces at the ends.
    expect((await find('Washington met Bo', [0, 4])).text).toBe('[PERSON_1] met Bo');
    expect((await find('Washington', [2, 4], [7, 9])).text).toBe('[PERSON_1]');
    expect((await find('cafe\u0301 au lait', [0, 4])).text).toBe('[PERSON_1] au lait');
    expect((await find('a \u{1f600} b', [3, 4])).text).toBe('a [PERSON_1] b');
    expect((await find('\u{1f600} b', [1, 2])).text).toBe('[PERSON_1] b');
    expect((await find('a Bo b', [1, 5])).text).toBe('a [PERSON_1] b');
    expect((await find('a  b', [1, 3])).text).toBe('a  b');
    // Scripts without spaces are not extended: the rest of the sentence would go too.
    expect((await find('私は太郎です', [2, 4])).text).toBe('私は[PERSON_1]です');
    // Overlaps become one, nested or not, with the label of the longest.
    const mixed = finder(() => [
      { label: 'a', start: 0, end: 6, score: 1 },
      { label: 'b', start: 4, end: 14, score: 0.2 },
      { label: 'c', start: 5, end: 6, score: 0.9 },
    ]);
    const { text, entities } = await redact(mixed, 'Ada Mae Smith!', { labels: 'a' });
    expect(text).toBe('[B_1]');
    expect(entities).toMatchObject([{ label: 'b', start: 0, end: 14, score: 0.2 }]);
  });

  it('is undone by restore for any text and findings, through several calls', async () => {
    const random = lehmer(5);
    for (let round = 0; round < 150; ++round) {
      let map: Record<string, string> = {};
      for (let call = 0; call < 4; ++call) {
        const texts = Array.from({ length: 1 + random(3) }, () => randomText(random));
        const found = new Map(texts.map((text) => [text, randomFindings(text, random)]));
        const ner = finder((text) => found.get(text) as Finding[]);
        const out = await redact(ner, texts, {
          labels: 'x',
          map,
          patterns: { digit: random(3) ? false : /\d+/y, letter: random(2) ? /A/i : false },
        });
        out.forEach(({ text, entities, map: after }, i) => {
          const original = texts[i] as string;
          expect(restore(text, after)).toBe(original);
          let end = 0;
          for (const entity of entities) {
            expect(entity.start).toBeGreaterThanOrEqual(end);
            expect(entity.text).toBe(original.slice(entity.start, entity.end));
            expect(after[entity.placeholder]).toBe(entity.text);
            end = entity.end;
          }
          // Every finding lies in what was replaced, but for spaces.
          const isIn = (at: number) => entities.some((entity) => entity.start <= at && at < entity.end);
          const left = (found.get(original) as Finding[]).filter(({ start, end }) =>
            original
              .slice(start, end)
              .split('')
              .some((_, i) => /\S/.test(original[start + i] as string) && !isIn(start + i)),
          );
          expect(left).toEqual([]);
        });
        map = out[0]?.map as Record<string, string>;
        expect(new Set(Object.values(map)).size).toBe(Object.keys(map).length);
      }
    }
  });

  it('knows patterns by name', async () => {
    const found = async (name: string, text: string) =>
      (await redact(null, text, { patterns: { [name]: true } })).entities.map((entity) => entity.text);
    expect(await found('email', "ada@example.org, <Bo.O'Neil+x@mail.example.co.uk>; no@where a@b.c.")).toEqual([
      'ada@example.org',
      "Bo.O'Neil+x@mail.example.co.uk",
      'a@b.c',
    ]);
    expect(await found('email', 'ünï@exämple.de @x.y a@ @ b@.c d@e..f g@h.ij@k.lm')).toEqual(['ünï@exämple.de', 'g@h.ij']);
    expect(await found('email', 'x@y.z-- \u{10400}@\u{10400}.org')).toEqual(['x@y.z', '\u{10400}@\u{10400}.org']);
    expect(await found('card', '4111 1111 1111 1111; 4111-1111-1111-1112; 378282246310005 6011000990139424')).toEqual([
      '4111 1111 1111 1111',
      '378282246310005',
      '6011000990139424',
    ]);
    expect(await found('card', '41111111111111111111 2024-11-23 12:00:00')).toEqual([]);
    expect(await found('phone', '+49 30 901820, (555) 123-4567; 555.123.4567 or 555-123-4567.')).toEqual([
      '+49 30 901820',
      '(555) 123-4567',
      '555.123.4567',
      '555-123-4567',
    ]);
    expect(await found('phone', '2024-11-23 1234567890 12-345-6789 x555-123-4567 555-123-45678 +1')).toEqual([]);
    // Linear time: these would take minutes otherwise.
    for (const text of [
      'a'.repeat(200_000),
      '@'.repeat(100_000),
      'a@'.repeat(100_000),
      '1 '.repeat(100_000),
      '+1'.repeat(100_000),
      '1'.repeat(200_000),
    ]) {
      for (const name of ['email', 'card', 'phone']) await found(name, text);
    }
  });

  it('works on a GLiNER model and on any token classification, in workers too', async () => {
    const input = ['Ada saw the old boat. '.repeat(40), 'café \u{1f600}', ''];
    for (const worker of [false, true]) {
      const gliner = await pipeline('zero-shot-ner', join(goldens, 'spans/deberta'), { worker });
      const out = await redact(gliner, input, { labels: ['person', 'boat'], threshold: 0.3 });
      expect(out[0]?.entities.length).toBeGreaterThan(10);
      out.forEach(({ text, map }, i) => expect(restore(text, map)).toBe(input[i]));
      await expectError(redact(gliner, 'a'), 'InputError', /labels/);
      await gliner.dispose();
      const ner = await pipeline('ner', headFiles('token'), { worker });
      const tagged = await redact(ner, input);
      expect(tagged[0]?.entities.length).toBeGreaterThan(0);
      tagged.forEach(({ text, map }, i) => expect(restore(text, map)).toBe(input[i]));
      // Whole words, and only tags that were asked for.
      for (const { entities } of tagged) for (const { text } of entities) expect(text).toMatch(/^\S(.*\S)?$/s);
      const labels = [...new Set(tagged.flatMap(({ entities }) => entities.map(({ label }) => label)))];
      const one = await redact(ner, input, { labels: [labels[0] as string] });
      expect(new Set(one.flatMap(({ entities }) => entities.map(({ label }) => label)))).toEqual(new Set([labels[0]]));
      await expectError(
        redact(ner, input, { labels: [labels[0] as string, 'person'] }),
        'InputError',
        new RegExp(`option 'labels': expected some of the model's .*'${labels[0]}'.*, found 'person'`),
      );
      expect((await redact(ner, input, { threshold: 1 }))[0]?.entities).toEqual([]);
      await expectError(
        redact(ner, input, { threshold: 1.5 }),
        'InputError',
        /option 'threshold': expected a number from 0 to 1, found 1.5/,
      );
      await ner.dispose();
    }
  });

  it('refuses what it does not understand', async () => {
    const bad = (options: object, ner: any = null) => redact(ner, 'a', options as RedactOptions);
    await expectError(
      bad({ patterns: { other: true } }),
      'InputError',
      /patterns': other: expected a RegExp, or true for one of email, phone, card/,
    );
    await expectError(bad({ patterns: { email: 'x' } }), 'InputError', /patterns': email/);
    await expectError(bad({ patterns: [] }), 'InputError', /option 'patterns': expected an object/);
    await expectError(bad({ map: { PERSON_1: 'a' } }), 'InputError', /option 'map': expected texts for placeholders/);
    await expectError(bad({ map: { '[A_1]': 7 } }), 'InputError', /option 'map'/);
    await expectError(bad({ labels: ['a'] }), 'InputError', /option 'labels': expected a model with it, found null/);
    await expectError(
      bad({}, async () => []),
      'InputError',
      /expected a pipeline of 'zero-shot-ner' or 'token-classification', or null/,
    );
    await expectError(redact(null, 7 as never), 'InputError');
    await expectError(async () => restore(7 as never, {}), 'InputError', /: restore: expected a string/);
    await expectError(async () => restore('', null as never), 'InputError', /: restore: map/);
    expect((await redact(null, 'a@b.cd')).text).toBe('a@b.cd');
  });
});

it('asks a token classifier with windows that overlap, by a quarter of them at most', async () => {
  const asked: object[] = [];
  const ner = (max_length: number): any =>
    Object.assign(async (texts: string[], options: object) => (asked.push(options), texts.map(() => [])), {
      task: 'token-classification',
      info: () => ({ max_length }),
    });
  for (const max_length of [4, 64, 8192]) await redact(ner(max_length), 'Ada');
  expect(asked).toEqual([0, 15, 64].map((stride) => ({ aggregation_strategy: 'simple', stride, windows: 'once' })));
});

describe('token-classification with windows: once', () => {
  const text = 'Ada saw the old boat below the bridge, and sang to forty birds of the dark way home. '.repeat(12);

  it('judges each token once', async () => {
    const ner = await pipeline('ner', headFiles('token'));
    const all = await ner(text, { aggregation_strategy: 'simple', stride: 10, windows: 'once', ignore_labels: [] });
    let end = 0;
    for (const entity of all) {
      expect(entity.start).toBeGreaterThanOrEqual(end);
      end = entity.end;
    }
    // Nothing is lost: what lies between entities is white space.
    let rest = text;
    for (const { start, end } of [...all].reverse()) rest = rest.slice(0, start) + rest.slice(end);
    expect(rest.trim()).toBe('');
    const short = text.slice(0, 60);
    expect(await ner(short, { aggregation_strategy: 'simple', stride: 10, windows: 'once' })).toEqual(
      await ner(short, { aggregation_strategy: 'simple' }),
    );
    await expectError(ner(text, { windows: 'once' }), 'InputError', /option 'windows': expected a stride with 'once'/);
    await ner.dispose();
  });
});
