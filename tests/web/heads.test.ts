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
import { failure, filesOf, goldens, headFiles, largestDifference, readJson, tiny } from './support.js';

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
