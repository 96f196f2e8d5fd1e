// device: 'webgpu' without a usable GPU. tests/gpu has the tests on a GPU.
import { AutoModel, env, pipeline, type FeatureExtractionPipeline } from 'wattn';
import { blocksOf, placesOf, positionsOf, sequencesOf, windowsOf } from '../../web/gpu/batch.js';
import { kQueries } from '../../web/gpu/shaders/attention.js';
import { headFiles, tiny } from './support.js';

const load = (options: object = {}) =>
  pipeline('feature-extraction', tiny, { device: 'webgpu', ...options }) as Promise<FeatureExtractionPipeline>;
afterEach(() => {
  env.gpu = undefined;
});

async function expectProcessor(pipe: FeatureExtractionPipeline, reason: RegExp) {
  const info = pipe.info();
  expect(info.device).toBe('wasm');
  expect(info.device_reason).toMatch(reason);
  const here = await load({ device: 'wasm' });
  const texts = ['boat', 'the old boat on the river'];
  expect((await pipe(texts)).tolist()).toEqual((await here(texts)).tolist());
  expect(here.info().device).toBe(undefined);
  await pipe.dispose();
  await here.dispose();
}

test('no WebGPU, no adapter, and adapters that fail', async () => {
  if (!globalThis.navigator?.gpu) await expectProcessor(await load(), /no WebGPU/);
  env.gpu = { requestAdapter: async () => null };
  await expectProcessor(await load(), /no adapter/);
  env.gpu = {
    requestAdapter: async () => {
      throw new Error('blocked');
    },
  };
  await expectProcessor(await load({ device: 'auto' }), /blocked/);
});

test('tasks without an adapter, and models that no GPU runs', async () => {
  env.gpu = { requestAdapter: async () => null };
  const classify = await pipeline('text-classification', headFiles('sequence'), { device: 'webgpu' });
  const here = await pipeline('text-classification', headFiles('sequence'));
  expect(classify.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/no adapter/) });
  const texts = ['boat', 'the old boat on the river'];
  expect(await classify(texts)).toEqual(await here(texts));
  await classify.dispose();
  await here.dispose();
  await expectProcessor(await load({ device: 'auto' }), /no adapter/);
  for (const device of ['webgpu', 'auto']) {
    const q16 = await load({ dtype: 'q16', device });
    expect(q16.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/'q16'/) });
    await q16.dispose();
    const model = await AutoModel.from_pretrained(tiny, { device });
    expect(model.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/no adapter/) });
    expect((await model({ input_ids: [[5, 6]] })).last_hidden_state.dims).toEqual([1, 2, 32]);
    await model.dispose();
  }
});

test('where the tokens of a batch are', () => {
  const answer = {
    ids: Int32Array.of(4, 5, 6, 7, 8),
    type_ids: Int32Array.of(0, 0, 1, 0, 1),
    starts: Int32Array.of(0, 2, 3, 5),
    skip: Int32Array.of(1, 2, 3),
  };
  expect(windowsOf(answer as never, 1, 3)).toEqual({
    ids: Int32Array.of(6, 7, 8),
    typeIds: Int32Array.of(1, 0, 1),
    starts: Int32Array.of(0, 1, 3),
    skip: Int32Array.of(2, 3),
  });
  const pieces = sequencesOf([
    { slot: 2, position: 10, ids: [9, 9, 9] },
    { slot: 0, position: 0, ids: [] },
    { slot: 1, position: 4, ids: [8, 8] },
  ]);
  expect([...pieces.starts]).toEqual([0, 3, 3, 5]);
  expect([...positionsOf(pieces)]).toEqual([10, 11, 12, 4, 5]);
  expect([...placesOf(pieces, 100)]).toEqual([200, 10, 200, 11, 200, 12, 100, 4, 100, 5]);
  // As RoBERTa counts: from the padding's id on, padding apart.
  const { slots, ...padded } = sequencesOf([{ slot: 0, position: 0, ids: [7, 1, 8, 9] }]);
  expect([...positionsOf(padded, 1)]).toEqual([2, 1, 3, 4]);
  expect([...positionsOf(padded)]).toEqual([0, 1, 2, 3]);
  // Three blocks of queries for the first sequence, one for the second: begin, end, first query, 0, first key, position, 0, 0.
  const long = sequencesOf([
    { slot: 3, position: 7, ids: new Int32Array(2 * kQueries + 1) },
    { slot: 1, position: 0, ids: [1] },
  ]);
  const end = 2 * kQueries + 1;
  expect([...blocksOf(long, 50)]).toEqual(
    [
      [0, end, 0, 0, 150, 7, 0, 0],
      [0, end, kQueries, 0, 150, 7, 0, 0],
      [0, end, 2 * kQueries, 0, 150, 7, 0, 0],
      [end, end + 1, end, 0, 50, 0, 0, 0],
    ].flat(),
  );
});
