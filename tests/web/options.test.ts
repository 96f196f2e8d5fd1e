// Every public function with options rejects unknown ones, and reads each once, as an own property.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  attribute,
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForSeq2SeqLM,
  AutoTokenizer,
  cache,
  Classifier,
  community_detection,
  describeModel,
  head_scores,
  Index,
  inspectModel,
  k_means,
  nn,
  packModel,
  paraphrase_mining,
  patch_map,
  pipeline,
  quantize_embeddings,
  redact,
  save_adapter,
  semantic_search,
  Tensor,
  Word2Vec,
  WordVectors,
} from 'wattn';
import { loadCounter } from 'wattn/count';
import { Trainer } from 'wattn/train';
import { failure, goldens, headFiles, tiny } from './support.js';
import { wattn } from './cli_support.js';

const x = new Tensor('float32', [1, 2, 3, 4], [2, 2]);
const batch = new Tensor('float32', [1, 2, 3, 4], [1, 2, 2]);
const image = new Tensor('float32', [1, 2, 3, 4], [1, 1, 2, 2]);
const ids = new Tensor('int32', [1, 2], [1, 2]);
const vectors = [[1, 0], [0, 1]]; // prettier-ignore
const words = new WordVectors(['a', 'b'], Float32Array.of(1, 0, 0, 1), 2);
const embedder = async (texts: string[]) => new Tensor('float32', new Float32Array(2 * texts.length).fill(1), [texts.length, 2]);
const layer = { d_model: 2, nhead: 1, dim_feedforward: 2 };
const small = { ...layer, vocab_size: 4, num_layers: 1 };

/** A call with an option that nothing knows, and one that it does know. */
type Case = [name: string, call: (options: any) => unknown, known: string | undefined];

/** Calls that all fail with the same kind of error, whether at once or by their promise. */
async function expectRefused(call: (options: any) => unknown, known: string | undefined): Promise<void> {
  const error = await failure(async () => call({ no_such_option: 1 }));
  expect(error.name).toBe('InputError');
  expect(error.message).toMatch(/^[\w .-]+: unknown option 'no_such_option'; (known options: |it takes no options$)/);
  if (known === undefined) return expect(error.message).toMatch(/it takes no options$/);
  expect(error.message.replace(/.*known options: /, '').split(', ')).toContain(known);
  const misspelt = `${known.slice(0, -1)}_${known.slice(-1)}`;
  if (known.length >= 3) {
    const { message } = await failure(async () => call({ [misspelt]: 1 }));
    expect(message).toContain(`unknown option '${misspelt}'; did you mean '${known}'?`);
  }
}

/** The options that the error for an unknown one lists. */
async function knownOptions(call: (options: any) => unknown): Promise<string[]> {
  const { message } = await failure(async () => call({ no_such_option: 1 }));
  return (/known options: (.*)$/.exec(message)?.[1] ?? '').split(', ').filter((name) => name !== '');
}

/** Where the package reads properties of these names that only Object.prototype has, during a call. It may fail: some need an option. */
async function readsOfPrototype(names: readonly string[], call: () => Promise<unknown>): Promise<string[]> {
  const reads = new Set<string>();
  for (const name of names) {
    Object.defineProperty(Object.prototype, name, {
      configurable: true,
      get() {
        const [, , caller = ''] = new Error().stack!.split('\n');
        if (this !== globalThis && /[\\/]dist[\\/]/.test(caller)) reads.add(`${name} ${caller.trim()}`);
        return undefined;
      },
      set(value) {
        Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
      },
    });
  }
  try {
    await call().catch(() => {});
  } finally {
    for (const name of names) delete (Object.prototype as Record<string, unknown>)[name];
  }
  return [...reads];
}

async function loaded() {
  const [embed, tokenizer, model, causal, seq2seq] = await Promise.all([
    pipeline('feature-extraction', tiny),
    AutoTokenizer.from_pretrained(tiny),
    AutoModel.from_pretrained(tiny),
    AutoModelForCausalLM.from_pretrained(`${goldens}/decoders/qwen2`),
    AutoModelForSeq2SeqLM.from_pretrained(`${goldens}/seq2seq/t5`),
  ]);
  const task = (name: any, files: any): Promise<any> => pipeline(name, files);
  return {
    embed,
    tokenizer,
    model,
    causal,
    seq2seq,
    classify: await task('text-classification', headFiles('sequence')),
    zero_shot: await task('zero-shot-classification', headFiles('sequence')),
    rank: await task('text-ranking', headFiles('ranker')),
    colbert: await task('late-interaction', `${goldens}/late-interaction/bert`),
    sparse: await task('sparse-encoding', `${goldens}/sparse/splade`),
    ner: await task('ner', headFiles('token')),
    zero_shot_ner: await task('zero-shot-ner', `${goldens}/spans/deberta`),
    extract: await task('information-extraction', `${goldens}/schemas/bert`),
    answer: await task('question-answering', headFiles('answer')),
    fill: await task('fill-mask', headFiles('masked_lm')),
    generate: await task('text-generation', `${goldens}/decoders/qwen2`),
    transform: await task('text2text-generation', `${goldens}/seq2seq/t5`),
    countTokens: await loadCounter(tiny),
    trainer: await Trainer.from_pretrained(tiny, { task: 'feature-extraction' }),
    index: await Index.open('options', { store: 'memory' }),
    classifier: await Classifier.fit(embedder as never, new Tensor('float32', [1, 0, 0, 1], [2, 2]), ['a', 'b']),
  };
}

/** A schema with every kind of part. */
const kSchema = {
  entities: ['b'],
  structures: { c: ['d', { name: 'e', choices: ['f'] }] },
  relations: { g: 'h' },
  classifications: [{ task: 'i', labels: ['j', 'k'] }],
};

describe('unknown options', () => {
  let all: Awaited<ReturnType<typeof loaded>>;
  beforeAll(async () => {
    await nn.ready();
    all = await loaded();
  });
  afterAll(async () => {
    for (const each of Object.values(all)) await (each as { dispose?(): unknown }).dispose?.();
  });

  const sgd = () => new nn.optim.SGD([new nn.Parameter(x)]);
  const cases: Case[] = [
    ['pipeline', (o) => pipeline('feature-extraction', tiny, o), 'threads'],
    ['pipeline of a task', (o) => pipeline('ner', tiny, o), 'worker'],
    ['embed', (o) => all.embed('a', o), 'pooling'],
    ['embed.encode_query', (o) => all.embed.encode_query('a', o), 'pooling'],
    ['embed.encode_document', (o) => all.embed.encode_document('a', o), 'truncate_dim'],
    ['text-classification', (o) => all.classify('a', o), 'top_k'],
    ['zero-shot-classification', (o) => all.zero_shot('a', ['b'], o), 'multi_label'],
    ['text-ranking', (o) => all.rank('a', ['b'], o), 'top_k'],
    ['late-interaction', (o) => all.colbert('a', ['b'], o), 'top_k'],
    ['late-interaction.encode_query', (o) => all.colbert.encode_query('a', o), 'prompt_name'],
    ['late-interaction.encode_document', (o) => all.colbert.encode_document('a', o), 'max_length'],
    ['sparse-encoding', (o) => all.sparse('a', o), 'max_active_dims'],
    ['sparse-encoding.encode_query', (o) => all.sparse.encode_query('a', o), 'prompt'],
    ['sparse-encoding.encode_document', (o) => all.sparse.encode_document('a', o), 'prompt'],
    ['sparse-encoding.decode', (o) => all.sparse.decode([], o), 'top_k'],
    ['token-classification', (o) => all.ner('a', o), 'stride'],
    ['zero-shot-ner', (o) => all.zero_shot_ner('a', ['b'], o), 'flat_ner'],
    ['information-extraction', (o) => all.extract('a', kSchema, o), 'include_spans'],
    ['redact', (o) => redact(null, 'a', o), 'patterns'],
    ['question-answering', (o) => all.answer('a', 'b', o), 'doc_stride'],
    ['fill-mask', (o) => all.fill('a', o), 'targets'],
    ['text-generation', (o) => all.generate('a', o), 'num_beams'],
    ['text-generation, streamed', (o) => all.generate.stream('a', o).next(), 'num_beams'],
    ['text2text-generation', (o) => all.transform('a', o), 'num_beams'],
    ['text2text-generation, streamed', (o) => all.transform.stream('a', o).next(), 'num_beams'],
    ['AutoModel', (o) => AutoModel.from_pretrained(tiny, o), 'dtype'],
    ['AutoModelForCausalLM', (o) => AutoModelForCausalLM.from_pretrained(tiny, o), 'dtype'],
    ['AutoModelForSeq2SeqLM', (o) => AutoModelForSeq2SeqLM.from_pretrained(tiny, o), 'dtype'],
    ['a model', (o) => all.model({ input_ids: ids }, o), 'head_mask'],
    ['inputs of a model', (o) => all.model({ input_ids: ids, ...o }), 'attention_mask'],
    ['patch_map', (o) => patch_map(all.model, { input_ids: ids }, { input_ids: ids }, o), 'metric'],
    ['head_scores', (o) => head_scores(all.model, { input_ids: ids }, { from: 0, to: 1, ...o }), 'metric'],
    ['attribute', (o) => attribute(all.model, { input_ids: ids }, o), 'n_steps'],
    ['a decoder', (o) => all.causal({ input_ids: ids }, o), 'output_logits'],
    ['an encoder-decoder', (o) => all.seq2seq({ input_ids: ids, decoder_input_ids: ids }, o), 'cross_attn_head_mask'],
    ['load_adapter', (o) => all.embed.load_adapter(tiny, 'a', o), 'timeout'],
    ['save_adapter', (o) => save_adapter({}, { target_modules: [], ...o }), 'lora_alpha'],
    ['describeModel', (o) => describeModel(tiny, o), 'revision'],
    ['inspectModel', (o) => inspectModel(tiny, o), 'seq'],
    ['packModel', (o) => packModel(tiny, o), 'dtype'],
    ['cache.list', (o) => cache.list('a', o), 'cache_dir'],
    ['cache.has', (o) => cache.has('a', o), 'cache_dir'],
    ['cache.delete', (o) => cache.delete('a', o), 'cache_dir'],
    ['loadCounter', (o) => loadCounter(tiny, o), 'token'],
    ['countTokens', (o) => all.countTokens('a', o), 'add_special_tokens'],
    ['AutoTokenizer.from_pretrained', (o) => AutoTokenizer.from_pretrained(tiny, o), 'token'],
    ['AutoTokenizer.train', (o) => AutoTokenizer.train('a', { model: 'word', ...o }), 'vocab_size'],
    ['tokenizer', (o) => all.tokenizer('a', o), 'padding'],
    ['tokenizer.encode', (o) => all.tokenizer.encode('a', o), 'truncation'],
    ['tokenizer.encode_batch', (o) => all.tokenizer.encode_batch(['a'], o), 'truncation'],
    ['tokenizer.tokenize', (o) => all.tokenizer.tokenize('a', o), 'truncation'],
    ['tokenizer.decode', (o) => all.tokenizer.decode([1], o), 'skip_special_tokens'],
    ['tokenizer.batch_decode', (o) => all.tokenizer.batch_decode([], o), 'skip_special_tokens'],
    ['tokenizer.count', (o) => all.tokenizer.count('a', o), 'add_special_tokens'],
    ['tokenizer.chunk', (o) => all.tokenizer.chunk('a', { max_tokens: 9, ...o }), 'overlap'],
    ['tokenizer.truncate_to', (o) => all.tokenizer.truncate_to('a', 9, o), 'add_special_tokens'],
    ['tokenizer.decode_stream', (o) => all.tokenizer.decode_stream(o), 'skip_special_tokens'],
    ['semantic_search', (o) => semantic_search(vectors, vectors, o), 'top_k'],
    ['Index.open', (o) => Index.open('a', { store: 'memory', ...o }), 'embed'],
    ['Index.delete', (o) => Index.delete('a', { store: 'memory', ...o }), 'store'],
    ['index.add', (o) => all.index.add([], o), 'signal'],
    ['index.update', (o) => all.index.update([], o), 'signal'],
    ['index.search', (o) => all.index.search('a', o), 'top_k'],
    ['paraphrase_mining', (o) => paraphrase_mining(vectors, o), 'top_k'],
    ['community_detection', (o) => community_detection(vectors, o), 'threshold'],
    ['k_means', (o) => k_means(vectors, 1, o), 'n_init'],
    ['quantize_embeddings', (o) => quantize_embeddings(x, 'int8', o), 'ranges'],
    ['Trainer.from_pretrained', (o) => Trainer.from_pretrained(tiny, { task: 'feature-extraction', ...o }), 'learning_rate'],
    ['trainer.fit', (o) => all.trainer.fit([], o), 'validation'],
    ['trainer.plan', (o) => all.trainer.plan(o), 'tokens'],
    ['trainer.embed', (o) => all.trainer.embed('a', o), 'pooling'],
    ['Classifier.fit', (o) => Classifier.fit(embedder as never, ['a', 'b'], ['a', 'b'], o), 'validation'],
    ['Classifier.load', (o) => Classifier.load(embedder as never, tiny, o), 'revision'],
    ['a classifier', (o) => all.classifier('a', o), 'top_k'],
    ['classifier.explain', (o) => all.classifier.explain('a', o), 'label'],
    ['Word2Vec.train', (o) => Word2Vec.train('a', o), 'window'],
    ['words.most_similar', (o) => words.most_similar({ positive: 'a', ...o }), 'topn'],
    ['words.most_similar_cosmul', (o) => words.most_similar_cosmul({ positive: 'a', ...o }), 'topn'],
    ['words.analogy', (o) => words.analogy('a', 'b', 'a', o), 'topn'],
    ['words.save', (o) => words.save(o), 'format'],
    ['WordVectors.load', (o) => WordVectors.load('1 1\na 1\n', o), 'limit'],
    ['nn.ready', (o) => nn.ready(o), 'wasm'],
    ['nn.save_safetensors', (o) => nn.save_safetensors({}, o), 'metadata'],
    ['nn.Dictionary', (o) => new nn.Dictionary(['a'], o), 'level'],
    ['nn.Dictionary.from_corpus', (o) => nn.Dictionary.from_corpus('a', o), 'level'],
    ['dictionary.encode', (o) => new nn.Dictionary(['a']).encode('a', o), 'bos'],
    ['dictionary.encode_batch', (o) => new nn.Dictionary(['a']).encode_batch(['a'], o), 'eos'],
    ['dictionary.decode', (o) => new nn.Dictionary(['a']).decode([0], o), 'skip_special_tokens'],
    ['nn.equivariance', (o) => nn.equivariance((y) => y, x, o), 'seed'],
    ['summary.toString', (o) => nn.summary(new nn.ReLU(), [1]).toString(o), 'columns'],
    ['module.load_state_dict', (o) => new nn.ReLU().load_state_dict({}, o), 'strict'],
    ['module.num_parameters', (o) => new nn.ReLU().num_parameters(o), 'only_trainable'],
    ['nn.tensor', (o) => nn.tensor(1, o), 'requires_grad'],
    ['nn.Parameter', (o) => new nn.Parameter(x, o), 'requires_grad'],
    ['nn.zeros', (o) => nn.zeros(2, o), 'requires_grad'],
    ['nn.rand', (o) => nn.rand([2], o), 'seed'],
    ['tensor.sum', (o) => nn.ones(2).sum(0, o), 'keepdim'],
    ['tensor.var', (o) => nn.ones(2).var(0, o), 'correction'],
    ['tensor.max', (o) => nn.ones(2).max(0, o), 'keepdim'],
    ['tensor.clamp', (o) => nn.ones(2).clamp(o), 'min'],
    ['tensor.backward', (o) => nn.ones(1).backward(null, o), 'retain_graph'],
    ['nn.optim.SGD', (o) => new nn.optim.SGD([new nn.Parameter(x)], o), 'momentum'],
    ['nn.optim.Adam', (o) => new nn.optim.Adam([{ params: [new nn.Parameter(x)], ...o }]), 'betas'],
    ['nn.optim.AdamW', (o) => new nn.optim.AdamW([new nn.Parameter(x)], o), 'weight_decay'],
    ['nn.optim.get_constant_schedule', (o) => nn.optim.get_constant_schedule(sgd(), o), 'num_warmup_steps'],
    ['nn.optim.get_linear_schedule_with_warmup', (o) => nn.optim.get_linear_schedule_with_warmup(sgd(), o), 'num_warmup_steps'],
    ['nn.optim.get_cosine_schedule_with_warmup', (o) => nn.optim.get_cosine_schedule_with_warmup(sgd(), o), 'num_training_steps'],
  ];
  it.each(cases)('of %s', (_, call, known) => expectRefused(call, known));

  const f = nn.functional;
  const functions: Case[] = [
    ['softmax', (o) => f.softmax(x, o), 'dim'],
    ['log_softmax', (o) => f.log_softmax(x, o), 'dim'],
    ['gelu', (o) => f.gelu(x, o), 'approximate'],
    ['one_hot', (o) => f.one_hot(ids, o), 'num_classes'],
    ['layer_norm', (o) => f.layer_norm(x, 2, o), 'weight'],
    ['rms_norm', (o) => f.rms_norm(x, [2], o), 'weight'],
    ['batch_norm', (o) => f.batch_norm(x, x, x, o), 'bias'],
    ['instance_norm', (o) => f.instance_norm(batch, o), 'bias'],
    ['vector_norm', (o) => f.vector_norm(x, o), 'keepdim'],
    ['normalize', (o) => f.normalize(x, o), 'dim'],
    ['avg_pool2d', (o) => f.avg_pool2d(image, 1, o), 'stride'],
    ['max_pool2d', (o) => f.max_pool2d(image, 1, o), 'padding'],
    ['pool_sequence', (o) => f.pool_sequence(batch, o), 'mask'],
    ['scaled_dot_product_attention', (o) => f.scaled_dot_product_attention(x, x, x, o), 'attn_mask'],
    ['dropout', (o) => f.dropout(x, o), 'training'],
    ['cross_entropy', (o) => f.cross_entropy(x, ids, o), 'ignore_index'],
    ['binary_cross_entropy_with_logits', (o) => f.binary_cross_entropy_with_logits(x, x, o), 'pos_weight'],
    ['mse_loss', (o) => f.mse_loss(x, x, o), 'reduction'],
    ['l1_loss', (o) => f.l1_loss(x, x, o), 'reduction'],
    ['kl_div', (o) => f.kl_div(x, x, o), 'reduction'],
    ['cosine_embedding_loss', (o) => f.cosine_embedding_loss(x, x, ids, o), 'margin'],
    ['triplet_margin_loss', (o) => f.triplet_margin_loss(x, x, x, o), 'swap'],
    ['sampling_probabilities', (o) => f.sampling_probabilities(x.get(0), o), 'top_k'],
    ['sinusoidal', (o) => nn.positional.sinusoidal({ length: 2, dim: 2, ...o }), 'form'],
    ['relative_offsets', (o) => nn.positional.relative_offsets({ queries: 2, ...o }), 'past'],
    ['relative_bias', (o) => nn.positional.relative_bias(x.get(0), { queries: 2, ...o }), 'past'],
    ['relative_scores', (o) => nn.positional.relative_scores(x, x, o), 'keys'],
    ['t5_buckets', (o) => nn.positional.t5_buckets({ queries: 2, ...o }), 'num_buckets'],
    ['t5_bias', (o) => nn.positional.t5_bias(x, { queries: 2, ...o }), 'max_distance'],
    ['alibi_bias', (o) => nn.positional.alibi_bias(2, { queries: 2, ...o }), 'keys'],
    ['rotary', (o) => nn.positional.rotary(x, o), 'interleaved'],
  ];
  it.each(functions)('of nn.%s', (_, call, known) => expectRefused(call, known));

  const modules: Case[] = [
    ['Linear', (o) => new nn.Linear(2, 2, o), 'bias'],
    ['Embedding', (o) => new nn.Embedding(2, 2, o), 'seed'],
    ['LayerNorm', (o) => new nn.LayerNorm(2, o), 'eps_form'],
    ['RMSNorm', (o) => new nn.RMSNorm([2], o), 'elementwise_affine'],
    ['BatchNorm1d', (o) => new nn.BatchNorm1d(2, o), 'momentum'],
    ['CrossEntropyLoss', (o) => new nn.CrossEntropyLoss(o), 'label_smoothing'],
    ['BCEWithLogitsLoss', (o) => new nn.BCEWithLogitsLoss(o), 'pos_weight'],
    ['MSELoss', (o) => new nn.MSELoss(o), 'reduction'],
    ['L1Loss', (o) => new nn.L1Loss(o), 'reduction'],
    ['KLDivLoss', (o) => new nn.KLDivLoss(o), 'reduction'],
    ['CosineEmbeddingLoss', (o) => new nn.CosineEmbeddingLoss(o), 'margin'],
    ['TripletMarginLoss', (o) => new nn.TripletMarginLoss(o), 'eps'],
    ['InstanceNorm2d', (o) => new nn.InstanceNorm2d(2, o), 'affine'],
    ['GELU', (o) => new nn.GELU(o), 'approximate'],
    ['Softmax', (o) => new nn.Softmax(o), 'dim'],
    ['AvgPool2d', (o) => new nn.AvgPool2d(2, o), 'stride'],
    ['MaxPool2d', (o) => new nn.MaxPool2d([2, 2], o), 'padding'],
    ['SequencePooling', (o) => new nn.SequencePooling(o), 'mode'],
    ['PositionalEncoding', (o) => new nn.PositionalEncoding(2, o), 'max_len'],
    ['FeedForward', (o) => new nn.FeedForward({ k: 2, ...o }), 'n_mlp'],
    ['SelfAttention', (o) => new nn.SelfAttention({ k: 2, ...o }), 'heads'],
    ['CrossAttention', (o) => new nn.CrossAttention({ k: 2, ...o }), 'k_context'],
    ['MultiheadAttention', (o) => new nn.MultiheadAttention(2, 1, o), 'kdim'],
    ['TransformerEncoderLayer', (o) => new nn.TransformerEncoderLayer({ ...layer, ...o }), 'norm_first'],
    ['TransformerDecoderLayer', (o) => new nn.TransformerDecoderLayer(2, 1, o), 'norm_first'],
    ['TransformerEncoder', (o) => new nn.TransformerEncoder(new nn.TransformerEncoderLayer(layer), 1, o), 'norm'],
    ['TransformerDecoder', (o) => new nn.TransformerDecoder(new nn.TransformerDecoderLayer(layer), 1, o), 'norm'],
    ['Transformer', (o) => new nn.Transformer({ ...layer, ...o }), 'num_encoder_layers'],
    ['TransformerBlock', (o) => new nn.TransformerBlock({ k: 2, ...o }), 'norm_kind'],
    ['SequenceClassifier', (o) => new nn.SequenceClassifier({ ...small, num_classes: 2, ...o }), 'pooling'],
    ['LanguageModel', (o) => new nn.LanguageModel({ ...small, ...o }), 'tie_weights'],
    ['EncoderDecoder', (o) => new nn.EncoderDecoder({ ...layer, src_vocab_size: 4, ...o }), 'tgt_vocab_size'],
  ];
  it.each(modules)('of new nn.%s', (_, call, known) => expectRefused(call, known));

  const encoderLayer = () => new nn.TransformerEncoderLayer(layer);
  const decoderLayer = () => new nn.TransformerDecoderLayer(layer);
  const encoderDecoder = () => new nn.EncoderDecoder({ ...layer, src_vocab_size: 4, num_encoder_layers: 1, num_decoder_layers: 1 });
  const forwards: Case[] = [
    ['Linear', (o) => new nn.Linear(2, 2).forward(x, o), undefined],
    ['Sequential', (o) => new nn.Sequential(new nn.ReLU()).forward(x, o), undefined],
    ['SequencePooling', (o) => new nn.SequencePooling().forward(batch, o), 'key_padding_mask'],
    ['PositionalEncoding', (o) => new nn.PositionalEncoding(2).forward(batch, o), 'cache'],
    ['SelfAttention', (o) => new nn.SelfAttention({ k: 2 }).forward(batch, o), 'attn_mask'],
    ['CrossAttention', (o) => new nn.CrossAttention({ k: 2 }).forward(batch, batch, o), 'key_padding_mask'],
    ['MultiheadAttention', (o) => new nn.MultiheadAttention(2, 1).forward(batch, batch, batch, o), 'average_attn_weights'],
    ['TransformerEncoderLayer', (o) => encoderLayer().forward(batch, o), 'src_mask'],
    ['TransformerDecoderLayer', (o) => decoderLayer().forward(batch, batch, o), 'memory_mask'],
    ['TransformerEncoder', (o) => new nn.TransformerEncoder(encoderLayer(), 1).forward(batch, o), 'src_key_padding_mask'],
    ['TransformerDecoder', (o) => new nn.TransformerDecoder(decoderLayer(), 1).forward(batch, batch, o), 'tgt_is_causal'],
    ['Transformer', (o) => new nn.Transformer(layer).forward(batch, batch, o), 'tgt_mask'],
    ['TransformerBlock', (o) => new nn.TransformerBlock({ k: 2 }).forward(batch, o), 'need_weights'],
    ['SequenceClassifier', (o) => new nn.SequenceClassifier({ ...small, num_classes: 2 }).forward(ids, o), 'key_padding_mask'],
    ['LanguageModel', (o) => new nn.LanguageModel(small).forward(ids, o), 'key_padding_mask'],
    ['LanguageModel, generate', (o) => new nn.LanguageModel(small).generate([1], o), 'num_beams'],
    ['EncoderDecoder', (o) => encoderDecoder().forward(ids, ids, o), 'tgt_key_padding_mask'],
    ['EncoderDecoder, generate', (o) => encoderDecoder().generate(ids, [1], o), 'num_beams'],
  ];
  it.each(forwards)('of the forward of nn.%s', (_, call, known) => expectRefused(call, known));

  // A property of Object.prototype is one of every object that does not have it. So nothing may look for an option there, not even in an object
  // that wattn made itself.
  it.each([...cases, ...functions, ...modules, ...forwards])('of %s are not looked for in Object.prototype', async (_, call) => {
    const known = await knownOptions(call);
    for (const given of [undefined, {}]) {
      const reads = await readsOfPrototype(known, async () => call(given));
      expect(reads).toEqual([]);
    }
  });

  // A getter may give something else the second time, after it was checked.
  it.each([...cases, ...functions, ...modules, ...forwards])('of %s are read once', async (_, call) => {
    const reads: Record<string, number> = {};
    const given = {};
    for (const name of await knownOptions(call)) {
      const get = () => void (reads[name] = (reads[name] ?? 0) + 1);
      Object.defineProperty(given, name, { enumerable: true, get });
    }
    await failure(async () => call(given)).catch(() => {});
    expect(Object.entries(reads).filter(([, times]) => times > 1)).toEqual([]);
  });

  it('refuse NaN where a number is asked for', async () => {
    const { message } = await failure(() => all.index.search('a', { weights: { words: NaN } }));
    expect(message).toBe("Index.search: option 'weights': option 'words': expected a finite number, found NaN");
  });

  // A model that got a number in place of a text could not go on.
  it('beside texts: texts are read once', async () => {
    const lists: [string, (texts: string[]) => unknown][] = [
      ['embed', (texts) => all.embed(texts)],
      ['encode_query', (texts) => all.embed.encode_query(texts)],
      ['tokenizer', (texts) => all.tokenizer(texts)],
      ['text_pair', (texts) => all.tokenizer(['a', 'b'], { text_pair: texts })],
      ['count', (texts) => all.tokenizer.count(texts)],
      ['convert_tokens_to_ids', (texts) => all.tokenizer.convert_tokens_to_ids(texts)],
      ['text-classification', (texts) => all.classify(texts)],
      ['zero-shot-classification', (texts) => all.zero_shot(texts, ['b'])],
      ['labels', (texts) => all.zero_shot('a', texts)],
      ['text-ranking', (texts) => all.rank('a', texts)],
      ['late-interaction', (texts) => all.colbert('a', texts)],
      ['sparse-encoding', (texts) => all.sparse(texts)],
      ['ner', (texts) => all.ner(texts)],
      ['zero-shot-ner', (texts) => all.zero_shot_ner(texts, ['b'])],
      ['information-extraction', (texts) => all.extract(texts, { entities: ['b'] })],
      ['entities', (texts) => all.extract('a', { entities: texts })],
      ['contexts', (texts) => all.answer(['a', 'b'], texts)],
      ['text-generation', (texts) => all.generate(texts, { max_new_tokens: 1 })],
      ['text2text-generation', (texts) => all.transform(texts, { max_new_tokens: 1 })],
      ['redact', (texts) => redact(null, texts)],
      ['a classifier', (texts) => all.classifier(texts)],
    ];
    for (const [name, call] of lists) {
      let reads = 0;
      const texts = ['a', 'b'];
      Object.defineProperty(texts, 1, { get: () => (++reads === 1 ? 'b' : 7) });
      const error = await Promise.resolve()
        .then(() => call(texts))
        .then(() => undefined, (reason: Error) => reason.name); // prettier-ignore
      expect([name, reads, error]).toEqual([name, 1, undefined]);
    }
    expect((await all.embed('still there')).dims).toHaveLength(2);
  });

  it('are used as they were read', () => {
    const files = readdirSync('web', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const unused = files.filter((file) => /^\s*(await )?readOptions\(/m.test(readFileSync(join('web', file), 'utf8')));
    expect(files.length).toBeGreaterThan(100);
    expect(unused).toEqual([]);
  });

  it.each(['embed', 'classify', 'rank', 'run', 'generate', 'tokenize', 'inspect', 'pack'])('of wattn %s', async (command) => {
    const { error, code } = await wattn([command, '--no-such-option', '--modle', 'x']);
    expect(code).toBe(2);
    expect(error).toMatch(new RegExp(`^wattn: wattn ${command}: unknown option '--no-such-option'; .*known options: --model, `));
    expect((await wattn([command, '--modell', 'x'])).error).toContain("'--modell'; did you mean '--model'?");
  });
});

describe('masks of whole models in nn', () => {
  beforeAll(() => nn.ready());
  const long = new Tensor('int32', [1, 2, 3, 0, 0], [1, 5]);
  const short = new Tensor('int32', [1, 2, 3], [1, 3]);
  const padding = new Tensor('bool', [0, 0, 0, 1, 1], [1, 5]);
  const close = (a: nn.Tensor, b: nn.Tensor) =>
    a.data.forEach((value, i) => expect(Math.abs(Number(value) - Number(b.data[i]))).toBeLessThan(1e-6));

  it('leave padding out of a classifier, under both names', () => {
    const model = new nn.SequenceClassifier({ ...small, num_classes: 3, seed: 1 });
    const alone = model.forward(short);
    close(model.forward(long, { key_padding_mask: padding }), alone);
    close(model.forward(long, { src_key_padding_mask: padding }), alone);
    expect(() => model.forward(long, { key_padding_mask: padding, src_key_padding_mask: padding })).toThrow(/found both/);
  });

  it('leave padding out of a language model', () => {
    const model = new nn.LanguageModel({ ...small, positions: 'none', seed: 2 });
    const left = new Tensor('int32', [0, 0, 1, 2, 3], [1, 5]);
    const mask = new Tensor('bool', [1, 1, 0, 0, 0], [1, 5]);
    close(model.forward(left, { key_padding_mask: mask }).slice(null, [2, 5]), model.forward(short));
  });

  it('leave padding out of source and target of an encoder-decoder', () => {
    const model = new nn.EncoderDecoder({ ...layer, src_vocab_size: 4, seed: 3, positions: 'none' });
    close(model.forward(long, short, { src_key_padding_mask: padding }), model.forward(short, short));
    const left = new Tensor('int32', [0, 0, 1, 2, 3], [1, 5]);
    const mask = new Tensor('bool', [1, 1, 0, 0, 0], [1, 5]);
    close(model.forward(short, left, { tgt_key_padding_mask: mask }).slice(null, [2, 5]), model.forward(short, short));
  });

  it('return attention weights if need_weights is set', () => {
    const [logits, weights] = new nn.LanguageModel({ ...small, seed: 4 }).forward(short, { need_weights: true });
    expect([logits.dims, weights.dims]).toEqual([
      [1, 3, 4],
      [1, 3, 3],
    ]);
  });
});
