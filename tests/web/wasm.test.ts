import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, pipeline } from 'wattn';
import { expectError, mixedTexts, root, serveHub, tiny, type Hub } from './support.js';

const simd = new Uint8Array(readFileSync(join(root, 'dist/wattn-simd.wasm')));
const hubs: Hub[] = [];

async function kindOf(): Promise<string> {
  const embed = await pipeline('feature-extraction', tiny);
  expect((await embed('the')).dims).toEqual([1, 32]);
  await embed.dispose();
  return embed.info().wasm;
}

async function serve(special: Parameters<typeof serveHub>[2] = {}): Promise<Hub> {
  const hub = await serveHub(new Map([['wattn.wasm', simd]]), '/', special);
  hubs.push(hub);
  return hub;
}

const withType =
  (type: string, body: Uint8Array | string, status = 200) =>
  (_: unknown, response: any) =>
    response.writeHead(status, { 'content-type': type }).end(body);

afterEach(async () => {
  env.wasm = {};
  await Promise.all(hubs.splice(0).map((hub) => hub.close()));
});

describe('the WebAssembly', () => {
  it('is the file beside the script that this engine can run best', async () => {
    const relaxed = WebAssembly.validate(
      // prettier-ignore
      new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0,
        65, 0, 253, 15, 65, 0, 253, 15, 65, 0, 253, 15, 253, 147, 2, 11]),
    );
    expect(await kindOf()).toBe(relaxed ? 'relaxed' : 'simd');
    const generate = await pipeline('text-generation', join(root, 'tests/goldens/decoders/llama'));
    expect(generate.info().wasm).toBe(relaxed ? 'relaxed' : 'simd');
    await generate.dispose();
  });

  it('may be given as bytes, as a module, or by a URL', async () => {
    env.wasm = { binary: simd };
    expect(await kindOf()).toBe('given');
    env.wasm = { binary: simd.slice().buffer };
    expect(await kindOf()).toBe('given');
    env.wasm = { module: await WebAssembly.compile(simd) };
    expect(await kindOf()).toBe('given');
    const hub = await serve({ 'wattn.wasm': withType('application/wasm', simd) });
    env.wasm = { url: `${hub.url}/wattn.wasm` };
    expect(await kindOf()).toBe('given');
    expect(await kindOf()).toBe('given');
    expect(hub.requests).toEqual(['GET /wattn.wasm']);
    env.wasm = { url: new URL(`${hub.url}/wattn.wasm?plain`) };
    expect(await kindOf()).toBe('given');
    env.wasm = { url: join(root, 'dist/wattn-simd.wasm') };
    expect(await kindOf()).toBe('given');
  });

  it('is compiled from bytes when its type is not that of WebAssembly', async () => {
    const hub = await serve();
    env.wasm = { url: `${hub.url}/wattn.wasm` };
    expect(await kindOf()).toBe('given');
  });

  it('that is not there, is something else or is broken is named; later loads work', async () => {
    const hub = await serve({
      'html.wasm': withType('text/html', '<!doctype html>'),
      'page.wasm': withType('application/octet-stream', '<!doctype html>'),
      'cut.wasm': withType('application/wasm', simd.slice(0, 1000)),
      'bits.wasm': withType('application/octet-stream', simd.slice(0, 1000)),
    });
    const cases: [string, string, RegExp][] = [
      [
        '/gone.wasm',
        'NetworkError',
        /expected a WebAssembly file from http.*gone\.wasm, found status 404; put wattn's \.wasm files there/,
      ],
      ['/html.wasm', 'NetworkError', /html\.wasm, found HTML \(text\/html\)/],
      ['/page.wasm', 'NetworkError', /page\.wasm, found application\/octet-stream, 15 bytes beginning '<!doctype html>'/],
      ['/cut.wasm', 'UnsupportedError', /could not compile http.*cut\.wasm/],
      ['/bits.wasm', 'UnsupportedError', /could not compile http.*bits\.wasm/],
    ];
    for (const [path, name, message] of cases) {
      env.wasm = { url: hub.url + path };
      await expectError(kindOf(), name, message);
    }
    const known = await expectError(kindOf(), 'UnsupportedError');
    expect(known.cause).toBeDefined();
    env.wasm = { url: '/nowhere/x.wasm' };
    await expectError(kindOf(), 'NetworkError', /cannot read \/nowhere\/x\.wasm: ENOENT/);
    env.wasm = { binary: new Uint8Array(3) };
    await expectError(kindOf(), 'NetworkError', /env\.wasm\.binary, found 3 bytes/);
    env.wasm = { module: {} };
    await expectError(kindOf(), 'InputError', /expected a WebAssembly\.Module, found an object/);
    env.wasm = { url: 'http://[' };
    await expectError(kindOf(), 'InputError', /env\.wasm\.url: expected a URL/);
    env.wasm = {};
    expect(await kindOf()).not.toBe('given');
  });

  it('of another build is refused, naming both', async () => {
    const id = /BUILD_ID "(\w+)"/.exec(readFileSync(join(root, 'build/wasm-simd/build_id.h'), 'utf8'))?.[1] as string;
    const at = Buffer.from(simd).indexOf(id);
    expect(at).toBeGreaterThan(0);
    const other = simd.slice();
    other.set(new TextEncoder().encode('0123456789abcdef'), at);
    env.wasm = { binary: other };
    await expectError(
      kindOf(),
      'StateError',
      new RegExp(`this script is from build ${id}, but env\\.wasm\\.binary is from build 0123456789abcdef`),
    );
    env.wasm = { binary: Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0) };
    await expectError(kindOf(), 'StateError', /is from another build/);
    env.wasm = {};
    expect(await kindOf()).not.toBe('given');
  });
});

describe('a model that breaks', () => {
  const { grow } = WebAssembly.Memory.prototype;
  const { slice } = Int32Array.prototype; // copies each array of an answer
  afterEach(() => {
    WebAssembly.Memory.prototype.grow = grow;
    Int32Array.prototype.slice = slice;
  });

  it('for want of memory ends with an OutOfMemoryError; others go on', async () => {
    const healthy = await pipeline('feature-extraction', tiny);
    WebAssembly.Memory.prototype.grow = () => {
      throw new RangeError('could not grow');
    };
    const embed = await pipeline('feature-extraction', tiny).catch((error) => error);
    if (typeof embed === 'function') await expectError(embed(mixedTexts(4000), { pooling: 'none' }), 'OutOfMemoryError');
    else expect(embed.name).toBe('OutOfMemoryError');
    WebAssembly.Memory.prototype.grow = grow;
    expect((await healthy('the')).dims).toEqual([1, 32]);
    await healthy.dispose();
    expect(await kindOf()).toBeTruthy();
  });

  it('inside says so from then on; others go on', async () => {
    const [embed, healthy] = await Promise.all([pipeline('feature-extraction', tiny), pipeline('feature-extraction', tiny)]);
    Int32Array.prototype.slice = () => {
      throw new Error('no slice');
    };
    await expectError(embed('the'), 'StateError', /this model failed inside WebAssembly: no slice/);
    Int32Array.prototype.slice = slice;
    const after = await expectError(embed('the'), 'StateError', /failed earlier and cannot continue; load it again/);
    expect(after.cause.message).toMatch(/no slice/);
    expect((await healthy('the')).dims).toEqual([1, 32]);
    await embed.dispose();
    await healthy.dispose();
  });
});
