// `dtype: 'native'` holds the numbers that wattn multiplies with q8, whatever the family: the packed file gives the bits of the original.
import { join } from 'node:path';
import { AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, packModel, Tensor } from 'wattn';
import { goldens, type Files } from './support.js';
import { wideFiles } from './wide.js';

const kFolders = {
  encoder: [
    ...['bert-tiny/model', 'eurobert/base', 'hub_layouts/nomic-moe', 'hub_layouts/jina-v3'],
    ...'modernbert albert gte xlm-roberta electra mpnet nomic-bert-first deberta-v3 gte-new jina-bert nomic-bert deberta-v2 camembert distilbert'
      .split(' ')
      .map((name) => `architectures/${name}`),
    ...'deberta deberta-v3-conv albert-groups megatron-bert ernie'.split(' ').map((name) => `variants/encoders/${name}`),
  ],
  decoder: [
    ...'llama smollm gemma3 gemma mistral qwen2 qwen3 gpt2 gemma2'.split(' ').map((name) => `decoders/${name}`),
    ...'phi3 phi gpt-neox-in-turn smollm3 gpt-neox phi3-partial opt granite stablelm-parallel stablelm olmo2 lfm2-bias gpt-neo gpt-bigcode bloom starcoder2 arcee exaone4 olmo3 granite-4 cohere cohere2 ernie4-5 glm glm4 gptj helium hunyuan ministral vaultgemma'
      .split(' ')
      .map((name) => `variants/decoders/${name}`),
  ],
  'encoder-decoder': [
    ...'bart marian t5 flan-t5'.split(' ').map((name) => `seq2seq/${name}`),
    ...'pegasus m2m-100 umt5 mbart mt5 blenderbot'.split(' ').map((name) => `variants/seq2seq/${name}`),
  ],
};
const ids = new Tensor('int64', [4n, 5n, 6n, 4n, 7n, 8n], [2, 3]);

async function answerOf(kind: string, model: Files | { 'model.gguf': Uint8Array }): Promise<number[]> {
  const options = { dtype: 'q8', threads: 1 } as const;
  const Class = { encoder: AutoModel, decoder: AutoModelForCausalLM, 'encoder-decoder': AutoModelForSeq2SeqLM }[kind] as any;
  const loaded = await Class.from_pretrained(model, options);
  const inputs = { input_ids: ids, ...(kind === 'encoder-decoder' && { decoder_input_ids: ids }) };
  const { logits, last_hidden_state } = await loaded(inputs);
  await loaded.dispose();
  return [...(logits ?? last_hidden_state).data];
}

describe.each(Object.entries(kFolders))("dtype: 'native' of an %s", (kind, folders) => {
  it.each(folders)('has the bits of q8: %s', async (folder) => {
    const files = wideFiles(join(goldens, folder));
    const bytes = await packModel(files, { dtype: 'native' });
    // Most of it is in 8 bits. GPT-2 stores matrices by columns, which are no groups; experts are no matrices.
    const ratio = bytes.length / (files.get('model.safetensors') as Uint8Array).length;
    expect([ratio, ratio < 0.6]).toEqual([ratio, !/gpt2|moe/.test(folder)]);
    expect(await answerOf(kind, { 'model.gguf': bytes })).toEqual(await answerOf(kind, files));
  });
});
