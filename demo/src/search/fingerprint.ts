// Knows a model again by what it computes: the vector of a fixed text has the same bits on every machine, in every batch.
import type { EmbedOptions, FeatureExtractionPipeline } from 'wattn';

const kText = 'A model is known by the vector it gives this sentence.';

/** FNV-1a of the vector's bytes, 64 bits, and how long it is. */
export async function fingerprintOf(embed: FeatureExtractionPipeline, options: EmbedOptions): Promise<string> {
  const { data } = await embed.encode_document(kText, options);
  let hash = 0xcbf29ce484222325n;
  for (const byte of new Uint8Array(data.buffer, data.byteOffset, data.byteLength)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return `${data.length}-${hash.toString(16).padStart(16, '0')}`;
}
