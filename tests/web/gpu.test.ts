// device: 'webgpu' where there is no GPU to use. tests/gpu has the tests on one.
import { env, pipeline, type FeatureExtractionPipeline } from 'wattn';
import { tiny } from './support.js';

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
