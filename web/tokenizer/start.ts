// Starts WebAssembly for a tokenizer without a model.
import { abortable } from '../core/signal.js';
import { UnsupportedError } from '../core/errors.js';
import type { AbortSignalLike } from '../core/types.js';
import type { NamedBytes } from '../source/model_files.js';
import type { SeamTokenizerHandle } from '../host/seam.js';
import { SeamHost } from '../host/seam_host.js';
import { tokenizerHandle } from '../host/text_calls.js';
import { ownFiles } from '../host/own_files.js';
import { compileWasm, fullWasm, instantiateWasm } from '../host/wasm_loader.js';

export type TokenizerHost = SeamHost<SeamTokenizerHandle>;
/** Loads a tokenizer into a handle, and gives its files. */
export type LoadInto = (host: TokenizerHost) => Promise<NamedBytes[]>;

/**
 * An instance of its own, into which `load` puts a tokenizer. wasm: instead of the entry's own, which may lack what is
 * rare.
 */
export async function startHost(
  signal: AbortSignalLike | undefined,
  load: LoadInto,
  wasm = ownFiles,
): Promise<{ host: TokenizerHost; files: NamedBytes[] }> {
  const instance = await abortable(instantiateWasm(await abortable(compileWasm(false, wasm), signal)), signal);
  const host = new SeamHost('this tokenizer', instance, tokenizerHandle(instance));
  try {
    return { host, files: await load(host) };
  } catch (error) {
    const full = wasm === ownFiles ? fullWasm() : undefined;
    if (!full || !(error instanceof UnsupportedError)) throw error;
    host.release();
    return startHost(signal, load, full);
  }
}

/** Compiles the file that startHost takes, in parallel to other work. */
export const compileOwn = () => compileWasm(false, ownFiles);
