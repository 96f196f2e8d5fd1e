// Damages files of torch.save at random and reads them: each becomes valid safetensors or ends with a typed error, soon and in little memory.
// Jest runs a few thousand rounds (tests/web/torch_file.test.ts), `npm run fuzz` any number. Both run in the root of the repository.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelFormatError, UnsupportedError } from '../../web/core/errors.js';
import { readSafetensors } from '../../web/source/safetensors.js';
import { converted } from '../web/torch_zip.js';

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
/** Values that break sizes, offsets and counts. */
const kNumbers = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

class Random {
  constructor(private state: number) {}
  below(limit: number): number {
    this.state = (Math.imul(this.state, 1103515245) + 12345) >>> 0;
    return Math.floor(((this.state >>> 4) / 2 ** 28) * limit);
  }
}

function damaged(files: readonly Uint8Array[], random: Random): Uint8Array {
  let bytes = (files[random.below(files.length)] as Uint8Array).slice();
  for (let count = 1 + random.below(4); count > 0 && bytes.length > 0; --count) {
    // Half of the damage is done to the directory, the rest to all.
    const at = random.below(2) === 0 ? random.below(bytes.length) : bytes.length - 1 - random.below(Math.min(900, bytes.length));
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const value = kNumbers[random.below(kNumbers.length)] as number;
    switch (random.below(7)) {
      case 0:
        bytes[at] = random.below(256);
        break;
      case 1:
        bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
        break;
      case 2:
        if (at + 4 <= bytes.length) view.setUint32(at, value, true);
        break;
      case 3:
        if (at + 8 <= bytes.length) view.setBigUint64(at, BigInt(value) << BigInt(random.below(33)), true);
        break;
      case 4: {
        const from = random.below(bytes.length);
        bytes.copyWithin(at, from, from + random.below(64));
        break;
      }
      case 5:
        bytes = Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(Math.min(bytes.length, at + random.below(40)))]);
        break;
      case 6:
        bytes = Uint8Array.from([
          ...bytes.subarray(0, at),
          ...bytes.subarray(random.below(bytes.length)).subarray(0, 40),
          ...bytes.subarray(at),
        ]);
    }
  }
  return bytes;
}

/** Reads damaged files while `goOn(rounds)`. */
export async function fuzz(seed: number, goOn: (rounds: number) => boolean): Promise<{ rounds: number; valid: number }> {
  const files = kFiles.map((name) => new Uint8Array(readFileSync(join('tests/goldens/torch', `${name}.bin`))));
  let [rounds, valid] = [0, 0];
  for (; goOn(rounds); ++rounds) {
    const random = new Random(Math.imul(seed, 7919) + rounds);
    random.below(2);
    const bytes = damaged(files, random);
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
