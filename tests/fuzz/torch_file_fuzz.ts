// Damages files of torch.save at random and reads them: each becomes valid safetensors or ends with a typed error, soon and in little memory.
// Jest runs a few thousand rounds (tests/web/torch_file.test.ts), `npm run fuzz` any number. Both run in the root of the repository.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelFormatError, UnsupportedError } from '../../web/core/errors.js';
import { readSafetensors } from '../../web/source/safetensors.js';
import { converted } from '../web/torch_zip.js';
import { damageBytes, Random } from './readers/mutator.js';

const kFiles = [
  'dtypes',
  'views',
  'parameters',
  'tied',
  'many',
  'old_order',
  'checkpoint',
  'legacy',
  'script',
  'sparse',
  'module',
  'dense',
];
/** Bytes at the end of a file that have the archive's directory. */
const kDirectory = 900;

/** Reads damaged files while `goOn(rounds)`. */
export async function fuzz(seed: number, goOn: (rounds: number) => boolean): Promise<{ rounds: number; valid: number }> {
  const files = kFiles.map((name) => new Uint8Array(readFileSync(join('tests/goldens/torch', `${name}.bin`))));
  let [rounds, valid] = [0, 0];
  for (; goOn(rounds); ++rounds) {
    const random = new Random(Math.imul(seed, 7919) + rounds);
    const bytes = damageBytes(random.pick(files), random, kDirectory);
    try {
      readSafetensors(await converted(bytes, 1 + random.below(2000), random.below(4) > 0), 'converted');
      ++valid;
    } catch (error) {
      const isTyped =
        error instanceof UnsupportedError || (error instanceof ModelFormatError && !error.message.startsWith('converted'));
      if (!isTyped) {
        throw new Error(`seed ${seed}, round ${rounds}: ${(error as Error).stack}`, { cause: error });
      }
    }
  }
  return { rounds, valid };
}
