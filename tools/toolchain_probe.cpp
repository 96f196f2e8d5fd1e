// What tools/setup.mjs compiles to see that an Emscripten works: Embind without `new Function`, SIMD, relaxed SIMD.
#include <emscripten/bind.h>
#include <wasm_simd128.h>

// 16 * value, where value is not known to the compiler: binaryen 120 aborts on folding a constant relaxed dot product.
int dot(int value) {
  v128_t a = wasm_i8x16_splat(static_cast<int8_t>(value));
  v128_t b = wasm_i8x16_splat(1);
#ifdef __wasm_relaxed_simd__
  v128_t sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, wasm_i32x4_splat(0));
#else
  v128_t products = wasm_i16x8_add(wasm_i16x8_extmul_low_i8x16(a, b), wasm_i16x8_extmul_high_i8x16(a, b));
  v128_t sums = wasm_i32x4_extadd_pairwise_i16x8(products);
#endif
  return wasm_i32x4_extract_lane(sums, 0) + wasm_i32x4_extract_lane(sums, 1) + wasm_i32x4_extract_lane(sums, 2) +
         wasm_i32x4_extract_lane(sums, 3);
}

EMSCRIPTEN_BINDINGS(probe) { emscripten::function("dot", &dot); }
