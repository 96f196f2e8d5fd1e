// Files saved by training: damage is a typed error and never a different run, and files from before hashes were added still open.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Classifier, pipeline } from 'wattn';
import { Trainer, type FitOptions, type TrainedFiles, type TrainerOptions } from 'wattn/train';
import { Tensor } from '../../web/core/tensor.js';
import { checkAdapter, readAdapter } from '../../web/source/peft.js';
import { save_safetensors } from '../../web/source/safetensors.js';
import { saveSealed } from '../../web/source/sealed.js';
import { readState } from '../../web/train/state.js';
import { readClassifier } from '../../web/vectors/classifier/files.js';
import { failure, expectError, largestDifference, root, tiny } from './support.js';

type Bytes = Uint8Array;
type Read = (bytes: Bytes) => unknown;

/** As tests/fixtures/saved_v1/make.mjs. */
const kRows = [
  { text: 'the river', label: 'water' },
  { text: 'the old boat', label: 'water' },
  { text: 'small birds sing', label: 'sky' },
  { text: 'the wind and birds', label: 'sky' },
];
const kOptions: TrainerOptions = { task: 'text-classification', threads: 1, learning_rate: 0.01, max_steps: 4, r: 2 };
const kFit: FitOptions = { validation: kRows, eval_steps: 1 };

/** A state from the middle of a run, and what it saved at the end. */
async function run(
  options: Partial<TrainerOptions> = {},
  resume?: Bytes,
): Promise<{ state: Bytes; files: TrainedFiles; end: Bytes }> {
  const trainer = await Trainer.from_pretrained(tiny, { ...kOptions, ...options });
  let state = new Uint8Array(0);
  for await (const { step } of trainer.fit(kRows, { ...kFit, ...(resume && { resume_from_checkpoint: resume }) })) {
    if (step === 2) state = Uint8Array.from(await trainer.state());
  }
  const made = { state, files: await trainer.save(), end: await trainer.state() };
  await trainer.dispose();
  return made;
}

let whole: Awaited<ReturnType<typeof run>>;
let full: TrainedFiles;
beforeAll(async () => {
  whole = await run();
  ({ files: full } = await run({ method: 'full', freeze_embeddings: true }));
});

const v1 = (name: string) => Uint8Array.from(readFileSync(join(root, 'tests/fixtures/saved_v1', name)));
const flipped = (bytes: Bytes, bit: number) => {
  const out = Uint8Array.from(bytes);
  out[bit >> 3] = (out[bit >> 3] as number) ^ (1 << (bit & 7));
  return out;
};
const plain = (value: unknown) =>
  JSON.stringify(value, (_, each) => (ArrayBuffer.isView(each) ? Buffer.from(each.buffer, each.byteOffset, each.byteLength).toString('base64') : each)); // prettier-ignore

// WATTN_EVERY: 1: every bit, as before a release; n: every n-th.
const kEvery = Number(process.env['WATTN_EVERY'] ?? 3);

/** Bits of the first bytes, some of the others, and every few prefixes: a typed error, or what the whole file gives. */
async function damage(bytes: Bytes, read: Read, { every = 1, dense = 1000, typed = /^(ModelFormat|Unsupported)Error$/ } = {}) {
  const expected = plain(await read(bytes));
  const silent: string[] = [];
  let refused = 0;
  const ask = async (what: string, changed: Bytes) => {
    let found: string;
    try {
      found = plain(await read(changed));
    } catch (error) {
      const { name, message } = error as Error;
      ++refused;
      if (!typed.test(name)) silent.push(`${what}: ${name}: ${message}`);
      return;
    }
    if (found !== expected) silent.push(`${what}: read as another`);
  };
  every *= kEvery;
  for (let bit = 0; bit < 8 * bytes.length; bit += bit < 8 * dense ? every : 37 * every)
    await ask(`bit ${bit}`, flipped(bytes, bit));
  for (let end = 0; end < bytes.length; end += end < dense ? 7 * every : 97)
    await ask(`the first ${end} bytes`, bytes.slice(0, end));
  return { silent: silent.slice(0, 10), refused };
}

describe('damage', () => {
  it('of a training state is refused', async () => {
    const { silent, refused } = await damage(whole.state, (bytes) => readState(bytes, 'state'));
    expect(silent).toEqual([]);
    expect(refused).toBeGreaterThan(9000 / kEvery);
    await expectError(run({}, flipped(whole.state, 8 * 3000)), 'ModelFormatError', /resume_from_checkpoint: .*SHA-256 .* damaged/);
  });

  it('of a state that is 100,000 levels deep is refused', async () => {
    const deep = new TextEncoder().encode(`{"options":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    const tensors = { state: new Tensor('float32', [0], [1]), steps: new Tensor('int32', [1, 2], [2]) };
    const state = await saveSealed(
      { ...tensors, made_of: new Tensor('uint8', deep, [deep.length]) },
      { wattn_training_state: '2' },
    );
    await expectError(readState(state, 'state'), 'ModelFormatError', /other text than JSON as 'made_of'/);
  });

  it('of an adapter is refused, whichever file has it', async () => {
    const names = ['adapter_config.json', 'adapter_model.safetensors'];
    for (const name of names) {
      const read: Read = async (bytes) => {
        const files = names.map((each): [string, Bytes] => [each, each === name ? bytes : (whole.files[each] as Bytes)]);
        await checkAdapter(files);
        return readAdapter(files);
      };
      const { silent, refused } = await damage(whole.files[name] as Bytes, read, { every: 3 });
      expect({ name, silent }).toEqual({ name, silent: [] });
      expect(refused).toBeGreaterThan(500 / kEvery);
    }
    const other = new TextDecoder().decode(whole.files['adapter_config.json']).replace('"lora_alpha": 4', '"lora_alpha": 5');
    const adapter = { ...whole.files, 'adapter_config.json': new TextEncoder().encode(other) };
    await expectError(
      pipeline('feature-extraction', tiny, { adapter }),
      'ModelFormatError',
      /adapter_config\.json: expected what adapter_model\.safetensors was saved with .* damaged, or was changed later/,
    );
  });

  it("of an adapter's labels is refused, and so is their absence", async () => {
    const trainer = await Trainer.from_pretrained(tiny, { ...kOptions, loss: 'CrossEntropyLoss', max_steps: 1 });
    await trainer.fit(kRows);
    const files = Object.entries(await trainer.save()) as [string, Bytes][];
    await trainer.dispose();
    const labels = files.find(([name]) => name === 'config.json')?.[1] as Bytes;
    const read: Read = async (bytes) => {
      await checkAdapter(files.map(([name, own]) => [name, name === 'config.json' ? bytes : own]));
      const { id2label, problem_type } = JSON.parse(new TextDecoder().decode(bytes));
      return { id2label, problem_type };
    };
    expect((await damage(labels, read)).silent).toEqual([]);
    const without = checkAdapter(files.filter(([name]) => name !== 'config.json'));
    await expectError(without, 'ModelFormatError', /config\.json: expected what .* found no such file/);
  });

  it('of a classifier is refused, whichever file has it', async () => {
    const [json, weights] = ['classifier.json', 'classifier.safetensors'].map((name) => whole.files[name] as Bytes) as [
      Bytes,
      Bytes,
    ];
    for (const [bytes, read] of [
      [json, (changed) => readClassifier(changed, weights)],
      [weights, (changed) => readClassifier(json, changed)],
    ] as [Bytes, Read][]) {
      expect((await damage(bytes, read)).silent).toEqual([]);
    }
  });

  it("of a whole model's weights is refused when they are loaded", async () => {
    const weights = full['model.safetensors'] as Bytes;
    const vectors = async (bytes: Bytes) => {
      const embed = await pipeline('feature-extraction', { ...full, 'model.safetensors': bytes }, { threads: 1 });
      const { data } = await embed('the old boat', { pooling: 'mean' });
      await embed.dispose();
      return data;
    };
    const every = Math.ceil((8 * weights.length) / 40 / kEvery);
    const { silent, refused } = await damage(weights, vectors as Read, { every, dense: weights.length });
    expect(silent).toEqual([]);
    expect(refused).toBeGreaterThanOrEqual(40);
    await expectError(vectors(flipped(weights, 8 * (weights.length - 2))), 'ModelFormatError', /model\.safetensors: .*SHA-256/);
  });
});

describe('files of before there were hashes', () => {
  it('open, and give what they gave', async () => {
    const { texts, vectors, labels } = JSON.parse(new TextDecoder().decode(v1('answers.json'))) as {
      texts: string[];
      vectors: number[];
      labels: { label: string; score: number }[][];
    };
    const adapter = Object.fromEntries(['adapter_config.json', 'adapter_model.safetensors'].map((name) => [name, v1(name)]));
    const embed = await pipeline('feature-extraction', tiny, { adapter, threads: 1, dtype: 'f32' });
    const pooled = (list: string[]) => embed(list, { pooling: 'mean' });
    expect(largestDifference((await pooled(texts)).data, vectors)).toBeLessThan(1e-5);
    const files = Object.fromEntries(['classifier.json', 'classifier.safetensors'].map((name) => [name, v1(name)]));
    const classifier = await Classifier.load(pooled, files);
    const found = await classifier(texts, { top_k: null });
    expect(found.map((each) => each.map(({ label }) => label))).toEqual(labels.map((each) => each.map(({ label }) => label)));
    expect(largestDifference(found.flat().map(({ score }) => score), labels.flat().map(({ score }) => score))).toBeLessThan(1e-4); // prettier-ignore
    await embed.dispose();
  });

  it('go on to the bits of a run that was not stopped', async () => {
    const resumed = await run({}, v1('trainer_state.safetensors'));
    expect(Buffer.from(resumed.end)).toEqual(Buffer.from(whole.end));
    expect(Buffer.from(resumed.files['adapter_model.safetensors'] as Bytes)).toEqual(
      Buffer.from(whole.files['adapter_model.safetensors'] as Bytes),
    );
  });

  it('are a typed error where damage shows', async () => {
    const state = v1('trainer_state.safetensors');
    const typed = /^(ModelFormat|Unsupported)Error$/;
    for (let bit = 0; bit < 8 * 1200; bit += 3) {
      const error = await readState(flipped(state, bit), 'state').then(() => undefined, (thrown: Error) => thrown); // prettier-ignore
      if (error) expect(error.name).toMatch(typed);
    }
  });
});

describe('a state of a newer version', () => {
  it('is refused by name', async () => {
    const tensors = { state: new Tensor('float32', new Float32Array(1), [1]) };
    const newer = await saveSealed(tensors, { wattn_training_state: '3' });
    await expectError(readState(newer, 'state'), 'UnsupportedError', /state: expected a state of version 2 or before, found 3$/);
    await expectError(readState(await saveSealed(tensors), 'state'), 'ModelFormatError', /the hash of another file/);
    const unsealed = save_safetensors(tensors, { metadata: { wattn_training_state: '2' } });
    await expectError(readState(unsealed, 'state'), 'ModelFormatError', /found no hash/);
    expect((await failure(async () => readState(null as never, 'state'))).name).toBe('ModelFormatError');
  });
});
