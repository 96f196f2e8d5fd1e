// Damages quantized safetensors at random and reads them: each becomes valid safetensors or ends with a typed error, soon and in little memory.
// Jest runs some hundred rounds (tests/web/quantized.test.ts), in the root of the repository.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ModelFormatError, UnsupportedError } from '../../web/core/errors.js';
import { plainTensors, quantizedFiles } from '../web/quantized_files.js';
import { damageBytes, Random } from './readers/mutator.js';

/** Reads damaged files while `goOn(rounds)`. */
export async function fuzz(seed: number, goOn: (rounds: number) => boolean): Promise<{ rounds: number; valid: number }> {
  const names = readdirSync(join('tests/goldens/quantized'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const all = names.map(({ name }) => quantizedFiles(name));
  let [rounds, valid] = [0, 0];
  for (; goOn(rounds); ++rounds) {
    const random = new Random(Math.imul(seed, 7919) + rounds);
    const files = new Map(random.pick(all));
    const name = random.pick([...files.keys()].filter((file) => /safetensors$|^config/.test(file)));
    const bytes = files.get(name)!;
    // Headers are a few kB; most of a file is numbers, which may be any.
    const length = name === 'config.json' ? bytes.length : 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const head = damageBytes(bytes.subarray(0, length), random);
    files.set(
      name,
      random.below(8) === 0 ? damageBytes(bytes, random) : new Uint8Array(Buffer.concat([head, bytes.subarray(length)])),
    );
    try {
      await plainTensors(files, 1 + random.below(5000), random.below(4) > 0);
      ++valid;
    } catch (error) {
      const isTyped =
        error instanceof UnsupportedError || (error instanceof ModelFormatError && !error.message.startsWith('converted'));
      if (!isTyped) throw new Error(`seed ${seed}, round ${rounds}: ${(error as Error).stack}`, { cause: error });
    }
  }
  return { rounds, valid };
}
