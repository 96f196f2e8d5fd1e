// What packing uses of the code that every page loads. pack.ts passes it on: an import would divide that code into more files.
import type { openGguf } from '../source/gguf_file.js';
import type { loadFrom } from '../source/load_from.js';
import type { openModel } from '../source/model_source.js';
import type { openModelFiles, openWeightFile, streamWeights } from '../source/weight_files.js';
import type { AutoTokenizer } from '../tokenizer/tokenizer.js';
import type { NamedBytes } from '../source/model_files.js';
import type { pipeline } from '../tasks/pipeline.js';
import type { Engine } from '../engine/engine.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';

export interface PackParts {
  openGguf: typeof openGguf;
  loadFrom: typeof loadFrom;
  openModel: typeof openModel;
  openModelFiles: typeof openModelFiles;
  openWeightFile: typeof openWeightFile;
  streamWeights: typeof streamWeights;
  AutoTokenizer: typeof AutoTokenizer;
  pipeline: typeof pipeline;
  /** The model whole, in the WebAssembly that has all calls. */
  loadWhole: (model: ModelSpecifier, options: SourceOptions) => Promise<Engine>;
  blocksOf: (files: readonly NamedBytes[], names: readonly string[]) => Promise<Uint8Array>;
}
