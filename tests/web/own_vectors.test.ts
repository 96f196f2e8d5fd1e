// One model file gives the same embeddings however it is named, and a row of a batch can be stored and posted alone.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packModel, pipeline, Tensor } from 'wattn';
import { root } from './support.js';

const kText = 'The bakery opens at six.';
const kTiny = join(root, 'tests/goldens/bert-tiny/model');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattn-own-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function vectorOf(model: any, options: object = {}): Promise<{ dtype: string; data: number[] }> {
  const embed = await pipeline('feature-extraction', model, options as { threads: 1 });
  const data = [...(await embed(kText, { pooling: 'mean' })).data] as number[];
  const { dtype } = embed.info();
  await embed.dispose();
  return { dtype, data };
}

describe('one model file', () => {
  const file = join(root, 'dist/wattn-default.gguf');
  const elsewhere = () => join(folder, 'asset-3f2a.gguf');

  it('gives one set of vectors by name, path, URL and bytes, in a worker too', async () => {
    copyFileSync(file, elsewhere());
    const bytes = new Uint8Array(readFileSync(file));
    const expected = await vectorOf(undefined);
    expect(expected.dtype).toBe('q8');
    const url = pathToFileURL(elsewhere());
    for (const model of [file, elsewhere(), url, url.href, { 'm.gguf': bytes }, new Map([['m.gguf', bytes]])])
      for (const options of [{}, { worker: true }]) expect(await vectorOf(model, options)).toEqual(expected);
  });

  it('is run as the caller says', async () => {
    copyFileSync(file, elsewhere());
    const expected = await vectorOf(undefined, { dtype: 'f32' });
    expect(await vectorOf(elsewhere(), { dtype: 'f32' })).toEqual(expected);
    expect((await vectorOf(elsewhere(), { dtype: null })).dtype).toBe('q8');
  });

  it.each([
    ['native', 'q8'],
    ['q8', 'f32'],
    ['f32', 'f32'],
  ] as ['native' | 'q8' | 'f32', string][])('packed as %s is run as %s', async (dtype, expected) => {
    const path = join(folder, `${dtype}.gguf`);
    writeFileSync(path, await packModel(kTiny, { dtype }));
    expect((await vectorOf(path)).dtype).toBe(expected);
    expect((await vectorOf(path, { worker: true })).dtype).toBe(expected);
  });
});

describe('a row of a batch', () => {
  const sizeOf = (row: { data: ArrayBufferView }) => structuredClone(row.data).buffer.byteLength;

  it('is stored and posted without the batch', async () => {
    const embed = await pipeline('feature-extraction', kTiny);
    const vectors = await embed(
      Array.from({ length: 20 }, (_, i) => `text ${i}`),
      { pooling: 'mean' },
    );
    expect(sizeOf(vectors)).toBe(20 * 32 * 4);
    expect(sizeOf(vectors[3] as Tensor)).toBe(32 * 4);
    for (const row of vectors) expect(sizeOf(row)).toBe(32 * 4);
    for (const type of ['float32', 'int8', 'uint8', 'int32', 'int64', 'bool'] as const) {
      const tensor = new Tensor(type, Array(24).fill(type === 'int64' ? 1n : 1) as number[], [3, 2, 4]);
      expect([type, sizeOf(tensor[1] as Tensor), sizeOf((tensor[-1] as Tensor)[0] as Tensor)]).toEqual([
        type,
        sizeOf(tensor) / 3,
        sizeOf(tensor) / 6,
      ]);
    }
    await embed.dispose();
  });
});
