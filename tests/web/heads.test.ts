// AutoModelFor..: the checkpoint's own head over token ids.
import { join } from 'node:path';
import {
  AutoModelForMaskedLM,
  AutoModelForQuestionAnswering,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
  AutoTokenizer,
  pipeline,
} from 'wattn';
import { changed, floats, readTensors } from './safetensors.js';
import { failure, filesOf, goldens, headFiles, largestDifference, readJson, tiny, type Files } from './support.js';

describe('a head over the vocabulary', () => {
  const plain = filesOf(join(goldens, 'sparse/splade'));
  plain.delete('modules.json');
  const words = 'bert.embeddings.word_embeddings.weight';
  const own = 'cls.predictions.decoder.weight';
  const inputs = { input_ids: [[2, 9, 17, 30, 3]] };
  const logitsOf = async (files: Files, options: object = {}) => {
    const model = await AutoModelForMaskedLM.from_pretrained(files, options);
    const { logits } = await model(inputs);
    await model.dispose();
    return logits!.data;
  };
  /** With an output of its own, of `factor` times the word embeddings. */
  const filesWith = (factor: number, tied: boolean, first = false): Files => {
    const files = new Map(plain);
    const config = JSON.parse(new TextDecoder().decode(files.get('config.json')));
    files.set('config.json', new TextEncoder().encode(JSON.stringify({ ...config, tie_word_embeddings: tied })));
    const weights = changed(files.get('model.safetensors') as Uint8Array, (tensors) => {
      const { shape, bytes } = tensors.get(words)!;
      const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
      const rest = [...tensors];
      tensors.clear();
      if (first)
        tensors.set(
          own,
          floats(shape, (i) => factor * (values[i] as number)),
        );
      for (const [name, tensor] of rest) tensors.set(name, tensor);
      tensors.set(
        own,
        floats(shape, (i) => factor * (values[i] as number)),
      );
    });
    return files.set('model.safetensors', weights);
  };

  it('has the output of the checkpoint where that differs from the word embeddings, whatever config.json says', async () => {
    const tied = await logitsOf(plain);
    const bias = readTensors(plain.get('model.safetensors') as Uint8Array).get('cls.predictions.bias')!.bytes;
    const biases = new Float32Array(bias.buffer.slice(bias.byteOffset, bias.byteOffset + bias.length));
    const doubled = Float32Array.from(tied, (logit, i) => 2 * (logit - biases[i % biases.length]!) + biases[i % biases.length]!);
    expect(await logitsOf(filesWith(1, true))).toEqual(tied);
    for (const files of [filesWith(2, true), filesWith(2, false), filesWith(2, true, true)]) {
      const got = await logitsOf(files);
      // One rounding more: the bias is added last.
      expect(largestDifference(got, doubled)).toBeLessThan(2 ** -21 * Math.max(...doubled.map(Math.abs)));
      const largest = Math.max(...doubled.map(Math.abs));
      for (const [dtype, share] of [
        ['q16', 0.01],
        ['q8', 0.1],
      ] as const) {
        expect(largestDifference(await logitsOf(files, { dtype }), doubled)).toBeLessThan(share * largest);
      }
    }
    expect(largestDifference(await logitsOf(filesWith(1, false)), tied)).toBeLessThan(2 ** -21 * Math.max(...tied.map(Math.abs)));
    const none = new Map(plain).set('config.json', filesWith(1, false).get('config.json') as Uint8Array);
    expect(await failure(logitsOf(none))).toMatchObject({
      name: 'ModelFormatError',
      message: expect.stringMatching(/tie_word_embeddings/),
    });
  });
});

describe('models with heads', () => {
  it('gives a text classifier its logits, rows together as alone', async () => {
    const [model, classify, tokenizer] = await Promise.all([
      AutoModelForSequenceClassification.from_pretrained(headFiles('sequence')),
      pipeline('text-classification', headFiles('sequence')),
      AutoTokenizer.from_pretrained(tiny),
    ]);
    const texts = ['the river', 'A small boat waits below the old bridge.'];
    const { logits, last_hidden_state } = await model(tokenizer(texts, { padding: true }));
    expect(logits?.dims).toEqual([2, 3]);
    expect(last_hidden_state.dims[0]).toBe(2);
    const scores = await classify(texts, { top_k: null, function_to_apply: 'none' });
    const order = readJson('tasks', 'sequence', 'config.json').id2label;
    (scores as { label: string; score: number }[][]).forEach((list, row) =>
      list.forEach(({ label, score }) => {
        const column = Number(Object.keys(order).find((id) => order[id] === label));
        expect(logits?.data[row * 3 + column]).toBe(Math.fround(score));
      }),
    );
    await Promise.all([model, classify].map((one) => one.dispose()));
  });

  it('gives the others a row a token, zeros where there is none', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    const inputs = tokenizer(['the river', 'A small boat waits.'], { padding: true });
    const seq = inputs.input_ids.dims[1] as number;
    const tokens = await AutoModelForTokenClassification.from_pretrained(headFiles('token'));
    const { logits } = await tokens(inputs);
    expect(logits?.dims).toEqual([2, seq, 6]);
    expect(logits?.data.subarray((seq - 1) * 6, seq * 6).every((value) => value === 0)).toBe(true); // padding
    expect(logits?.data.subarray(0, 6).some((value) => value !== 0)).toBe(true);
    const words = await AutoModelForMaskedLM.from_pretrained(headFiles('masked_lm'));
    expect((await words(inputs)).logits?.dims).toEqual([2, seq, 512]);
    const answers = await AutoModelForQuestionAnswering.from_pretrained(headFiles('answer'), { worker: true });
    const { start_logits, end_logits, logits: both } = await answers(inputs);
    expect([start_logits?.dims, end_logits?.dims, both]).toEqual([[2, seq], [2, seq], undefined]); // prettier-ignore
    await Promise.all([tokens, words, answers].map((one) => one.dispose()));
  });

  it("knows ModernBERT's head over the mean", async () => {
    const { input_ids, logits, f32_diff } = readJson('heads', 'modernbert', 'expected.json');
    const files = filesOf(join(goldens, 'heads', 'modernbert'));
    for (const name of ['tokenizer.json', 'tokenizer_config.json']) files.set(name, filesOf(tiny).get(name) as Uint8Array);
    const model = await AutoModelForSequenceClassification.from_pretrained(files);
    for (const [i, ids] of input_ids.entries()) {
      const got = await model({ input_ids: [ids] });
      // As in predict_test.cpp.
      const most = Math.max(...logits.flat().map(Math.abs));
      expect(largestDifference(got.logits?.data ?? [], logits[i])).toBeLessThanOrEqual(4 * Math.max(f32_diff, most * 2 ** -23));
    }
    await model.dispose();
  });

  it('refuses a checkpoint of another kind', async () => {
    const error = await failure(AutoModelForTokenClassification.from_pretrained(headFiles('sequence')));
    expect([error.name, error.message]).toEqual(['UnsupportedError', expect.stringMatching(/ForTokenClassification/)]);
  });
});
