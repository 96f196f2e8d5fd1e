// Compiled by `npm run check`, never run: what the public types must accept and reject.
import { AutoModel, AutoTokenizer, Classifier, env, NetworkError, nn, pipeline, redact, restore, semantic_search, Tensor, WattnError } from 'wattn'; // prettier-ignore
import type { Embeddings, ModelSpecifier, Span, TensorBase } from 'wattn';

export async function models(
  input: HTMLInputElement,
  signal: AbortSignal | undefined,
  blob: Blob,
  model: ModelSpecifier,
): Promise<void> {
  const specifiers: ModelSpecifier[] = [
    'org/name',
    new URL('https://example.org/'),
    input.files as FileList,
    [...(input.files as FileList)],
    { 'config.json': blob, 'tokenizer.json': new ArrayBuffer(3), 'model.safetensors': new Uint8Array(3) },
    new Map([['config.json', new Uint8Array(3)]]),
  ];
  for (const specifier of [...specifiers, model]) await pipeline('feature-extraction', specifier, { signal });
  await pipeline('feature-extraction');
  env.fetch = fetch;
  env.wasm = {
    module: await WebAssembly.compile(new Uint8Array()),
    url: new URL('https://example.org/'),
    binary: new ArrayBuffer(3),
  };
  const classify = await pipeline('sentiment-analysis', model, { worker: true });
  const [first] = await classify('a');
  const score: number | undefined = first?.score;
  const lists: { label: string }[][] = await classify(['a', { text: 'b', text_pair: 'c' }], { top_k: null });
  const ner = await pipeline('ner', model);
  const index: number | undefined = (await ner('a'))[0]?.index;
  const group: string | undefined = (await ner(['a'], { aggregation_strategy: 'max', stride: 3 }))[0]?.[0]?.entity_group;
  const gliner = await pipeline('zero-shot-ner', model);
  const label: string | undefined = (await gliner(['a'], ['b'] as const, { flat_ner: false }))[0]?.[0]?.label;
  const extract = await pipeline('information-extraction', model);
  const schema = {
    entities: { person: {}, city: { dtype: 'str' } },
    structures: { product: ['name::str', { name: 'price' }] },
    relations: ['lives in'],
    classifications: [
      { task: 'mood', labels: ['good', 'bad'] },
      { task: 'topics', labels: { a: 'b' }, multi_label: true },
    ],
  } as const;
  const one = await extract('a', schema);
  const words: string[] = [
    ...one.entities.person,
    one.entities.city ?? '',
    one.mood,
    ...one.topics,
    one.relation_extraction['lives in'][0]![1],
  ];
  const [whole] = await extract(['a'], schema, { include_spans: true, include_confidence: true });
  const numbers: (number | undefined)[] = [
    whole?.relation_extraction['lives in'][0]?.head.start,
    whole?.mood.confidence,
    whole?.windows,
  ];
  const place: unknown = whole?.product[0]?.['name'];
  void [words, numbers, place];
  // @ts-expect-error: no such structure
  void one.products;
  // @ts-expect-error: no such member
  await extract('a', { entites: ['b'] });
  const { text, map } = await redact(gliner, 'a', { labels: 'b', patterns: { email: true, id: /x/ } });
  const many: string[] = (await redact(ner, ['a'], { map })).map((one) => restore(one.text, one.map));
  void [label, text, many];
  // @ts-expect-error: no labels
  await gliner('a');
  // @ts-expect-error: no such pattern
  await redact(null, 'a', { patterns: { iban: 'x' } });
  const answer = await pipeline('question-answering', model);
  const start: number | undefined = (await answer('a', 'b', { max_answer_len: 3 }))?.start;
  const quantised: 'int8' | 'uint8' = (await (await pipeline('feature-extraction', model)).encode_query('a', { precision: 'int8' }))
    .type;
  void [quantised, new Tensor('bool', [true, false], [2])];
  const answers: number = (await answer({ question: 'a', context: 'b' }, { top_k: 3 })).length;
  const classifier = await Classifier.fit(await pipeline('feature-extraction', model), ['a', 'b'], ['x', 'y'], { validation: 2 });
  void [score, lists, index, group, start, answers, classifier.report?.accuracy];
  // @ts-expect-error: no such strategy
  await ner('a', { aggregation_strategy: 'most' });
  // @ts-expect-error: no such task
  await pipeline('feature-extracting', model);
  // @ts-expect-error: no such precision
  await pipeline('feature-extraction', model, { precision: 'sloppy' });
  // @ts-expect-error: no such option
  await pipeline('feature-extraction', model, { devices: 'webgpu' });
  // @ts-expect-error: a tokenizer has no dtype
  await AutoTokenizer.from_pretrained(model, { dtype: 'f32' });
}

export async function embeddings(model: ModelSpecifier): Promise<unknown[]> {
  const embed = await pipeline('feature-extraction', model, {
    progress_callback: (info) => (info.status === 'progress' ? info.loaded / info.total : info.name),
  });
  const out: Embeddings = await embed(['a', 'b'], { pooling: ['cls', 'mean'], on_overflow: 'error' });
  const data: Float32Array = out.data;
  const [first] = out;
  const row: Tensor<'float32'> | undefined = out[0] ?? first;
  const any: Tensor = out;
  const mask: Tensor<'bool'> = out.mul(2).softmax(-1).gt(0.5);
  const places: bigint[] = out.argmax(-1).tolist<bigint[]>();
  const both: TensorBase[] = [out, nn.zeros(2)];
  // @ts-expect-error: nn's tensors have gradients instead of methods that write over them
  const one: Tensor = nn.zeros(2);
  void [mask, places, both, one];
  const score: number | undefined = semantic_search(out, out, { top_k: 2 })[0]?.[0]?.score;
  // @ts-expect-error: no such pooling
  await embed('a', { pooling: 'average' });
  // @ts-expect-error: not a text
  await embed(3);
  return [data, row, any, score, out.tokens.length, out.truncated.length];
}

export async function tokens(model: ModelSpecifier): Promise<unknown[]> {
  const tokenizer = await AutoTokenizer.from_pretrained(model);
  const one = tokenizer('a', { return_tensor: false, return_offsets_mapping: true });
  const ids: number[] = one.input_ids;
  const spans: Span[] | undefined = one.offset_mapping;
  const rows: number[][] = tokenizer(['a'], { return_tensor: false }).input_ids;
  const windows: number[][] = tokenizer('a', { return_tensor: false, max_length: 8, return_overflowing_tokens: true }).input_ids;
  const tensor: Tensor<'int32'> = tokenizer(['a', 'b'], { padding: true }).input_ids;
  const encoder = await AutoModel.from_pretrained(model);
  const { attentions, last_hidden_state } = await encoder(tokenizer('a'), { output_attentions: true });
  const layers: Tensor<'float32'>[] | undefined = attentions;
  // @ts-expect-error: pairs are strings
  tokenizer('a', { text_pair: 3 });
  return [ids, spans, rows, windows, tensor, layers, last_hidden_state.dims, tokenizer.decode([1n]), encoder.config.model_type];
}

export function codeOf(error: unknown): string | undefined {
  if (error instanceof NetworkError) return `${error.url} ${error.status ?? ''}`;
  return error instanceof WattnError ? error.code : undefined;
}

export function training(labels: Tensor): number {
  class Net extends nn.Module {
    layer = new nn.Linear(2, 2);
    scale = new nn.Parameter(nn.ones(2), { requires_grad: true });
    override forward(x: TensorBase): nn.Tensor {
      return this.layer.forward(x).mul(this.scale);
    }
  }
  const net = new Net().train();
  const optimizer = new nn.optim.AdamW([{ params: net.parameters(), lr: 1e-3 }], { betas: [0.9, 0.99] });
  const schedule = nn.optim.get_cosine_schedule_with_warmup(optimizer, { num_training_steps: 10 });
  const loss = new nn.CrossEntropyLoss({ label_smoothing: 0.1 }).forward(net.forward(nn.randn(4, 2, { seed: 1 })), labels);
  loss.backward();
  const gradient: nn.Tensor | null = net.scale.grad;
  const norm: number = nn.utils.clip_grad_norm_(net.parameters(), 1);
  optimizer.step();
  schedule.step();
  const [values, indices] = nn.tensor([[1, 2]]).max(1);
  // @ts-expect-error no such reduction
  nn.functional.mse_loss(values, values, { reduction: 'all' });
  // @ts-expect-error SGD has no betas
  new nn.optim.SGD(net.parameters(), { betas: [0.9, 0.99] });
  return norm + (gradient?.item() ?? 0) + indices.size;
}
