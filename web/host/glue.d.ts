// The glue that Emscripten writes; both wasm files of the whole library share theirs.
declare module '*/wattn.mjs' {
  interface Wishes {
    print?: (text: string) => void;
    printErr?: (text: string) => void;
    wasmMemory?: WebAssembly.Memory;
    instantiateWasm?: (imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) => object;
  }
  export default function createModule(wishes: Wishes): Promise<import('./seam.js').SeamModule>;
}
declare module '*/wattn-tokenizer.mjs' {
  export default function createModule(wishes: object): Promise<import('./seam.js').SeamModule>;
}
declare module '*/wattn-nn.mjs' {
  export default function createModule(wishes: object): Promise<import('./nn_seam.js').NnSeam>;
}
