// response_format in model.generate and text2text-generation, values streamed during generation, and batches in which a text ends too early.
import { join } from 'node:path';
import { AutoModelForCausalLM, AutoTokenizer, IncompleteError, pipeline, StructuredOutputProcessor } from 'wattn';
import type { GeneratedText, ResponseFormat, TextGenerationPipeline } from 'wattn';
import { partialJson } from '../../web/generation/partial_json.js';
import { spellingModel } from './structured_models.js';
import { failure, goldens } from './support.js';

const json_schema = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 6 },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
    age: { type: 'integer', minimum: 0, maximum: 99 },
  },
  required: ['name', 'age', 'tags'],
  additionalProperties: false,
};
const response_format: ResponseFormat = { type: 'json_schema', json_schema };

describe('response_format', () => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => {
    generate = await pipeline('text-generation', spellingModel('byte-level'));
  });
  afterAll(() => generate.dispose());

  it('streams the parts of a value that are written', async () => {
    const options = { max_new_tokens: 200, do_sample: true, seed: 3, response_format };
    const [{ parsed }] = await generate('a', { ...options, return_full_text: false });
    const values: any[] = [];
    for await (const value of generate.stream_objects('a', options)) values.push(value);
    expect(values.at(-1)).toEqual(parsed);
    expect(values.length).toBeGreaterThan(3);
    expect(new Set(values.map((value) => JSON.stringify(value))).size).toBe(values.length);
    for (const value of values) {
      expect((parsed as any).name.startsWith(value.name ?? '')).toBe(true);
      for (const [i, tag] of (value.tags ?? []).entries()) expect((parsed as any).tags[i].startsWith(tag)).toBe(true);
      if ('age' in value) expect(value.age).toBe((parsed as any).age);
    }
    const wrong = await failure(async () => {
      for await (const _ of generate.stream_objects('a', { response_format: { type: 'regex', regex: 'a' } })) break;
    });
    expect(wrong.message).toMatch(/expected the option 'response_format' with type 'json_schema'/);
    const cut = await failure(async () => {
      for await (const value of generate.stream_objects('a', { ...options, max_new_tokens: 3 })) values.push(value);
    });
    expect(cut).toBeInstanceOf(IncompleteError);
  });

  it('keeps the other texts of a batch where one ends too soon', async () => {
    const long: ResponseFormat = { type: 'regex', regex: 'a{50}' };
    const short: ResponseFormat = { type: 'choice', choice: ['yes', 'no'] };
    const options = { max_new_tokens: 8, return_full_text: false as const, response_format: [short, long, short, long] };
    const error = await failure(generate(['a', 'b', 'c', 'd'], options));
    expect(error).toBeInstanceOf(IncompleteError);
    expect([error.prompt, error.text]).toEqual([1, 'aaaaaaaa']);
    expect(error.message).toMatch(/prompt 1: .*\(and 1 more of 4 prompts\)$/);
    const [one, two, three, four] = error.results as [GeneratedText[], IncompleteError, GeneratedText[], IncompleteError];
    for (const list of [one, three]) expect(['yes', 'no']).toContain(list[0]?.generated_text);
    expect([two.prompt, four.prompt, four.text]).toEqual([1, 3, 'aaaaaaaa']);
    const alone = await failure(generate('a', { ...options, response_format: long }));
    expect(alone.results).toBeUndefined();
  });

  it('constrains model.generate, also as transformers.js writes it', async () => {
    const [model, tokenizer] = await Promise.all([
      AutoModelForCausalLM.from_pretrained(spellingModel('byte-level')),
      AutoTokenizer.from_pretrained(spellingModel('byte-level')),
    ]);
    const inputs = tokenizer(['a', 'b'], { return_tensor: true });
    const width = inputs.input_ids.dims[1] as number;
    const format: ResponseFormat = { type: 'regex', regex: '(na|me){2,3}\\d' };
    const plain = await model.generate({ ...inputs, max_new_tokens: 20, response_format: format });
    const texts = plain.tolist().map((ids: any) => tokenizer.decode(ids.slice(width).map(Number), { skip_special_tokens: true }));
    for (const text of texts) expect(text).toMatch(/^(na|me){2,3}\d$/);
    const processor = new StructuredOutputProcessor(tokenizer, format);
    for (const logits_processor of [processor, [processor]])
      expect((await model.generate({ ...inputs, max_new_tokens: 20, logits_processor })).tolist()).toEqual(plain.tolist());
    const formats: ResponseFormat[] = [{ type: 'choice', choice: ['me'] }, format];
    const each = await model.generate({ ...inputs, max_new_tokens: 20, response_format: formats });
    const [first] = each.tolist().map((ids: any) => tokenizer.decode(ids.slice(width).map(Number), { skip_special_tokens: true }));
    expect(first).toBe('me');
    await expect(model.generate({ ...inputs, logits_processor: processor, response_format: format })).rejects.toThrow(/found both/);
    await Promise.all([model.dispose(), tokenizer.dispose()]);
  });

  it('constrains text2text-generation', async () => {
    const write = await pipeline('text2text-generation', join(goldens, 'seq2seq/t5'));
    const regex = '[a-z ]{3,9}';
    const made = await write(['the old boat', 'birds'], { max_new_tokens: 20, response_format: { type: 'regex', regex } });
    for (const { generated_text } of made) expect(generated_text).toMatch(/^[a-z ]{2,9}$/);
    const beams = await write('the boat', {
      num_beams: 3,
      num_return_sequences: 2,
      max_new_tokens: 20,
      response_format: { type: 'regex', regex },
    });
    for (const { generated_text } of beams) expect(generated_text).toMatch(/^[a-z ]{2,9}$/);
    const error = await failure(
      write(['the boat', 'birds'], { max_new_tokens: 2, response_format: { type: 'regex', regex: '[a-z ]{40}' } }),
    );
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.results).toHaveLength(2);
    let streamed = '';
    for await (const piece of write.stream('the boat', { max_new_tokens: 20, response_format: { type: 'regex', regex } }))
      streamed += piece;
    expect(streamed.trim().length).toBeGreaterThan(1);
    await write.dispose();
  });
});

describe('partialJson', () => {
  const whole = { a: ['x\n"\\é😀', 1, true, null, { b: '' }], '"': -1.5e3, c: {} };
  it('gives what is sure of every beginning', () => {
    const text = JSON.stringify(whole);
    const escaped = text.replace('é', '\\u00e9').replace('😀', '\\ud83d\\ude00');
    /** Whether a value may become another one. */
    const begins = (part: any, all: any): boolean =>
      typeof part === 'string'
        ? all.startsWith(part)
        : Array.isArray(part)
          ? part.every((each, i) => begins(each, all[i]))
          : typeof part === 'object' && part !== null
            ? Object.entries(part).every(([key, each]) => key in all && begins(each, all[key]))
            : part === all;
    for (const each of [text, escaped]) {
      for (let end = 0; end <= each.length; ++end) {
        const part = partialJson(each.slice(0, end));
        expect([each.slice(0, end), part === undefined || begins(part, whole)]).toEqual([each.slice(0, end), true]);
      }
      expect(partialJson(each)).toEqual(whole);
    }
    expect([partialJson(''), partialJson('  '), partialJson('12'), partialJson('tru'), partialJson('"a')]).toEqual([undefined, undefined, undefined, undefined, 'a']); // prettier-ignore
  });
});
