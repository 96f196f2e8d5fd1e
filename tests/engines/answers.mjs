// Results that must be bit-identical on every engine and CPU: each format, task, tokenizer and method of training, as one hash each. run.mjs
// records them in answers.json; Jest, the browsers and the Node for Arm compare with it. Plain JavaScript, because pages import it unbuilt.

const kTiny = [
  'config.json', 'tokenizer.json', 'tokenizer_config.json', 'modules.json', '1_Pooling/config.json', 'sentence_bert_config.json',
  'model.safetensors',
]; // prettier-ignore
const kModel = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'];
const kSettings = [
  'config.json', 'tokenizer.json', 'tokenizer_config.json', 'modules.json', 'sentence_bert_config.json', 'config_sentence_transformers.json',
  'model.safetensors',
]; // prettier-ignore
const kSpans = ['gliner_config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'];
const kSchema = ['config.json', 'encoder_config/config.json', ...kSpans.slice(1)];
const kSparse = [...kSettings, '1_SpladePooling/config.json'];
const kColbert = [...kSettings, '1_Dense/config.json', '1_Dense/model.safetensors'];
const kStatic = ['config.json', 'modules.json', 'tokenizer.json', 'model.safetensors'];
const kText = 'A small boat waits below the old bridge.';

const encode = (json) => new TextEncoder().encode(JSON.stringify(json));
const parse = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

async function hashOf(answer) {
  // The facts of a result are not enumerable.
  const whole = (value) => Object.fromEntries(Object.getOwnPropertyNames(value).map((name) => [name, value[name]]));
  const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const text = JSON.stringify(answer, (_key, value) =>
    ArrayBuffer.isView(value) ? Array.from(value, Number) : isObject(value) ? whole(value) : value,
  );
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** wattn: the package, with wattn/train. read: gives the bytes of a file of tests/goldens. worker: whether models are trained in one. */
export async function answersOf(wattn, read, { worker = false } = {}) {
  const { AutoTokenizer, Classifier, nn, pipeline, Tensor, Trainer, Word2Vec } = wattn;
  const texts = parse(await read('minilm/texts.json')).map(([, text]) => text);
  const some = texts.filter((_, i) => i % 16 === 0);
  const files = async (folder, names) =>
    Object.fromEntries(await Promise.all(names.map(async (name) => [name, await read(`${folder}/${name}`)])));

  /** The tiny encoder with a head. */
  async function withHead(kind) {
    const {
      'modules.json': _1,
      '1_Pooling/config.json': _2,
      'model.safetensors': encoder,
      ...others
    } = await files('bert-tiny/model', kTiny);
    const head = await files(`tasks/${kind}`, ['config.json', 'head.safetensors']);
    const weight_map = { encoder: 'encoder.safetensors', head: 'head.safetensors' };
    return { ...others, ...head, 'encoder.safetensors': encoder, 'model.safetensors.index.json': encode({ weight_map }) };
  }

  /** What `ask` gets from a pipeline. */
  async function task(name, model, ask, options = {}) {
    const run = await pipeline(name, model, options);
    try {
      return await ask(run);
    } finally {
      await run.dispose();
    }
  }

  async function tokenized(files, texts) {
    const tokenizer = await AutoTokenizer.from_pretrained(files);
    const out = texts.map((text) => {
      try {
        const { input_ids, offset_mapping } = tokenizer(text, { return_offsets_mapping: true, return_tensor: false });
        return [input_ids, offset_mapping, tokenizer.decode(input_ids)];
      } catch (error) {
        return error.message; // some of the random ones cannot read every text
      }
    });
    await tokenizer.dispose();
    return out;
  }

  /** What was computed before is no part of an answer. */
  const withoutCached = (one) => (delete one.cached_tokens, one);
  const vectors = (dtype) => () => task('feature-extraction', null, async (embed) => (await embed(some)).data, { dtype });
  const generated = (folder, name, options) => async () =>
    task(name, await files(folder, kModel), async (run) => [
      ...(await run(kText.toLowerCase(), { max_new_tokens: 8, ...options })).map(withoutCached),
    ]);

  const answers = {
    f32: vectors('f32'),
    f16: vectors('f16'),
    q16: vectors('q16'),
    q8: vectors('q8'),
    q4: vectors('q4'),
    'text-classification': async () =>
      task('text-classification', await withHead('sequence'), async (run) => [...(await run(some, { top_k: null }))]),
    'sentiment-analysis': async () => task('sentiment-analysis', null, async (run) => [...(await run(some))]),
    'zero-shot-classification': async () =>
      task('zero-shot-classification', await withHead('sequence'), (run) => run(kText, ['a river', 'birds', 'the city at night'])),
    'token-classification': async () => task('ner', await withHead('token'), async (run) => [...(await run(kText))]),
    'question-answering': async () =>
      task('question-answering', await withHead('answer'), async (run) => ({ ...(await run('What waits?', kText)) })),
    'fill-mask': async () => task('fill-mask', await withHead('masked_lm'), async (run) => [...(await run('The [MASK] runs.'))]),
    'text-ranking': async () => task('text-ranking', await withHead('ranker'), async (run) => [...(await run('the river', some))]),
    'text-generation': generated('decoders/llama', 'text-generation'),
    'text-generation sampled': generated('decoders/llama', 'text-generation', {
      do_sample: true,
      temperature: 0.9,
      top_p: 0.9,
      seed: 7,
    }),
    'text-generation beams': generated('decoders/llama', 'text-generation', { num_beams: 3 }),
    'text2text-generation': generated('seq2seq/t5', 'text2text-generation'),
    translation: generated('seq2seq/marian', 'translation', { num_beams: 2 }),
    summarization: generated('seq2seq/bart', 'summarization'),
    'zero-shot-ner': async () =>
      task('zero-shot-ner', await files('spans/deberta', kSpans), async (run) => [
        ...(await run(kText, ['person', 'boat', 'place'], { threshold: 0.2 })),
      ]),
    'information-extraction': async () =>
      task('information-extraction', await files('schemas/bert', kSchema), async (run) => {
        const schema = {
          structures: { boat: ['owner::str', 'kind::[old|new]', 'place'] },
          entities: ['person'],
          relations: ['saw'],
          classifications: [{ task: 'mood', labels: ['good', 'bad'] }],
        };
        return await run(some, schema, { include_confidence: true, include_spans: true });
      }),
    'sparse-encoding': async () =>
      task('sparse-encoding', await files('sparse/splade', kSparse), async (run) => [...(await run.encode_document(some))]),
    'late-interaction': async () =>
      task('late-interaction', await files('late-interaction/bert', kColbert), async (run) => {
        const documents = await run.encode_document(some);
        return [[...documents], [...(await run(kText, documents))]];
      }),
    'static embeddings': async () =>
      task('feature-extraction', await files('static/model2vec-int8', kStatic), async (embed) => (await embed(texts)).data),
    async tokenizers() {
      const out = [];
      for (const folder of ['bert-tiny/model', 'decoders/llama', 'seq2seq/t5', 'seq2seq/bart'])
        out.push(await tokenized(await files(folder, ['tokenizer.json', 'tokenizer_config.json']), texts));
      for (const { tokenizer, texts: indices } of parse(await read('tokenizers/components.json')))
        out.push(await tokenized({ 'tokenizer.json': encode(tokenizer) }, indices.map((i) => texts[i].slice(0, 300)))); // prettier-ignore
      return out;
    },
    async 'tokenizer training'() {
      const out = [];
      for (const model of ['bpe', 'wordpiece', 'unigram']) {
        const tokenizer = await AutoTokenizer.train(texts, { model, vocab_size: 700 });
        out.push(tokenizer.toJSON());
        await tokenizer.dispose();
      }
      return out;
    },
    async training() {
      const labelled = texts.map((text, i) => ({ text, label: ['one', 'two', 'three'][i % 3] }));
      const runs = [
        [await files('bert-tiny/model', kTiny), { task: 'feature-extraction' }, labelled],
        [
          await files('bert-tiny/model', kTiny),
          { task: 'text-classification', loss: 'CrossEntropyLoss', method: 'full' },
          labelled,
        ],
        [await files('decoders/llama', kModel), { task: 'text-generation' }, some.map((text) => ({ text: text.slice(0, 40) }))],
        [
          await files('seq2seq/t5', kModel),
          { task: 'text2text-generation', lora_dropout: 0.2 },
          some.map((text) => ({ text: text.slice(0, 40), target: text.slice(0, 20) })),
        ],
      ];
      const out = [];
      for (const [model, options, rows] of runs) {
        const trainer = await Trainer.from_pretrained(model, {
          max_steps: 4,
          batch_size: 6,
          learning_rate: 0.01,
          worker,
          ...options,
        });
        for await (const { loss, grad_norm } of trainer.fit(rows)) out.push(loss, grad_norm);
        const saved = await trainer.save();
        out.push(saved['model.safetensors'] ?? saved['adapter_model.safetensors']);
        await trainer.dispose();
      }
      return out;
    },
    async classifier() {
      const labels = texts.map((text) => (text.length % 3 === 0 ? 'one' : 'other'));
      return task('feature-extraction', null, async (embed) => {
        const all = await embed(texts);
        const classifier = await Classifier.fit(embed, all, labels, { validation: 3 });
        return [[...(await classifier(all, { top_k: null }))], classifier.report];
      });
    },
    async word2vec() {
      const { words, vectors } = await Word2Vec.train(texts.join('\n'), { vector_size: 16, min_count: 2, epochs: 2, seed: 3 });
      return [words, vectors];
    },
    async nn() {
      await nn.ready();
      const layer = new nn.TransformerEncoderLayer(16, 4, { seed: 5 });
      return layer.forward(
        new Tensor(
          'float32',
          Float32Array.from({ length: 160 }, (_, i) => ((i * 37) % 101) / 50 - 1),
          [1, 10, 16],
        ),
      ).data;
    },
  };
  const out = {};
  for (const [name, answer] of Object.entries(answers)) out[name] = await hashOf(await answer());
  return out;
}
