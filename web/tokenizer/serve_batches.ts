// The worker's side of encode_batch: a tokenizer alone.
import type { NamedBytes } from '../source/model_files.js';
import type { BatchPart, EncodedPart } from './batch_protocol.js';
import { startHost, type TokenizerHost } from './start.js';

export class BatchServer {
  private constructor(private readonly host: TokenizerHost) {}

  static async load(files: readonly NamedBytes[]): Promise<BatchServer> {
    const { host } = await startHost(undefined, async (host) => {
      host.call((handle) => handle.load([...files]));
      return [];
    });
    return new BatchServer(host);
  }

  encode({ texts, pairs, seam }: BatchPart): EncodedPart {
    const { ids, lengths } = this.host.call((handle) => handle.encode(texts, pairs, seam));
    return { ids, lengths };
  }
}
