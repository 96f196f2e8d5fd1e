// The glue code that Emscripten generates for wattn-nn.wasm.
declare module '*/wattn-nn.mjs' {
  export default function createModule(settings: object): Promise<import('./nn_types.js').NnSeam>;
}
