// information-extraction against the package gliner2 (tests/goldens/structures), and rejected schemas.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packModel, pipeline, type ExtractionSchema, type InformationExtractionPipeline } from 'wattn';
import { expectError, filesOf, goldens, readJson } from './support.js';

const { cases, texts, schemas, options, shown } = readJson('structures/cases.json') as {
  cases: string[];
  texts: string[];
  schemas: ExtractionSchema[];
  options: object[];
  shown: object[];
};

interface Header {
  [name: string]: { data_offsets: [number, number] };
}
/** The header of a safetensors file, and where its bytes begin. */
function headerOf(bytes: Uint8Array): [Header, number] {
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  return [JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size))), 8 + size];
}

/** A model from tests/goldens/schemas that predicts different counts of instances. */
function filesWithCounts(name: string): Map<string, Uint8Array> {
  const files = new Map(filesOf(join(goldens, 'schemas', name)));
  const bytes = Uint8Array.from(files.get('model.safetensors')!);
  const counts = Uint8Array.from(readFileSync(join(goldens, 'structures', name, 'count_pred.safetensors')));
  const [[to, toBegin], [from, fromBegin]] = [headerOf(bytes), headerOf(counts)];
  for (const [tensor, { data_offsets }] of Object.entries(from)) {
    const own = counts.subarray(fromBegin + data_offsets[0], fromBegin + data_offsets[1]);
    bytes.set(own, toBegin + to[tensor]!.data_offsets[0]);
  }
  return files.set('model.safetensors', bytes);
}
const load = (name: string, more: object = {}) =>
  pipeline('information-extraction', filesWithCounts(name), more) as Promise<InformationExtractionPipeline>;

/** The offset in UTF-16 units of one in code points. */
const utf16 = (text: string, codePoints: number) => [...text].slice(0, codePoints).join('').length;

/** The package's result in the form of wattn's: structures and entities that are not expected have no values, too, and offsets are in UTF-16 units. */
function inOwnForm(result: any, { structures = {}, entities }: ExtractionSchema, text: string): any {
  const out = { ...result };
  for (const name of Object.keys(structures)) if (!Array.isArray(out[name])) out[name] = [];
  if (entities && Object.keys(out.entities ?? {}).length === 0) {
    const names = Array.isArray(entities) ? entities : Object.keys(entities);
    out.entities = Object.fromEntries(names.map((name) => [name, (entities as any)[name]?.dtype === 'str' ? null : []]));
  }
  const places = (value: any): any => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(places);
    const made = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, places(each)]));
    if ('start' in value) Object.assign(made, { start: utf16(text, value.start), end: utf16(text, value.end) });
    return made;
  };
  return places(out);
}

/** All confidences of a result, which is the same without them. */
function withoutConfidences(value: any, confidences: number[]): any {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => withoutConfidences(each, confidences));
  const entries = Object.entries(value).filter(([key, each]) => key !== 'confidence' || !confidences.push(each as number));
  return Object.fromEntries(entries.map(([key, each]) => [key, withoutConfidences(each, confidences)]));
}

describe('information-extraction', () => {
  it.each(cases)('extracts what the package does: %s', async (name) => {
    const extract = await load(name);
    expect(extract.task).toBe('information-extraction');
    const { f32_diff, calls } = readJson(`structures/${name}/expected.json`) as {
      f32_diff: number;
      calls: [number, number, number, number, any][];
    };
    let most = 0;
    for (const [t, s, o, h, expected] of calls) {
      const text = texts[t]!;
      const schema = schemas[s]!;
      const found = await extract(text, schema, { ...options[o], ...shown[h] });
      const [own, theirs]: [number[], number[]] = [[], []];
      const wanted = inOwnForm(expected, schema, text);
      expect(Object.keys(found)).toEqual(Object.keys(wanted));
      expect(withoutConfidences(found, own)).toEqual(withoutConfidences(wanted, theirs));
      own.forEach((confidence, i) => expect(Math.abs(confidence - theirs[i]!)).toBeLessThanOrEqual(4 * f32_diff));
      most = Math.max(most, ...Object.values(found as object).map((value) => (Array.isArray(value) ? value.length : 0)));
    }
    expect(most).toBeGreaterThan(2);
    await extract.dispose();
  });

  it('gives the same alone, in a batch, in a worker, and on a packed model', async () => {
    const extract = await load('deberta');
    const there = await load('deberta', { worker: 2 });
    const shownAll = { include_confidence: true, include_spans: true } as const;
    const schema = schemas[5]!;
    const together = await extract(texts, schema, shownAll);
    expect(await there(texts, schema, shownAll)).toEqual(together);
    for (const [i, text] of texts.entries()) {
      const alone = await extract(text, schema, shownAll);
      expect(alone).toEqual(together[i]);
      expect([alone.windows, alone.truncated, alone.unknown]).toEqual([1, false, together[i]!.unknown]);
    }
    const gguf = await pipeline('information-extraction', {
      'model.gguf': await packModel(filesWithCounts('deberta'), { dtype: 'f32' }),
    });
    expect(await gguf(texts, schema, shownAll)).toEqual(together);
    // Entities alone are those of zero-shot-ner.
    const alone = await extract(texts, { entities: ['person', 'place'] }, shownAll);
    const ner = await pipeline('zero-shot-ner', filesWithCounts('deberta'));
    for (const [i, entities] of (await ner(texts, ['person', 'place'])).entries()) {
      const found = Object.entries(alone[i]!.entities).flatMap(([label, list]) =>
        list.map(({ confidence: score, ...each }) => ({ label, score, ...each })),
      );
      expect(found.sort((a, b) => a.start - b.start || (a.label < b.label ? -1 : 1))).toEqual(
        [...entities].sort((a, b) => a.start - b.start || (a.label < b.label ? -1 : 1)),
      );
    }
    for (const one of [extract, there, gguf, ner]) await one.dispose();
  });

  it('has no value in the full stop behind a text', async () => {
    const extract = await load('modernbert');
    for (const text of ['Ada saw the boat', 'a', '']) {
      const found = await extract(text, schemas[5]!, { threshold: 0, include_spans: true });
      for (const { colour } of (found as any).boat) if (colour) expect(colour.text).toBe(text.slice(colour.start, colour.end));
      expect(JSON.stringify(found)).not.toMatch(/"text":""/);
      for (const list of Object.values((found as any).entities as Record<string, { text: string; start: number; end: number }[]>)) {
        for (const each of list) expect(each.text).toBe(text.slice(each.start, each.end));
      }
    }
    await extract.dispose();
  });

  it('reads long texts in windows, and repeats no instance', async () => {
    const extract = await load('bert');
    const long = 'Ada saw the old boat. '.repeat(100);
    const found = await extract(
      long,
      {
        structures: { boat: ['owner::str', 'place', 'kind::[old|new]'], only: [{ name: 'kind', choices: ['old', 'new'] }] },
        relations: ['saw'],
        classifications: [{ task: 'mood', labels: ['happy', 'sad'] }],
      },
      { include_spans: true },
    );
    expect(found.windows).toBeGreaterThan(2);
    expect(found.truncated).toBe(true);
    const anchors = found.boat.map(({ owner, place }: any) => (owner ?? place[0])?.start);
    expect(anchors.length).toBeGreaterThan(2);
    expect(Math.max(...anchors)).toBeGreaterThan(long.length / 2);
    const [first] = [await extract(long.slice(0, 300), { structures: { only: [{ name: 'kind', choices: ['old', 'new'] }] } })];
    expect(found.only.length).toBeLessThanOrEqual(5);
    expect(first.windows).toBe(1);
    for (const { head, tail } of found.relation_extraction.saw) {
      expect(head.text).toBe(long.slice(head.start, head.end));
      expect(tail.text).toBe(long.slice(tail.start, tail.end));
    }
    await extract.dispose();
  });

  it('reads every form of a schema', async () => {
    const extract = await load('bert');
    const text = texts[2]!;
    const all = { include_confidence: true, include_spans: true };
    const short = await extract(text, { structures: { a: ['b::str::[x|y]::of what', 'c::list::what'] } }, all);
    expect(await extract(text, { structures: { a: ['b::[x|y]::of what', 'c::what'] } }, all)).toEqual(short);
    const many = await extract(text, { structures: { a: ['b::[x|y]::list::of what', 'c::what'] } }, all);
    expect(many.a.map(({ b }) => Array.isArray(b))).toEqual(short.a.map(() => true));
    const fields = [
      { name: 'b', dtype: 'str', choices: ['x', 'y'], description: 'of what' },
      { name: 'c', description: 'what' },
    ] as const;
    expect(await extract(text, { structures: { a: { fields } } }, all)).toEqual(short);
    expect(await extract(text, { structures: { a: fields } }, all)).toEqual(short);
    expect(await extract(text, { relations: { saw: 'by eye' } }, all)).toEqual(
      await extract(text, { relations: { saw: { description: 'by eye' } } }, all),
    );
    // A relation with a description has its own name; in Python both.
    expect(Object.keys((await extract(text, { relations: { saw: 'by eye' } }))['relation_extraction'])).toEqual(['saw']);
    const named = await extract(text, JSON.parse('{"structures": {"__proto__": ["a"]}, "entities": ["__proto__"]}'));
    expect(Object.keys(named)).toEqual(['__proto__', 'entities']);
    await extract.dispose();
  });

  it('refuses what it cannot read', async () => {
    const extract = await load('bert');
    const call = extract as (...args: any[]) => Promise<unknown>;
    const refused = (schema: unknown, message: RegExp) => expectError(call('a', schema), 'InputError', message);
    await refused(undefined, /information-extraction: schema: expected an object, found undefined/);
    await refused([], /schema: expected an object, found an array/);
    await refused({}, /schema: expected at least one of entities, structures, relations, classifications, found none/);
    await refused({ entites: ['a'] }, /unknown option 'entites'; did you mean 'entities'\?/);
    await refused({ entities: [] }, /entities: expected at least one name/);
    await refused({ entities: ['a', 'a'] }, /entities: expected different names, found 'a twice'/);
    await refused({ entities: { a: { dtype: 'int' } } }, /entities: a: option 'dtype': expected one of 'str', 'list', found 'int'/);
    await refused({ entities: 7 }, /entities: expected a list of names or an object, found 7/);
    await refused({ entities: ['a [E] b'] }, /labels: expected texts with at least one token and without '\[E\]'/);
    await refused({ structures: [] }, /structures: expected an object, found an array/);
    await refused({ structures: { a: 'b' } }, /structures: a: expected a list of fields, found 'b'/);
    await refused({ structures: { a: [] } }, /structures: a: expected at least one name/);
    await refused({ structures: { a: [7] } }, /structures: a: expected fields as 'name' or \{ name \}, found 7/);
    await refused({ structures: { a: [{ dtype: 'str' }] } }, /structures: a: expected names that are not empty, found undefined/);
    await refused({ structures: { a: { fields: ['b'], mode: 'natural' } } }, /structures: a: unknown option 'mode'/);
    await refused({ structures: { a: ['b::[x|]'] } }, /structures: a: b: expected choices that are not empty/);
    await refused({ structures: { entities: ['b'] } }, /structures: expected other names than entities, relation_extraction/);
    await refused({ relations: { a: { dtype: 'str' } } }, /relations: a: unknown option 'dtype'/);
    await refused({ classifications: {} }, /classifications: expected a list of tasks/);
    await refused({ classifications: [{ labels: ['a'] }] }, /classifications: task: expected names that are not empty/);
    await refused({ classifications: [{ task: 'a', labels: [] }] }, /classifications: a: labels: expected at least one name/);
    await refused(
      { classifications: [{ task: 'a', labels: ['b'], examples: ['c'] }] },
      /examples: expected a list of \[text, label\]/,
    );
    await refused(
      { structures: { a: ['b'] }, classifications: [{ task: 'a', labels: ['b', 'c'] }] },
      /structures and classifications: expected different names/,
    );
    await expectError(
      call('a', { entities: ['b'] }, { threshold: 2 }),
      'InputError',
      /option 'threshold': expected a number from 0 to 1/,
    );
    await expectError(call(7, { entities: ['b'] }), 'InputError', /: information-extraction: /);
    await extract.dispose();
    await expectError(
      pipeline('information-extraction', join(goldens, 'spans/bert')),
      'UnsupportedError',
      /information-extraction: expected a GLiNER2 model, found one of GLiNER, which finds entities with zero-shot-ner/,
    );
  });
});
