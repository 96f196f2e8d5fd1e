// The package wattn-multi: the file matches the card, it is found by name, and it has its prompts.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FeatureExtractionPipeline, pipeline } from 'wattn';
import { withPackage } from './package_support.js';
import { root } from './support.js';

const folder = join(root, 'models/multi');
const file = join(folder, 'wattn-multi.gguf');
const report = JSON.parse(readFileSync(join(folder, 'wattn-multi.json'), 'utf8'));
const scores = JSON.parse(readFileSync(join(folder, 'scores.json'), 'utf8'));
const xquad = join(root, '../shared/data/qa/xquad/xquad.de.json');
const withData = existsSync(xquad) ? it : it.skip;
const why = existsSync(xquad) ? '' : ` (skipped: no ${xquad})`;

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);
const rowsOf = ({ data }: { data: Float32Array }) =>
  Array.from({ length: data.length / 384 }, (_, i) => data.slice(384 * i, 384 * i + 384));

describe('wattn-multi', () => {
  let embed: FeatureExtractionPipeline;
  beforeAll(async () => {
    embed = await pipeline('feature-extraction', file);
  });
  afterAll(() => embed.dispose());

  it('is the file that its card speaks of, within 20 MB', () => {
    const bytes = readFileSync(file);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(report.sha256);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(report.sha256);
    expect(bytes.length).toBeLessThanOrEqual(20_000_000);
  });

  it("gives PyTorch's vectors", async () => {
    const exact = await pipeline('feature-extraction', file, { dtype: 'f32' });
    const rows = rowsOf(await exact(report.vectors.texts, { prompt: 'query: ' }));
    // Components to six digits in the report. The file has positions in q8_0, PyTorch read the same numbers; sums in two orders differ by some 1e-6.
    report.vectors.first_8.forEach((expected: number[], i: number) =>
      expected.forEach((value, k) => expect(Math.abs((rows[i]?.[k] as number) - value)).toBeLessThan(5e-6)),
    );
    await exact.dispose();
  });

  it('has the prompts of its source, and compares with the one for queries', async () => {
    const text = 'Die Bäckerei öffnet um sechs.';
    const said = async (prompt: string) => rowsOf(await embed(text, { prompt }))[0];
    expect(rowsOf(await embed.encode_query(text))[0]).toEqual(await said('query: '));
    expect(rowsOf(await embed.encode_document(text))[0]).toEqual(await said('passage: '));
    expect(rowsOf(await embed(text))[0]).toEqual(await said('query: '));
    expect(await said('passage: ')).not.toEqual(await said('query: '));
  });

  it('finds a sentence in other languages', async () => {
    const bread = [
      'The bakery opens at six.', 'Die Bäckerei öffnet um sechs Uhr.', 'La boulangerie ouvre à six heures.', 'La panadería abre a las seis.',
      'Il panificio apre alle sei.', 'A padaria abre às seis.', 'De bakkerij gaat om zes uur open.', 'Piekarnia otwiera się o szóstej.',
      'Пекарня открывается в шесть часов.', 'Fırın saat altıda açılıyor.', 'يفتح المخبز في الساعة السادسة.', '面包店六点开门。', 'パン屋は六時に開きます。',
      '빵집은 여섯 시에 문을 엽니다.', 'बेकरी छह बजे खुलती है।',
    ]; // prettier-ignore
    const trains = [
      'Trains leave every hour.', 'Züge fahren jede Stunde ab.', 'Les trains partent toutes les heures.', 'Los trenes salen cada hora.',
      'I treni partono ogni ora.', 'Os trens partem a cada hora.', 'Treinen vertrekken elk uur.', 'Pociągi odjeżdżają co godzinę.',
      'Поезда отправляются каждый час.', 'Trenler her saat kalkıyor.', 'تغادر القطارات كل ساعة.', '火车每小时开一班。', '電車は一時間ごとに出ます。',
      '기차는 매시간 출발합니다.', 'रेलगाड़ियाँ हर घंटे चलती हैं।',
    ]; // prettier-ignore
    const { unknown } = await embed([...bread, ...trains]);
    expect(unknown).toEqual(new Array(30).fill(0));
    const [a, b] = [rowsOf(await embed(bread)), rowsOf(await embed(trains))] as [Float32Array[], Float32Array[]];
    const wrong = bread.filter((_, i) => dot(a[i]!, a[0]!) <= dot(a[i]!, b[0]!) || dot(b[i]!, b[0]!) <= dot(b[i]!, a[0]!));
    // By chance three of four were wrong. One is: the Russian word for a bakery falls into rare pieces.
    expect(wrong.length).toBeLessThanOrEqual(1);
  });

  it('is found by its name where it is installed, and by its URL, in q8', () => {
    const body = `
      const embed = await pipeline('feature-extraction', model);
      return { dtype: embed.info().dtype, vector: [...(await embed(${JSON.stringify(report.vectors.texts[0])})).data].slice(0, 4) };`;
    const [byName, byUrl] = withPackage('wattn-multi', 'pipeline', body);
    expect(byName).toEqual(byUrl);
    expect(byName.dtype).toBe('q8');
    byName.vector.forEach((x: number, k: number) => expect(Math.abs(x - report.vectors.first_8[0][k])).toBeLessThan(0.02));
  });

  withData(`finds paragraphs in German as its card says${why}`, async () => {
    const { data } = JSON.parse(readFileSync(xquad, 'utf8'));
    const paragraphs = data.flatMap(({ paragraphs: own }: any) => own).slice(0, 20);
    const rows = rowsOf(await embed.encode_document(paragraphs.map(({ context }: any) => context)));
    const asked = paragraphs.map(({ qas }: any) => qas[0].question);
    const queries = rowsOf(await embed.encode_query(asked));
    const first = queries.filter((query, i) => rows.every((row, k) => k === i || dot(query, row) < dot(query, rows[i]!)));
    // Among 20 paragraphs instead of 240, the right one is first at least as often as the score says, less two standard deviations.
    const share = scores['wattn-multi']['XQuAD de, nDCG@10'];
    expect(first.length / 20).toBeGreaterThan(share - 2 * Math.sqrt((share * (1 - share)) / 20));
  });
});
