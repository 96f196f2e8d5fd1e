// The glue that Emscripten writes; both wasm files share it.
declare module '*/wattn.mjs' {
  interface Wishes {
    print?: (text: string) => void;
    printErr?: (text: string) => void;
    wasmMemory?: WebAssembly.Memory;
    instantiateWasm?: (imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) => object;
  }
  export default function createModule(wishes: Wishes): Promise<import('./seam.js').SeamModule>;
}
