// device: 'webgpu' without a usable GPU. tests/gpu has the tests on a GPU.
import { AutoModel, env, pipeline, type FeatureExtractionPipeline } from 'wattn';
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
