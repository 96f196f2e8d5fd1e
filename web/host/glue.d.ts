// The glue code that Emscripten generates. The .wasm files with models share one.
declare module '*/wattn.mjs' {
  interface Settings {
    print?: (text: string) => void;
    printErr?: (text: string) => void;
    wasmMemory?: WebAssembly.Memory;
    instantiateWasm?: (imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) => object;
  }
  export default function createModule(settings: Settings): Promise<import('./seam.js').SeamModule>;
}
declare module '*/wattn-tokenizer.mjs' {
  export default function createModule(settings: object): Promise<import('./seam.js').SeamModule>;
}
declare module '*/wattn-nn.mjs' {
  export default function createModule(settings: object): Promise<import('./nn_types.js').NnSeam>;
}
