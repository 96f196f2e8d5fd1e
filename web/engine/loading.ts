// The WebAssembly instance that a model is loaded into, or described by.
import { UnsupportedError } from '../core/errors.js';
import type { SeamModel } from '../host/seam.js';
import { SeamHost } from '../host/seam_host.js';
import { ownFiles } from '../host/own_files.js';
import { modelHandle } from '../host/text_calls.js';
import { planThreads } from '../host/threads.js';
import {
  compileWasm,
  fullWasm,
  instantiateWasm,
  wasmIsGiven,
  type Compiled,
  type Instance,
  type WasmFiles,
} from '../host/wasm_loader.js';
import type { NamedBytes } from '../source/model_files.js';

/** A new instance, and the number of threads it can use. */
async function makeInstance(
  wanted: number | undefined,
  wasm: WasmFiles,
): Promise<{ compiled: Compiled; instance: Instance; threads: number; reason: string | undefined }> {
  const plan = wasmIsGiven() ? { threads: 1, reason: 'env.wasm names the WebAssembly' } : planThreads(wanted);
  if (plan.threads > 1) {
    try {
      const compiled = await compileWasm(true, wasm);
      return { compiled, instance: await instantiateWasm(compiled), ...plan };
    } catch (error) {
      plan.threads = 1;
      plan.reason = `shared memory: ${(error as Error).message}`;
    }
  }
  const compiled = await compileWasm(false, wasm);
  return { compiled, instance: await instantiateWasm(compiled), ...plan };
}

/** A model that is being loaded, in an instance of its own. */
export class Loading {
  private making: Promise<Awaited<ReturnType<typeof makeInstance>> & { host: SeamHost<SeamModel> }>;
  private isOpen = true;

  constructor(
    private readonly threads: number | undefined,
    private wasm: WasmFiles = ownFiles,
  ) {
    this.making = this.make();
    this.making.catch(() => {}); // ask() reports it
  }

  private async make() {
    const made = await makeInstance(this.threads, this.wasm);
    const host = new SeamHost('this model', made.instance, modelHandle(made.instance));
    if (!this.isOpen) host.release();
    return { ...made, host };
  }

  made() {
    return this.making;
  }

  /** The answer of a call. If the entry's own WebAssembly does not support this model, the one with all architectures takes its place. */
  async ask<A extends { code: number; message: string }>(call: (handle: SeamModel) => A): Promise<A> {
    const { host } = await this.making;
    try {
      return host.call(call);
    } catch (error) {
      const full = this.fuller();
      if (!full || !(error instanceof UnsupportedError)) throw error;
      host.release();
      this.wasm = full;
      this.making = this.make();
      return (await this.making).host.call(call);
    }
  }

  /** The header of a GGUF file as the small files of a repository; undefined if the header is longer than these bytes. */
  async ggufFiles(bytes: Uint8Array): Promise<NamedBytes[] | undefined> {
    const { is_cut_off, names, contents } = await this.ask((handle) => handle.gguf_files(bytes));
    return is_cut_off ? undefined : names.map((name, i) => [name, contents[i] as Uint8Array]);
  }

  /** The WebAssembly with all architectures, if that is another one. */
  fuller(): WasmFiles | undefined {
    return this.wasm === ownFiles ? fullWasm() : undefined;
  }

  release(): void {
    this.isOpen = false;
    this.making.then(
      ({ host }) => host.release(),
      () => {},
    );
  }
}
