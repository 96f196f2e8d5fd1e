// zero-shot-ner against the packages gliner and gliner2 (tests/goldens/spans, schemas), and rejected arguments.
import { join } from 'node:path';
import { pipeline, type NerEntity } from 'wattn';
import { expectError, filesOf, goldens, readJson } from './support.js';

const folder = (name: string) => join(goldens, 'spans', name);
const { cases, texts, labels, options } = readJson('spans/cases.json') as {
  cases: string[];
  texts: string[];
  labels: string[][];
  options: Record<string, unknown>[];
};

/** The offset in UTF-16 units of one in code points. */
const utf16 = (text: string, codePoints: number) => [...text].slice(0, codePoints).join('').length;

const places = (entities: NerEntity[]) => entities.map(({ label, start, end }) => ({ label, start, end }));

describe('zero-shot-ner with GLiNER2', () => {
  const schemas = readJson('schemas/cases.json') as { cases: string[]; texts: string[]; labels: string[][]; options: object[] };
  const schemaFolder = (name: string) => join(goldens, 'schemas', name);

  it.each(schemas.cases)('finds the entities of the package: %s', async (name) => {
    const ner = await pipeline('zero-shot-ner', schemaFolder(name));
    const { f32_diff, calls } = readJson(`schemas/${name}/expected.json`);
    for (const [t, l, o, expected] of calls) {
      const text = schemas.texts[t]!;
      const own = schemas.labels[l]!;
      // Python's may have the full stop behind the text.
      const entities = expected
        .filter(([start]: number[]) => utf16(text, start!) < text.length)
        .map(([start, end, label, score]: number[]) => ({
          label: own[label!],
          start: utf16(text, start!),
          end: utf16(text, end!),
          score,
        }))
        .sort((a: NerEntity, b: NerEntity) => a.start - b.start || own.indexOf(a.label) - own.indexOf(b.label));
      const got = await ner(text, own, schemas.options[o]!);
      expect(places(got)).toEqual(entities.map(({ label, start, end }: NerEntity) => ({ label, start, end })));
      got.forEach(({ score, start, end, text: found }, i) => {
        expect(Math.abs(score - entities[i].score)).toBeLessThanOrEqual(4 * Math.max(f32_diff, 2 ** -23));
        expect(found).toBe(text.slice(start, end));
      });
    }
    await ner.dispose();
  });

  it('gives the same alone, in a batch, and in a worker, and chooses among labels if told to', async () => {
    const ner = await pipeline('zero-shot-ner', schemaFolder('bert'));
    const there = await pipeline('zero-shot-ner', schemaFolder('bert'), { worker: true });
    const own = ['person', 'place', 'boat'];
    const together = await ner(schemas.texts, own);
    expect(await there(schemas.texts, own)).toEqual(together);
    for (const [i, text] of schemas.texts.entries()) expect(await ner(text, own)).toEqual(together[i]);
    const overlap = (list: NerEntity[]) => list.some((a, i) => list.some((b, j) => i < j && a.start < b.end && b.start < a.end));
    expect(together.some(overlap)).toBe(true);
    expect((await ner(schemas.texts, own, { multi_label: false })).some(overlap)).toBe(false);
    await ner.dispose();
    await there.dispose();
  });

  it('loads from a list of files, in q8, and says which file is missing', async () => {
    const files = filesOf(schemaFolder('deberta'));
    const ner = await pipeline('zero-shot-ner', files, { dtype: 'q8' });
    expect(ner.info().head).toBe('spans');
    expect(await ner(schemas.texts[0]!, ['person'])).toBeInstanceOf(Array);
    await ner.dispose();
    const set = (changes: object) =>
      new Map(files).set(
        'config.json',
        new TextEncoder().encode(JSON.stringify({ ...readJson('schemas/deberta/config.json'), ...changes })),
      );
    await expectError(
      pipeline('zero-shot-ner', set({ counting_layer: 'count_lstm_moe' })),
      'UnsupportedError',
      /: config.json: counting_layer: expected one of "count_lstm", "count_lstm_v2", found "count_lstm_moe"/,
    );
    files.delete('encoder_config/config.json');
    await expectError(pipeline('zero-shot-ner', files), 'ModelFormatError', /encoder_config\/config.json: expected this file/);
    await expectError(
      pipeline('feature-extraction', schemaFolder('deberta')),
      'UnsupportedError',
      /models of GLiNER2 find entities with zero-shot-ner/,
    );
  });
});

describe('zero-shot-ner', () => {
  it.each(cases)('finds the entities of the package: %s', async (name) => {
    const ner = await pipeline('zero-shot-ner', folder(name));
    expect(ner.task).toBe('zero-shot-ner');
    expect(ner.info().head).toBe('spans');
    const { f32_diff, calls } = readJson(`spans/${name}/expected.json`);
    for (const [t, l, o, expected] of calls) {
      const text = texts[t] as string;
      const own = labels[l] as string[];
      const got = await ner(text, own, options[o]);
      const entities = expected.map(([start, end, label]: number[]) => ({
        label: own[label as number],
        start: utf16(text, start as number),
        end: utf16(text, end as number),
      }));
      expect(places(got)).toEqual(entities);
      got.forEach(({ score, start, end, text: found }, i) => {
        expect(Math.abs(score - expected[i][3])).toBeLessThanOrEqual(4 * Math.max(f32_diff, 2 ** -23));
        expect(found).toBe(text.slice(start, end));
      });
    }
    await ner.dispose();
  });

  it('gives the same alone, in a batch, and in a worker', async () => {
    const ner = await pipeline('zero-shot-ner', folder('deberta'));
    const there = await pipeline('zero-shot-ner', folder('deberta'), { worker: 2 });
    const own = ['person', 'place', 'person', 'boat'];
    const together = await ner(texts, own, { threshold: 0.3 });
    expect(await there(texts, own, { threshold: 0.3 })).toEqual(together);
    for (const [i, text] of texts.entries()) {
      const alone = await ner(text, 'person, place, boat', { threshold: 0.3 });
      expect(alone).toEqual(together[i]);
      expect(alone.truncated).toBe(false);
    }
    expect(together.map(({ windows }) => windows)).toEqual(texts.map((text) => (text.trim() === '' ? 0 : 1)));
    await ner.dispose();
    await there.dispose();
  });

  it('reads long texts in windows, with offsets of the whole text', async () => {
    const ner = await pipeline('zero-shot-ner', folder('deberta'));
    const long = `${'Ada saw \u{1f600} the old boat. '.repeat(100)}`;
    const got = await ner(long, ['person', 'place'], { threshold: 0.3 });
    expect(got.windows).toBeGreaterThan(5);
    expect(got.length).toBeGreaterThan(50);
    let end = 0;
    for (const entity of got) {
      expect(entity.text).toBe(long.slice(entity.start, entity.end));
      expect(entity.start).toBeGreaterThanOrEqual(end);
      end = entity.end;
    }
    const { truncated } = await ner(`a ${'o'.repeat(10000)}`, ['person']);
    expect(truncated).toBe(true);
    await ner.dispose();
  });

  it('runs in q8 and q16 beside', async () => {
    for (const dtype of ['q8', 'q16'] as const) {
      const ner = await pipeline('zero-shot-ner', folder('modernbert'), { dtype });
      const got = await ner(texts[0] as string, labels[1] as string[], { threshold: 0 });
      expect(got.length).toBeGreaterThan(0);
      await ner.dispose();
    }
  });

  it('refuses what it cannot read', async () => {
    const ner = await pipeline('zero-shot-ner', folder('deberta'));
    const call = ner as (...args: any[]) => Promise<unknown>;
    await expectError(call('a', []), 'InputError', /: zero-shot-ner: labels: expected at least one label/);
    await expectError(call('a', ' , '), 'InputError', /: zero-shot-ner: labels: expected at least one label/);
    await expectError(call('a', undefined), 'InputError', /: zero-shot-ner: labels: /);
    await expectError(call('a', ['']), 'InputError', /: labels: expected texts with at least one token/);
    await expectError(
      call('a', ['b<<ENT>>']),
      'InputError',
      /: labels: expected texts with at least one token and without '<<ENT>>'/,
    );
    const many = Array.from({ length: 4000 }, (_, i) => `label ${i}`);
    await expectError(call('a', many), 'InputError', /: labels: expected at most 224 tokens in all/);
    await expectError(
      call('a', ['b'], { threshold: 1.5 }),
      'InputError',
      /option 'threshold': expected a number from 0 to 1, found 1.5/,
    );
    await expectError(call('a', ['b'], { threshold: NaN }), 'InputError', /option 'threshold'/);
    await expectError(call(7, ['b']), 'InputError', /: zero-shot-ner: /);
    await expectError(call('a', ['b'], { max_length: 7 }), 'InputError', /unknown option 'max_length'/);
    expect(await call(['\ud800', '\udfff \ud83d'], ['\udc00x'])).toHaveLength(2);
    const controller = new AbortController();
    controller.abort();
    await expectError(call('a', ['b'], { signal: controller.signal }), 'AbortError');
    const stopping = new AbortController();
    const long = call('Ada saw the old boat. '.repeat(20000), ['person'], { signal: stopping.signal });
    setImmediate(() => stopping.abort());
    await expectError(long, 'AbortError');
    await ner.dispose();
  });

  it('says which file is missing or wrong', async () => {
    const without = filesOf(folder('deberta'));
    without.delete('gliner_config.json');
    await expectError(pipeline('zero-shot-ner', without), 'ModelFormatError', /: gliner_config.json: expected this file/);
    const broken = filesOf(folder('deberta'));
    broken.set('gliner_config.json', new TextEncoder().encode('[]'));
    await expectError(pipeline('zero-shot-ner', broken), 'ModelFormatError', /: gliner_config.json: /);
    await expectError(pipeline('ner', folder('deberta')), 'ModelFormatError', /: config.json: expected this file/);
  });

  it('says where Python finds the tokenizer and the encoder’s configuration of older models', async () => {
    const files = filesOf(folder('deberta'));
    const config = readJson('spans/deberta/gliner_config.json');
    const set = (changes: object) =>
      files.set('gliner_config.json', new TextEncoder().encode(JSON.stringify({ ...config, model_name: 'org/base', ...changes })));
    const refused = (message: RegExp) => expectError(pipeline('zero-shot-ner', files), 'ModelFormatError', message);
    const put = "gliner takes that of 'org/base' \\(model_name of gliner_config.json\\): put its config.json, .* into the model$";
    set({ encoder_config: null });
    await refused(new RegExp(`config.json: expected the encoder's configuration in the model '5 files', found none: ${put}`));
    set({});
    for (const name of ['tokenizer.json', 'tokenizer_config.json']) files.delete(name);
    await refused(new RegExp(`tokenizer.json: expected a tokenizer in the model '3 files', found none: ${put}`));
    set({ model_name: null });
    await refused(
      /gliner_config.json: model_name: expected the id of the encoder's repository \('org\/name'\), found null; tokenizer.json/,
    );
  });

  it('takes the encoder’s configuration from config.json too', async () => {
    const files = filesOf(folder('deberta'));
    const config = readJson('spans/deberta/gliner_config.json');
    files.set('config.json', new TextEncoder().encode(JSON.stringify(config.encoder_config)));
    files.set('gliner_config.json', new TextEncoder().encode(JSON.stringify({ ...config, encoder_config: null })));
    const ner = await pipeline('zero-shot-ner', files);
    const whole = await pipeline('zero-shot-ner', folder('deberta'));
    expect(await ner(texts, ['person'])).toEqual(await whole(texts, ['person']));
    await ner.dispose();
    await whole.dispose();
  });
});
