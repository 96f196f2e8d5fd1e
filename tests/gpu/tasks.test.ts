// Tasks with device: 'webgpu' against the processor: a GPU runs the layers, the processor the head.
import { join } from 'node:path';
import { env, pipeline, type ModelInfo } from 'wattn';
import { failure, filesOf, goldens, headFiles, mixedTexts, type Files } from '../web/support.js';
import { faulty, findGpu, withLetters, type Faults } from './gpu_support.js';

const gpu = await findGpu();
const onGpu = (name: string, run: (gpu: GPU) => Promise<void>) => (gpu ? test : test.skip)(name, () => run(gpu!));
afterEach(() => {
  env.gpu = undefined;
});

type Pipe = ((...args: any[]) => Promise<any>) & Record<string, any> & { info(): ModelInfo; dispose(): Promise<void> };
const load = async (task: string, files: unknown, options: object = {}) =>
  (await pipeline(task as 'text-classification', files as Files, { device: 'webgpu', ...options })) as unknown as Pipe;

/** Texts of one token to several blocks of queries, more than one tile together. */
const texts = [...mixedTexts(9), 'boat', 'the old boat on the river '.repeat(4)];

interface Case {
  task: string;
  files: () => unknown;
  /** One answer for each text, or for each of several. */
  calls: ((pipe: Pipe, texts: string[]) => Promise<any[]>)[];
}
const plain: Case['calls'] = [(pipe, some) => pipe(some)];
const cases: Record<string, Case> = {
  classification: {
    task: 'text-classification',
    files: () => headFiles('sequence'),
    calls: [(pipe, some) => pipe(some, { top_k: null })],
  },
  'labels beside the text': {
    task: 'zero-shot-classification',
    files: () => filesOf(join(goldens, 'labels/bert')),
    calls: [(pipe, some) => pipe(some, ['boat', 'a bridge', 'news'], { multi_label: true })],
  },
  'token classification': { task: 'token-classification', files: () => headFiles('token'), calls: plain },
  'a masked word': {
    task: 'fill-mask',
    files: () => headFiles('masked_lm'),
    calls: [(pipe, some) => pipe(some.map((text) => `${text.slice(0, 20)} [MASK]`))],
  },
  'answers to questions': {
    task: 'question-answering',
    files: () => headFiles('answer'),
    calls: [(pipe, some) => Promise.all(some.map((context) => pipe({ question: 'where', context: `${context} river` })))],
  },
  reranking: {
    task: 'text-ranking',
    files: () => headFiles('ranker'),
    calls: [async (pipe, some) => (await pipe('a boat', some)).sort((a: any, b: any) => a.corpus_id - b.corpus_id)],
  },
  'sparse vectors': {
    task: 'sparse-encoding',
    files: () => filesOf(join(goldens, 'sparse/splade')),
    calls: [(pipe, some) => pipe.encode_document(some)],
  },
  'late interaction': {
    task: 'late-interaction',
    files: () => filesOf(join(goldens, 'late-interaction/bert')),
    calls: [(pipe, some) => pipe.encode_document(some), (pipe, some) => pipe.encode_query(some)],
  },
  'three kinds of vectors': {
    task: 'late-interaction',
    files: () => filesOf(join(goldens, 'm3')),
    calls: [(pipe, some) => pipe.encode_document(some)],
  },
};

/** Numbers of a and b that differ by more than bound, as paths. */
function differences(a: any, b: any, bound: number, path = ''): string[] {
  if (typeof b === 'number' && typeof a === 'number') return Math.abs(a - b) <= bound ? [] : [`${path}: ${a}, ${b}`];
  if (ArrayBuffer.isView(b)) return differences([...(a as any)], [...(b as any)], bound, path);
  if (typeof b !== 'object' || b === null) return a === b ? [] : [`${path}: ${a}, ${b}`];
  const keys = Object.keys(b);
  if (Object.keys(a).length !== keys.length) return [`${path}: ${Object.keys(a).length} members, ${keys.length}`];
  return keys.flatMap((key) => differences(a[key], b[key], bound, `${path}.${key}`));
}
const bits = (value: unknown) =>
  JSON.stringify(value, (_, each) => (ArrayBuffer.isView(each) ? [...(each as unknown as number[])] : each));

describe.each(Object.entries(cases))('%s', (_, { task, files, calls }) => {
  onGpu("has the processor's answers, and the same bits alone and in a batch", async (own) => {
    let submits = 0;
    env.gpu = faulty(own, { onSubmit: () => void ++submits });
    const [there, here] = [await load(task, files()), await load(task, files(), { device: 'wasm' })];
    const { device, device_reason, gpu: facts } = there.info();
    expect([device, device_reason]).toEqual(['webgpu', undefined]);
    // A number of a head is a sum of products of a state with weights, of some 32 numbers of about 1.
    const bound = 32 * facts!.bound;
    for (const call of calls) {
      const before = submits;
      const all = await call(there, texts);
      const isHere = task === 'late-interaction' && call === calls[1]; // queries that attend to no expansion
      expect(submits > before).toBe(!isHere);
      expect(all.length).toBe(texts.length);
      expect(differences(all, await call(here, texts), bound)).toEqual([]);
      for (const [i, text] of texts.entries()) expect(bits((await call(there, [text]))[0])).toBe(bits(alone(all[i])));
    }
    expect(there.info().device).toBe('webgpu');
    await there.dispose();
    await here.dispose();
  });
});
/** A ranked document's place in the list that it was in is another one alone. */
const alone = (answer: any) => (typeof answer === 'object' && 'corpus_id' in answer ? { ...answer, corpus_id: 0 } : answer);

onGpu('a device that is lost in a call, numbers that are not finite, and signals', async (own) => {
  let lose = false;
  let poison = false;
  const faults: Faults = {
    onSubmit(_, device) {
      if (lose) device.destroy();
      lose = false;
    },
    onRead(values) {
      if (poison) values[5] = NaN;
      poison = false;
    },
  };
  env.gpu = faulty(own, faults);
  const classify = await load('text-classification', headFiles('sequence'));
  const here = await load('text-classification', headFiles('sequence'), { device: 'wasm' });
  const right = await classify(texts);
  lose = true;
  expect(await classify(texts)).toEqual(right);
  expect(classify.info()).toMatchObject({ device: 'webgpu', gpu: { recovered: 1 } });
  poison = true;
  expect(differences(await classify(texts), right, 1e-4)).toEqual([]);
  expect(classify.info().gpu).toMatchObject({ recomputed: 1 });
  const controller = new AbortController();
  controller.abort();
  expect(await failure(classify(texts, { signal: controller.signal }))).toMatchObject({ name: 'AbortError' });
  faults.onSubmit = (_, device) => device.destroy();
  expect(await classify(texts)).toEqual(await here(texts));
  expect(classify.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/lost/) });
  await classify.dispose();
  await here.dispose();
});

onGpu("what no GPU runs is the processor's", async (own) => {
  env.gpu = own;
  for (const device of ['webgpu', 'auto'] as const) {
    const pipe = await load('text-classification', headFiles('sequence'), { dtype: 'q16', device });
    expect(pipe.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/'q16'/) });
    await pipe.dispose();
  }
});

onGpu("adapters of a model for its tasks are the processor's", async (own) => {
  env.gpu = own;
  const files = () => withLetters(join(goldens, 'hub_layouts/jina-v3-tasks'));
  const [there, here] = [await load('feature-extraction', files()), await load('feature-extraction', files(), { device: 'wasm' })];
  const { tasks } = here.info() as ModelInfo & { tasks: string[] };
  expect(tasks.length).toBeGreaterThan(0);
  for (const adapter of tasks) {
    const options = { adapter, pooling: 'mean' };
    expect((await there(['boat'], options)).tolist()).toEqual((await here(['boat'], options)).tolist());
  }
  await there.dispose();
  await here.dispose();
});
