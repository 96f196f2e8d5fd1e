import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as wattn from 'wattn';
import { describe as describeValue, kSeamErrors, seamError } from '../../web/core/errors.js';
import { root } from './support.js';

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
      expect(error.name).toBe(name);
      expect(error.code).toMatch(/^[a-z_]+$/);
      expect(error.cause).toBe(3);
      expect(error.stack).toContain(`${name}: what`);
    }
    const error = new wattn.NetworkError('what', 'u', 404);
    expect([error.name, error.code, error.url, error.status]).toEqual(['NetworkError', 'network', 'u', 404]);
  });

  it('say what was found', () => {
    const found = [null, undefined, [1], 'text', 3, 3n, {}, new Map(), () => 0].map(describeValue);
    expect(found).toEqual(['null', 'undefined', 'an array', "'text'", '3', '3', 'an object', 'an object (Map)', 'a function']);
    expect(describeValue('x'.repeat(100)).length).toBeLessThan(60);
  });
});
