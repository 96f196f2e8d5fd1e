import type { DistilledPipeline, DistillOptions, FeatureExtractionPipeline } from '../tasks/embed_types.js';

/**
 * Makes static embeddings from a loaded encoder, by model2vec's recipe. Each token of the vocabulary runs through the encoder. The vectors are reduced
 * to their principal components and weighted by how rare the token is. The result embeds texts without the encoder. You may dispose the encoder
 * afterwards. Costs one pass over three tokens for each token of the vocabulary. `signal` cancels it quickly.
 *
 * Throws an `InputError` if `extractor` is not a `'feature-extraction'` pipeline, and an `UnsupportedError` for a model without a tokenizer.json.
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
