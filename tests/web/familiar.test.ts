// Compatibility with transformers.js programs: options, settings and events under its names, and results that are compared and logged.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModel, AutoTokenizer, env, LogLevel, pipeline, type ProgressInfo } from 'wattn';
import { failure, root, tinyFiles } from './support.js';

const settings = { ...env };
let warned: string[] = [];
const { warn } = console;
beforeEach(() => {
  warned = [];
  console.warn = (text) => void warned.push(text);
});
afterEach(() => {
  console.warn = warn;
  Object.assign(env, settings, { backends: { onnx: { wasm: {} } } });
});

describe('options for loading', () => {
  const loaded = async (options: object) => {
    const embed = await pipeline('feature-extraction', tinyFiles(), options);
    return embed.info();
  };

  it('take data types as the nearest, and say so', async () => {
    expect(await loaded({ dtype: 'fp16' })).toMatchObject({ dtype: 'f16', dtype_asked: 'fp16' });
    expect(await loaded({ dtype: { model: 'q4f16', encoder_model: 'int8' } })).toMatchObject({ dtype: 'q8' });
    expect(await loaded({ quantized: true })).toMatchObject({ dtype: 'q8', dtype_asked: 'quantized' });
    for (const options of [{ quantized: false }, { dtype: 'auto' }, { dtype: 'fp32' }]) {
      expect(await loaded(options)).toMatchObject({ dtype: 'f32' });
    }
    expect((await loaded({ dtype: 'q8' })).dtype_asked).toBeUndefined();
    const error = await failure(loaded({ dtype: 'f8' }));
    expect([error.name, error.message]).toEqual(['InputError', expect.stringContaining("found 'f8'")]);
  });

  it('run on the CPU whatever the device, which is said once', async () => {
    for (const device of ['wasm', 'cpu', 'auto', null]) await loaded({ device });
    expect(warned).toEqual([]);
    for (let i = 0; i < 2; ++i) await loaded({ device: 'cuda', session_options: { logSeverityLevel: 3 } });
    expect(warned).toEqual([
      'wattn: pipeline: no effect here: session_options',
      "wattn: pipeline: device 'cuda': wattn runs on the CPU, in WebAssembly",
    ]);
  });

  it('name the weights, and replace config.json', async () => {
    const { 'model.safetensors': weights, 'config.json': config, ...files } = Object.fromEntries(tinyFiles());
    const given = JSON.parse(new TextDecoder().decode(config as Uint8Array));
    const moved = { ...files, 'weights/encoder.safetensors': weights!, 'config.json': new TextEncoder().encode('{}') };
    const options = { subfolder: 'weights', model_file_name: 'encoder', config: given };
    const embed = await pipeline('feature-extraction', moved, options);
    const plain = await pipeline('feature-extraction', tinyFiles(), { subfolder: 'onnx', model_file_name: 'model', config: null });
    expect(await embed('a text')).toEqual(await plain('a text'));
  });

  it('stay refused if neither library has them', async () => {
    const error = await failure(loaded({ dtype: 'fp16', devise: 'wasm' }));
    expect([error.name, error.message]).toEqual(['InputError', expect.stringContaining("unknown option 'devise'")]);
  });
});

describe('env', () => {
  it('has the differences that are choices as transformers.js has them', async () => {
    const embed = await pipeline('feature-extraction', tinyFiles());
    const tokenizer = await AutoTokenizer.from_pretrained(tinyFiles());
    const own = await embed('a text');
    expect([own.dims.length, tokenizer('a text').input_ids.type]).toEqual([2, 'int32']);
    env.compat = true;
    const tokens = await embed('a text');
    const { input_ids, attention_mask } = tokenizer('a text');
    expect(tokens.dims).toEqual([1, input_ids.dims[1], own.dims[1]]);
    expect([input_ids.type, attention_mask!.type, typeof input_ids.tolist()[0][0]]).toEqual(['int64', 'int64', 'bigint']);
    expect((await embed('a text', { pooling: 'mean', normalize: true })).dims).toEqual(own.dims);
    const model = await AutoModel.from_pretrained(tinyFiles());
    expect((await model(tokenizer('a text'))).last_hidden_state.dims).toEqual(tokens.dims);
  });

  it('says its version, and warns of nothing above WARNING', async () => {
    expect(env.version).toBe(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
    env.logLevel = LogLevel.ERROR;
    const embed = await pipeline('embeddings', tinyFiles(), { session_options: { logSeverityLevel: 1 } });
    env.logLevel = LogLevel.WARNING;
    expect([embed.task, warned]).toEqual(['feature-extraction', []]);
  });

  it('finds hub ids in a folder of models', async () => {
    env.allowRemoteModels = false;
    env.localModelPath = './no/such/folder';
    expect((await failure(pipeline('feature-extraction', 'org/name'))).message).toMatch(/no.such.folder.org.name/);
    env.allowLocalModels = false;
    expect((await failure(pipeline('feature-extraction', 'org/name'))).message).not.toContain('folder');
  });

  it('takes threads and workers from backends', async () => {
    env.backends.onnx.wasm.numThreads = 1;
    env.backends.onnx.wasm.proxy = true;
    const embed = await pipeline('feature-extraction', tinyFiles());
    expect(embed.info()).toMatchObject({ threads: 1, workers: 1 });
    await embed.dispose();
  });

  it('asks a cache of the caller first', async () => {
    const kept = new Map<string, Response>();
    const files = Object.fromEntries(tinyFiles());
    let fetched = 0;
    env.fetch = async (url) => {
      ++fetched;
      const bytes = files[new URL(url).pathname.slice(3)];
      return bytes ? new Response(bytes as never) : new Response('', { status: 404 });
    };
    env.useCustomCache = true;
    env.customCache = { match: async (url) => kept.get(url)?.clone(), put: async (url, response) => void kept.set(url, response) };
    const load = async () => void (await (await AutoTokenizer.from_pretrained('http://models.test/m/')).dispose());
    await load();
    const before = fetched;
    await load();
    expect([...kept.keys()]).toContain('http://models.test/m/tokenizer.json');
    expect(fetched - before).toBeLessThan(before);
  });
});

it('progress has the events and fields that programs read', async () => {
  const events: ProgressInfo[] = [];
  const progress_callback = (info: ProgressInfo) => void events.push(info);
  const embed = await pipeline('feature-extraction', tinyFiles(), { progress_callback });
  const of = (status: string) => events.filter((event) => event.status === status) as any[];
  expect(of('download').map(({ file }) => file)).toEqual(of('initiate').map(({ file }) => file));
  const last = of('progress_total').at(-1);
  expect(last).toMatchObject({ progress: 100, loaded: last.total, name: of('ready')[0].name });
  for (const { file } of of('done')) expect(last.files[file].loaded).toBe(last.files[file].total);
  const sum = Object.values(last.files as Record<string, { loaded: number }>).reduce((all, { loaded }) => all + loaded, 0);
  expect(sum).toBe(last.loaded);
  expect(events.at(-1)).toMatchObject({ status: 'ready', task: embed.task, model: of('initiate')[0].name });
});

it('results show themselves alone, and have their facts', async () => {
  const embed = await pipeline('feature-extraction', tinyFiles());
  const vectors = await embed(['a text'], { quantize: false });
  expect(Object.keys(vectors).sort()).toEqual(['data', 'dims', 'type']);
  expect([vectors.truncated, Array.from(vectors.tokens).length]).toEqual([[false], 1]);
  expect((await embed(['a text'], { quantize: true, precision: 'ubinary' })).type).toBe('uint8');
});
