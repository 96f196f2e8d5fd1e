// vec_wasm.h with relaxed SIMD. The integer dot keeps the promise of the same bits (see dot_q8); the multiply-add does
// not: one rounding where the machine has it.
#pragma once

#include "kernels/vec_wasm.h"

namespace wattn {

// Exact, and faster on int8.
struct VecWasmDot : VecWasm {
  static constexpr int kQ8Step = 4;
  using Q8 = std::uint8_t;
  static I16 load_q8(const std::int8_t* p) { return wasm_v128_load(p); }
  static I16 splat_q8(const Q8* p) { return wasm_v128_load32_splat(p); }
  // The relaxed dot is exact when the second operand's bytes are at most 127: no pair of products leaves 16 bits.
  static I32 dot_q8(I16 w, I16 a, I32 sum) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, a, sum); }
  static void store_biased(std::uint8_t* p, F32 x, int count) {
    const v128_t bytes = wasm_i8x16_shuffle(x, x, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    std::uint8_t lane[16];
    wasm_v128_store(lane, bytes);
    std::memcpy(p, lane, static_cast<std::size_t>(count));
  }
  using VecWasm::store_biased;
};

struct VecRelaxed : VecWasmDot {
  static F32 madd(F32 a, F32 b, F32 c) { return wasm_f32x4_relaxed_madd(a, b, c); }
};

}  // namespace wattn
