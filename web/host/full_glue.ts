// The glue code of wattn-full-simd.wasm by itself, for wattn/tokenizer, which loads it when a folder needs that file.
export { default as createModule } from '../../build/wasm-simd/wattn.mjs';
