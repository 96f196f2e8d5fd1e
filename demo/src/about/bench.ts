// A small bench: the library's own variants against each other, on this machine, in workers, so that the page stays free.
import { pipeline, type EmbedOptions, type LoadOptions, type ModelSpecifier } from 'wattn';
import { exampleDocs } from '../search/example.js';
import { leastCosine } from '../ui/numbers.js';
import { medianMs, timed } from '../ui/timed.js';

export interface Variant {
  name: string;
  what: string;
  options: LoadOptions;
}

export interface Measured {
  variant: string;
  /** Texts a second: the best round. */
  speed: number;
  tokensPerSecond: number;
  /** One text alone, the median of some; ms. */
  latency: number;
  loadMs: number;
  bytes: number;
  /** Smallest cosine of a text's vector to that of the first variant. */
  agreement: number;
}

const kRounds = 4;

const worker = { worker: true, threads: 1 } as const;

export function variantsHere(): Variant[] {
  const cores = navigator.hardwareConcurrency ?? 1;
  return [
    { name: 'f32', what: 'same results as Python', options: { ...worker, dtype: 'f32' } },
    {
      name: 'f32, fast',
      what: 'fused multiply-add where the engine supports it',
      options: { ...worker, dtype: 'f32', precision: 'fast' },
    },
    { name: 'q16', what: 'half the memory', options: { ...worker, dtype: 'q16' } },
    { name: 'q8', what: 'a quarter of the memory', options: { ...worker, dtype: 'q8' } },
    ...(globalThis.crossOriginIsolated && 'SharedArrayBuffer' in globalThis && cores > 1
      ? [
          {
            name: 'f32, threads',
            what: `${Math.min(4, cores)} threads with shared memory`,
            options: { worker: true, threads: Math.min(4, cores) },
          },
        ]
      : []),
    ...(cores > 1
      ? [{ name: 'q8, 2 workers', what: 'two copies of the model share each call', options: { worker: 2, dtype: 'q8' } as const }]
      : []),
  ];
}

/** Sentences of all lengths, four times each. */
export const benchTexts = () => {
  const lines = exampleDocs.flatMap(({ text }) => text.split('\n\n'));
  return [...lines, ...lines, ...lines, ...lines];
};

/** first: the vectors of the variant that the others are compared with. */
export async function measure(
  variant: Variant,
  source: ModelSpecifier | null,
  options: EmbedOptions & { signal: AbortSignal },
  first: Float32Array | undefined,
): Promise<{ row: Measured; vectors: Float32Array }> {
  const texts = benchTexts();
  const [embed, loadMs] = await timed(() => pipeline('feature-extraction', source, { ...variant.options, signal: options.signal }));
  try {
    const { data, dims, tokens } = await embed(texts, options); // also lets the engine compile what is busy
    const rounds = [];
    for (let round = 0; round < kRounds; ++round) rounds.push((await timed(() => embed(texts, options)))[1]);
    let next = 0;
    const latency = await medianMs(() => embed(texts[next++] as string, options));
    const seconds = Math.min(...rounds) / 1000;
    const row: Measured = {
      variant: variant.name,
      speed: texts.length / seconds,
      tokensPerSecond: tokens.reduce((sum, count) => sum + count, 0) / seconds,
      latency,
      loadMs,
      bytes: embed.memory().total,
      agreement: first ? leastCosine(data, first, dims[1] as number) : 1,
    };
    return { row, vectors: data };
  } finally {
    void embed.dispose();
  }
}
