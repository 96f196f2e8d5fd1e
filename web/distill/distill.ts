import type { DistilledPipeline, DistillOptions, FeatureExtractionPipeline } from '../tasks/embed_types.js';

/**
 * Makes static embeddings from a loaded encoder, by model2vec's recipe. Each token of the vocabulary runs through the encoder. The vectors
 * are reduced to their principal components and weighted by how rare the token is. The result embeds texts without the encoder. It is
 * independent of the encoder, which may be disposed. Takes a pass over three tokens for each token of the vocabulary; ends within
 * moments of `signal`.
 *
 * Errors: `InputError` for what is not a `'feature-extraction'` pipeline, `UnsupportedError` for a model without a tokenizer.json.
 *
 *     const encoder = await pipeline('feature-extraction', 'BAAI/bge-base-en-v1.5', { worker: true });
 *     const small = await distill(encoder, { pca_dims: 256 });
 *     await small(['a text', 'another one']);
 *     for (const [name, bytes] of Object.entries(small.save())) await writeFile(`out/${name}`, bytes);
 *
 * @example
 * const encoder = await pipeline('feature-extraction', './models/bert');
 * const small = await distill(encoder, { pca_dims: 'auto' });
 * const files = small.save();
 */
export async function distill(extractor: FeatureExtractionPipeline, options?: DistillOptions | null): Promise<DistilledPipeline> {
  return (await import('./distillation.js')).distill(extractor, options ?? {});
}
