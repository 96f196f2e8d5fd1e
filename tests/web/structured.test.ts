// response_format: generated text follows the format, for every type of tokenizer, search and batch. Ajv validates the JSON.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IncompleteError, InputError, pipeline, UnsupportedError, type ResponseFormat, type TextGenerationPipeline } from 'wattn';
import { linesOf, wattn } from './cli_support.js';
import { failure } from './support.js';
import { spellingModel, type Spelling } from './structured_models.js';

const kOptions = { return_full_text: false, max_new_tokens: 400 } as const;
const kPerson = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 5 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
  required: ['name', 'age'],
  additionalProperties: false,
};

/** Schemas whose texts are short, so that a model of random weights comes to their end. */
const kSchemas: Record<string, object> = {
  person: kPerson,
  'a list of choices': { type: 'array', items: { enum: ['red', 'green', 1, null, true] }, minItems: 1, maxItems: 4 },
  'numbers with bounds': {
    type: 'array',
    prefixItems: [
      { type: 'number', exclusiveMinimum: 0, maximum: 0.5 },
      { type: 'integer', multipleOf: 7, minimum: -70, maximum: 70 },
    ],
    items: false,
    minItems: 2,
  },
  formats: {
    type: 'object',
    properties: {
      day: { type: 'string', format: 'date' },
      at: { type: 'string', format: 'ipv4' },
      id: { type: 'string', pattern: '^[a-f]{2}-\\d{3}$' },
    },
    required: ['day', 'at', 'id'],
    additionalProperties: false,
  },
  'one of two kinds': {
    oneOf: [
      {
        type: 'object',
        properties: { kind: { const: 'a' }, n: { type: 'integer', maximum: 9, minimum: 0 } },
        required: ['kind', 'n'],
        additionalProperties: false,
      },
      { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'], additionalProperties: false },
    ],
  },
  'a tree': {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: { v: { enum: [1, 2] }, l: { $ref: '#/$defs/node' } },
        required: ['v'],
        additionalProperties: false,
        maxProperties: 2,
      },
    },
  },
  'all of': { allOf: [{ type: 'string', minLength: 3 }, { maxLength: 4 }, { pattern: '^n' }, { not: { const: 'name' } }] },
};

const ajv = new Ajv2020({ strict: false, multipleOfPrecision: 9 });
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);

describe.each<Spelling>(['byte-level', 'SentencePiece', 'WordPiece'])('response_format, %s', (kind) => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => {
    generate = await pipeline('text-generation', spellingModel(kind));
  });
  afterAll(() => generate.dispose());

  it.each(Object.entries(kSchemas))('writes JSON that satisfies its schema: %s', async (_, json_schema) => {
    const validate = ajv.compile(json_schema);
    let whole = 0;
    for (let seed = 0; seed < 12; ++seed) {
      const how = seed === 0 ? {} : { do_sample: true, temperature: 3, seed };
      try {
        const [one] = await generate('a', { ...kOptions, ...how, response_format: { type: 'json_schema', json_schema } });
        expect(one.parsed).toEqual(JSON.parse(one.generated_text));
        expect([one.generated_text, validate(one.parsed)]).toEqual([one.generated_text, true]);
        expect(one.finish_reason).toBe('eos');
        ++whole;
      } catch (error) {
        if (!(error instanceof IncompleteError)) throw error;
      }
    }
    expect(whole).toBeGreaterThan(5);
  });

  it('keeps to expressions, grammars and choices', async () => {
    const cases: [ResponseFormat, RegExp][] = [
      [{ type: 'regex', regex: /[a-c]{3}\d{2}/u }, /^[a-c]{3}\d{2}$/],
      [{ type: 'regex', regex: '(na|me){2,4}' }, /^(na|me){2,4}$/],
      [
        { type: 'grammar', grammar: 'root ::= "(" root ")" | [0-9]\n'.replace(/[()]/g, (c) => (c === '(' ? '[' : ']')) },
        /^\[*\d\]*$/,
      ],
      [{ type: 'choice', choice: ['yes', 'no'] }, /^(yes|no)$/],
    ];
    if (kind !== 'WordPiece') cases.push([{ type: 'regex', regex: 'n\u00e9{2}' }, /^n\u00e9{2}$/]); // two tokens, a byte each
    for (const [response_format, expected] of cases) {
      for (let seed = 1; seed < 6; ++seed) {
        const [one] = await generate('a', { ...kOptions, do_sample: true, seed, response_format });
        expect(one.generated_text).toMatch(expected);
        expect(one).not.toHaveProperty('parsed');
      }
    }
  });

  it('keeps to boundaries of words, properties of characters, and elements that differ', async () => {
    for (const regex of [
      /[a-c ]{2,4}\bname\b[ -]?/u,
      /\p{Lu}?\p{Ll}{3}[^\p{L}\u{80}-\u{10FFFF}]/u,
      /[\p{L}\p{Script=Greek}]{2}[^\p{Alphabetic}"\u{80}-\u{10FFFF}]/u,
    ]) {
      for (let seed = 1; seed < 6; ++seed) {
        const [one] = await generate('a', { ...kOptions, do_sample: true, seed, response_format: { type: 'regex', regex } });
        expect(one.generated_text).toMatch(new RegExp(`^(?:${regex.source})$`, 'u'));
      }
    }
    const items = { anyOf: [{ type: 'string', pattern: '^[\\p{Lowercase}]{1,2}$' }, { enum: [1, 2, null] }] };
    const json_schema = { type: 'array', items, uniqueItems: true, minItems: 5, maxItems: 9 };
    const validate = ajv.compile(json_schema);
    for (let seed = 1; seed < 9; ++seed) {
      const how = { do_sample: true, temperature: 2, seed };
      const [one] = await generate('a', { ...kOptions, ...how, response_format: { type: 'json_schema', json_schema } });
      expect([one.generated_text, validate(one.parsed)]).toEqual([one.generated_text, true]);
    }
    const few: ResponseFormat = { type: 'json_schema', json_schema: { ...json_schema, items: { enum: ['a', 'b', 'name', 1, 2] } } };
    expect([...((await generate('a', { ...kOptions, response_format: few }))[0].parsed as unknown[])].map(String).sort()).toEqual(['1', '2', 'a', 'b', 'name']); // prettier-ignore
    const unknown = generate('a', { response_format: { type: 'regex', regex: '\\p{Script=Nobody}' } });
    expect(await failure(unknown)).toMatchObject({ code: 'unsupported', message: expect.stringContaining('\\p{Script=Nobody}') });
  });

  it('gives beams and samples that are whole, without those that only fill up', async () => {
    const response_format: ResponseFormat = { type: 'choice', choice: ['yes', 'no'] };
    const beams = await generate('a', { ...kOptions, num_beams: 4, num_return_sequences: 4, response_format });
    expect(beams.map((one) => one.generated_text).sort()).toEqual(['no', 'yes']);
    const json: ResponseFormat = { type: 'json_schema', json_schema: { name: 'person', schema: kPerson, strict: true } };
    const samples = await generate('a', { ...kOptions, do_sample: true, seed: 2, num_return_sequences: 3, response_format: json });
    expect(samples).toHaveLength(3);
    for (const { parsed } of samples) expect(ajv.validate(kPerson, parsed)).toBe(true);
  });

  it('answers a batch of formats as each alone', async () => {
    const formats: (ResponseFormat | null)[] = [
      { type: 'json_schema', json_schema: kPerson },
      null,
      { type: 'choice', choice: ['name', 'me'] },
      { type: 'text' },
    ];
    const options = { ...kOptions, max_new_tokens: 60 };
    const all = await generate(['a', 'b', 'c', 'd'], { ...options, response_format: formats });
    for (const [i, format] of formats.entries()) {
      expect(all[i]).toEqual(await generate('abcd'[i] as string, { ...options, response_format: format as ResponseFormat }));
    }
  });

  it('begins after a mark', async () => {
    const [one] = await generate('a', {
      ...kOptions,
      do_sample: true,
      seed: 1,
      response_format: { type: 'choice', choice: ['yes', 'no'], after: 'e' },
    });
    expect(one.generated_text).toMatch(/^[^e]*e(yes|no)$/s);
  });

  it('says what there is when the length ends a text', async () => {
    const error = await failure(
      generate('a', { ...kOptions, max_new_tokens: 3, response_format: { type: 'json_schema', json_schema: kPerson } }),
    );
    expect(error).toBeInstanceOf(IncompleteError);
    expect((error as IncompleteError).text).toMatch(/^\{"/);
    expect(error).toMatchObject({ prompt: 0, prompt_tokens: generate.tokenizer('a').input_ids.dims[1] });
    expect((error as IncompleteError).tokens).toHaveLength(3);
  });
});

describe('response_format', () => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => {
    generate = await pipeline('text-generation', spellingModel('byte-level'));
  });
  afterAll(() => generate.dispose());

  it('has room for more formats than it keeps, in a batch and in calls at the same time', async () => {
    const formatOf = (i: number): ResponseFormat => ({ type: 'choice', choice: [`a${i}`, `b${i}`] });
    const numbers = Array.from({ length: 40 }, (_, i) => i);
    const options = { ...kOptions, max_new_tokens: 20 };
    const all = await generate(
      numbers.map(() => 'a'),
      { ...options, response_format: numbers.map(formatOf) },
    );
    all.forEach(([one], i) => expect(one!.generated_text).toMatch(new RegExp(`^[ab]${i}$`)));
    const calls = numbers.map((i) => generate('a', { ...options, response_format: formatOf(100 + i) }));
    (await Promise.all(calls)).forEach(([one], i) => expect(one!.generated_text).toMatch(new RegExp(`^[ab]${100 + i}$`)));
  });

  it('streams the text that it returns', async () => {
    const response_format: ResponseFormat = { type: 'json_schema', json_schema: kPerson };
    let text = '';
    for await (const piece of generate.stream('a', { max_new_tokens: 80, response_format })) text += piece;
    const [one] = await generate('a', { ...kOptions, response_format });
    expect(text).toBe(one.generated_text);
  });

  it('takes what is forced in one pass, more of it with keys in order', async () => {
    const names = ['street', 'house', 'postcode', 'city', 'state', 'country', 'floor', 'note'];
    const json_schema = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string', maxLength: 4 }])),
      required: names,
      additionalProperties: false,
    };
    const count = async (key_order: 'any' | 'schema') => {
      let pieces = 0;
      const response_format: ResponseFormat = { type: 'json_schema', json_schema, key_order };
      const [one] = await generate('a', { ...kOptions, response_format, callback: () => ++pieces });
      return { pieces, tokens: one.tokens.length, keys: Object.keys(one.parsed as object) };
    };
    const any = await count('any');
    const ordered = await count('schema');
    expect(any.keys.sort()).toEqual([...names].sort());
    expect(any.pieces).toBeLessThan(0.7 * any.tokens);
    expect(ordered.keys).toEqual(names);
    expect(ordered.pieces).toBeLessThan(0.5 * ordered.tokens);
  });

  it('is the same in a worker', async () => {
    const other = await pipeline('text-generation', spellingModel('byte-level'), { worker: true });
    const options = { ...kOptions, response_format: { type: 'json_schema', json_schema: kPerson } as ResponseFormat };
    expect(await other('a', options)).toEqual(await generate('a', options));
    await other.dispose();
  });

  it('names what is wrong', async () => {
    const cases: [unknown, new (...args: any[]) => Error, RegExp][] = [
      [{ type: 'json' }, InputError, /'json_schema', 'json_object'/],
      [
        { type: 'json_schema', json_schema: { type: 'object', properties: { a: { requird: [] } } } },
        UnsupportedError,
        /#\/properties\/a': keyword 'requird'/,
      ],
      [{ type: 'json_schema', json_schema: { type: 'integer', minimum: 2, maximum: 1 } }, InputError, /no text satisfies it/],
      [{ type: 'json_schema', json_schema: [] }, InputError, /'json_schema'/],
      [{ type: 'regex', regex: /a/i }, InputError, /flags/],
      [{ type: 'regex', regex: '(a)\\1' }, UnsupportedError, /backreference/],
      [{ type: 'grammar', grammar: 'root ::= a' }, InputError, /rule 'a'/],
      [{ type: 'choice', choice: [] }, InputError, /'choice'/],
      [{ type: 'choice', choices: ['a'] }, InputError, /choices/],
      [{ type: 'regex', regex: '[A-Z]+' }, InputError, /no token/],
      [[null, null], InputError, /1 prompts, found 2/],
    ];
    for (const [response_format, kind, message] of cases) {
      const error = await failure(generate('a', { max_new_tokens: 8, response_format: response_format as ResponseFormat }));
      expect(error).toBeInstanceOf(kind);
      expect((error as Error).message).toMatch(message);
    }
  });
});

describe('wattn generate --schema', () => {
  it('writes lines of JSON', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wattn-schema-'));
    try {
      for (const [name, bytes] of spellingModel('byte-level')) writeFileSync(join(folder, name), bytes);
      writeFileSync(join(folder, 'person.json'), JSON.stringify(kPerson));
      const args = (schema: string) => [
        'generate',
        '--model',
        folder,
        '--max-new-tokens',
        '80',
        '--schema',
        join(folder, schema),
        'a',
        'b',
      ];
      const lines = linesOf(await wattn(args('person.json')));
      expect(lines).toHaveLength(2);
      for (const { generated_text, parsed } of lines) {
        expect(parsed).toEqual(JSON.parse(generated_text));
        expect(ajv.validate(kPerson, parsed)).toBe(true);
      }
      expect(await wattn(args('config.json'))).toMatchObject({ code: 2, error: expect.stringMatching(/keyword 'architectures'/) });
      expect(await wattn(args('none.json'))).toMatchObject({ code: 2, error: expect.stringMatching(/--schema: cannot read/) });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
