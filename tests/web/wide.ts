// Wider versions of the tiny models in tests/goldens, with new weights: rows have whole groups of 64, as in real models.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, Tensor, type LoadOptions } from 'wattn';
import { changed, floats } from './safetensors.js';
import { filesOf, type Files } from './support.js';

/** Folders of goldens that wideFiles() takes, by the kind of model. */
export const kFamilies = {
  encoder: [
    ...['bert-tiny/model', 'eurobert/base', 'hub_layouts/nomic-moe', 'hub_layouts/jina-v3'],
    ...'modernbert albert gte xlm-roberta electra mpnet nomic-bert-first deberta-v3 gte-new jina-bert nomic-bert deberta-v2 camembert distilbert'
      .split(' ')
      .map((name) => `architectures/${name}`),
    ...'deberta deberta-v3-conv albert-groups megatron-bert ernie roformer xlm esm esm-1b longformer mobilebert convbert'
      .split(' ')
      .map((name) => `variants/encoders/${name}`),
  ],
  decoder: [
    ...'llama smollm gemma3 gemma mistral qwen2 qwen3 gpt2 gemma2'.split(' ').map((name) => `decoders/${name}`),
    ...'phi3 phi gpt-neox-in-turn smollm3 gpt-neox phi3-partial opt granite stablelm-parallel stablelm olmo2 lfm2-bias qwen3-5 gpt-neo gpt-bigcode bloom starcoder2 arcee exaone4 olmo3 granite-4 cohere cohere2 ernie4-5 glm glm4 gptj helium hunyuan ministral vaultgemma codegen exaone minicpm mobilellm ministral3 modernbert-decoder mpt nanochat olmo'
      .split(' ')
      .map((name) => `variants/decoders/${name}`),
  ],
  'encoder-decoder': [
    ...'bart marian t5 flan-t5'.split(' ').map((name) => `seq2seq/${name}`),
    ...'pegasus m2m-100 umt5 mbart mt5 blenderbot blenderbot-small longt5 led'.split(' ').map((name) => `variants/seq2seq/${name}`),
  ],
};
const ids = new Tensor('int64', [4n, 5n, 6n, 4n, 7n, 8n], [2, 3]);

/** The logits of such a model, or its last hidden state, as q8. */
export async function answerOf(
  kind: string,
  model: Files | { 'model.gguf': Uint8Array } | string,
  more: LoadOptions = {},
): Promise<number[]> {
  const options = { dtype: 'q8', threads: 1, ...more } as const;
  const Class = { encoder: AutoModel, decoder: AutoModelForCausalLM, 'encoder-decoder': AutoModelForSeq2SeqLM }[kind] as any;
  const loaded = await Class.from_pretrained(model, options);
  const inputs = { input_ids: ids, ...(kind === 'encoder-decoder' && { decoder_input_ids: ids }) };
  const { logits, last_hidden_state } = await loaded(inputs);
  await loaded.dispose();
  return [...(logits ?? last_hidden_state).data];
}

/** Members of config.json that are widths. */
const kWidths =
  /^(hidden_size|d_model|emb_dim|n_embd|dim|intermediate_size|d_ff|n_inner|hidden_dim|ffn_dim|(en|de)coder_ffn_dim|head_dim|linear_(?:key|value)_head_dim|d_kv|embedding_size|intra_bottleneck_size|true_hidden_size|word_embed_proj_dim|moe_intermediate_size|global_head_dim|pooler_hidden_size|shared_intermediate_size)$/;
/** Tables, heads and routers have as many rows as there are words, positions, labels or experts. */
const kOtherRows =
  /(?<!encoder\.)embed(?!dings_project|ding_hidden|dings\.embedding_tr|ding_tr)|wte|wpe|shared(?!_mlp)|router|parametrizations|positions|lm_head(?!\.dense)|classifier(?!\.dense)|score|decoder\.weight|predictions|relative_attention_bias|qa_outputs|conv_kernel_layer|count_pred\.2|pos_embedding/;

/** The tokenizer of models whose goldens begin with ids. */
const kTokenizer = {
  version: '1.0',
  added_tokens: [],
  pre_tokenizer: { type: 'Whitespace' },
  model: { type: 'WordLevel', vocab: { '[UNK]': 3, the: 4, old: 5, bridge: 6, abc: 7, cab: 8 }, unk_token: '[UNK]' },
};

const parsed = (bytes: Uint8Array | undefined): any => JSON.parse(new TextDecoder().decode(bytes));

/** The files of a folder with all widths times the least number that makes them multiples of 64. */
export function wideFiles(folder: string): Files {
  const files = filesOf(folder);
  // A few have no tokenizer beside them.
  if (![...files.keys()].some((name) => /^(tokenizer\.json|.*\.(model|spm)|vocab\..*)$/.test(name))) {
    files.set('tokenizer.json', new TextEncoder().encode(JSON.stringify(kTokenizer)));
    // The class of most model types allows no such tokenizer.
    files.set('tokenizer_config.json', new TextEncoder().encode('{"tokenizer_class":"PreTrainedTokenizerFast"}'));
  }
  const configs = ['config.json', 'encoder_config/config.json', 'gliner_config.json']
    .filter((name) => files.has(name))
    .map((name) => [name, parsed(files.get(name))] as const);
  const widths = new Set<number>();
  const visit = (one: any, change: (value: number) => number) => {
    for (const [key, value] of Object.entries(one)) {
      if (kWidths.test(key) && typeof value === 'number') one[key] = change(value);
      else if (typeof value === 'object' && value !== null && !Array.isArray(value)) visit(value, change);
    }
  };
  for (const [, config] of configs) visit(config, (value) => (widths.add(value), value));
  let factor = 1;
  while ([...widths].some((width) => width >= 16 && (width * factor) % 64 !== 0)) ++factor; // a head's width is no row's
  for (const [name, config] of configs) {
    visit(config, (value) => value * factor);
    files.set(name, new TextEncoder().encode(JSON.stringify(config)));
  }
  const vocab = configs[0]?.[1].vocab_size;
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5;
  for (const name of [...files.keys()].filter((each) => each.endsWith('.safetensors'))) {
    const weights = changed(readFileSync(join(folder, name)), (tensors) => {
      for (const [tensor, { shape }] of [...tensors]) {
        const isTable = kOtherRows.test(tensor.replace(/^(count_embed|scorer|classifier\.0)\./, '')) && shape.length === 2;
        const wide = shape.map((size, axis) =>
          (isTable && axis === 0) ||
          axis > 1 ||
          /relative_attention_bias/.test(tensor) ||
          size === vocab ||
          size < 4 ||
          /^count_pred\.2\.bias$|conv_kernel_layer\.bias$/.test(tensor)
            ? size
            : size * factor,
        );
        const norm = shape.length === 1 && /weight$/.test(tensor) ? 1 : 0;
        tensors.set(
          tensor,
          floats(wide, () => norm + (shape.length > 1 ? 0.3 * random() ** 3 : 0.2 * random())),
        );
      }
    });
    files.set(name, weights);
  }
  return files;
}
