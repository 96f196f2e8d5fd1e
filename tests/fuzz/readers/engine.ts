// Readers that use TypeScript and the engine together, tested through the shipped package.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Files } from './mutator.js';
import { folder, from } from './plain.js';
import type { Target } from './target.js';

/** Weights and large vocabularies are read by the engine, whose parsers have targets of their own. */
const kSmall = /^(?!.*(tokenizer\.json|\.safetensors|\.gguf|\.bin|\.txt|\.f32)$)/;

export async function engine(): Promise<Target[]> {
  const entry = (name: string) => import(pathToFileURL(join(process.cwd(), 'dist', name)).href);
  const { AutoTokenizer, env, Index, packModel, pipeline } = await entry('node.js');
  const { Trainer } = await entry('train_entry_node.js');
  env.useCache = false;
  const tiny = folder('bert-tiny/model');
  const llama = folder('decoders/llama');
  const embed = await pipeline('feature-extraction', tiny);

  const run =
    (task: string, ask: (pipe: any) => unknown, options: object = {}) =>
    async (files: Files) => {
      const pipe = await pipeline(task, files, { threads: 1, ...options });
      try {
        await ask(pipe);
      } finally {
        await pipe.dispose();
      }
    };

  const rows = [
    { text: 'the river', label: 'a' },
    { text: 'a boat', label: 'b' },
  ];
  const fit = async (options: object = {}): Promise<Uint8Array> => {
    const trainer = await Trainer.from_pretrained(tiny, { task: 'text-classification', max_steps: 2, batch_size: 2, r: 2 });
    try {
      for await (const report of trainer.fit(rows, options)) void report;
      return await trainer.state();
    } finally {
      await trainer.dispose();
    }
  };

  const notes = await Index.open('notes', { store: 'memory' });
  await notes.add([
    { id: 'a', text: 'one text' },
    { id: 'b', text: 'two', more: { n: [1, null] } },
  ]);
  const exported = new Map([['index', (await notes.export()) as Uint8Array]]);
  await notes.dispose();

  const write = await pipeline('text-generation', llama, { threads: 1 });
  const prefix = new Map([['prefix', (await write.save_prefix('abc what abc')) as Uint8Array]]);

  return [
    {
      name: 'tokenizer of a GGUF file',
      seeds: ['gguf/types.gguf', 'gguf/q4_0.gguf'].map((path) => from('', path)),
      weight: 3,
      read: async (files) => {
        const tokenizer = await AutoTokenizer.from_pretrained(new Map([['x.gguf', [...files.values()][0] ?? new Uint8Array()]]));
        tokenizer.encode('the river');
        await tokenizer.dispose();
      },
    },
    {
      name: 'small files of an embedder',
      seeds: [tiny, folder('static/model2vec-int8')],
      only: kSmall,
      weight: 3,
      read: run('feature-extraction', (pipe) => pipe('the river')),
    },
    {
      name: 'small files of a decoder',
      seeds: [llama],
      only: kSmall,
      weight: 3,
      read: run('text-generation', (pipe) => pipe('abc', { max_new_tokens: 2 })),
    },
    {
      name: 'small files of GLiNER',
      seeds: [folder('spans/bert'), folder('spans_bi/deberta')],
      only: kSmall,
      weight: 1,
      read: run('zero-shot-ner', (pipe) => pipe('the river', ['a place'])),
    },
    {
      name: 'an adapter of a pipeline',
      seeds: [from('peft/bert', 'adapter_config.json', 'adapter_model.safetensors')],
      weight: 2,
      read: async (files) => {
        const pipe = await pipeline('feature-extraction', tiny, { adapter: files, threads: 1 });
        await pipe.dispose();
      },
    },
    {
      name: 'what is packed',
      seeds: [tiny, llama],
      only: /\.json$/,
      weight: 2,
      read: (files) => packModel(files, { dtype: 'q8', layers: [0] }),
    },
    { name: 'state of training', seeds: [new Map([['state.safetensors', await fit()]])], weight: 1, read: (files) => fit({ resume_from_checkpoint: files.get('state.safetensors') ?? new Uint8Array() }) }, // prettier-ignore
    {
      name: 'saved prefix',
      seeds: [prefix],
      weight: 1,
      read: (files) => write.load_prefix(files.get('prefix') ?? new Uint8Array()),
    },
    {
      name: 'exported index',
      seeds: [exported],
      weight: 3,
      read: async (files) => {
        const index = await Index.open('read', { store: 'memory', embed });
        try {
          await index.import_file(files.get('index') ?? new Uint8Array());
        } finally {
          await index.dispose();
        }
      },
    },
  ];
}
