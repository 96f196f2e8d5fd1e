import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as wattn from 'wattn';
import { describe as describeValue, kSeamErrors, seamError } from '../../web/core/errors.js';
import { failure, root, tinyFiles } from './support.js';

describe('the errors', () => {
  const list = readFileSync(join(root, 'src/core/error_codes.def'), 'utf8');
  const names = [...list.matchAll(/^WATTN_ERROR\(\w+, "(\w+)"\)/gm)].map((match) => match[1]);

  it('are those of error_codes.def, in its order', () => {
    expect(names.length).toBeGreaterThan(0);
    expect(kSeamErrors.map((SeamError) => SeamError.prototype.name)).toEqual(names);
  });

  it('come out of their numbers', () => {
    names.forEach((name, i) => expect(seamError(i + 1, 'what')).toMatchObject({ name, message: 'what' }));
    expect(seamError(99, 'what').message).toBe('unknown error code 99: what');
  });

  it('are exported, keep their name and have a code', () => {
    for (const name of [...names, 'AbortError']) {
      const error = new (wattn as any)[name as string]('what', { cause: 3 });
      expect(error).toBeInstanceOf(wattn.WattnError);
      expect(error).toBeInstanceOf(Error);
      expect([error.name, error.constructor.name]).toEqual([name, name]);
      expect(error.code).toMatch(/^[a-z_]+$/);
      expect(error.cause).toBe(3);
      expect(error.stack).toContain(`${name}: what`);
    }
    const error = new wattn.NetworkError('what', 'u', 404);
    expect([error.name, error.code, error.url, error.status]).toEqual(['NetworkError', 'network', 'u', 404]);
  });

  it('show a line that can be read where nobody catches them', () => {
    const script = `import { Tensor } from ${JSON.stringify(join(root, 'dist/node.js'))}; new Tensor('float32', [1], [2]);`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(stderr).toContain('InputError: Tensor: expected 2 numbers for dims [2], found 1');
    expect(Math.max(...stderr.split('\n').map((line) => line.length))).toBeLessThan(300);
  });

  it('cut a message that a file made very long, whatever made it', async () => {
    const name = 'a name \u00e9'.repeat(1 << 20);
    const header = new TextEncoder().encode(JSON.stringify({ [name]: { dtype: 'F32', shape: [3], data_offsets: [0, 1] } }));
    const bytes = new Uint8Array(8 + header.length);
    new DataView(bytes.buffer).setUint32(0, header.length, true);
    bytes.set(header, 8);
    const inside = wattn.pipeline('feature-extraction', tinyFiles({ 'model.safetensors': bytes }));
    for (const error of [await failure(inside), await failure(() => wattn.nn.load_safetensors(bytes))]) {
      expect(error.name).toBe('ModelFormatError');
      expect(error.message.length).toBeLessThan(2100);
      expect(error.message).toMatch(/^[^]{1300}[^]*\.\.\. \(\d{7} characters\) \.\.\./);
    }
    expect(new wattn.NetworkError('x'.repeat(5000), 'u').message.length).toBeLessThan(2100);
    expect(new wattn.InputError('x'.repeat(2000)).message).toBe('x'.repeat(2000));
  });

  it('say what was found', () => {
    const found = [null, undefined, [1], 'text', 3, 3n, {}, new Map(), () => 0].map(describeValue);
    expect(found).toEqual(['null', 'undefined', 'an array', "'text'", '3', '3', 'an object', 'an object (Map)', 'a function']);
    expect(describeValue('x'.repeat(100)).length).toBeLessThan(60);
  });
});
