// Parts of relaxed SIMD, which leaves some results to the machine.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/vec_wasm.h"

namespace wattn {

// vec_wasm.h with the relaxed multiply-add: one rounding where the machine has it, so results differ between machines.
struct VecRelaxed : VecWasm {
  static constexpr int kTileRows = 6;
  static F32 madd(F32 a, F32 b, F32 c) { return wasm_f32x4_relaxed_madd(a, b, c); }
};

// How i32x4.relaxed_dot_i8x16_i7x16_add_s takes its second operand's bytes of 128 and more. An engine keeps to one way.
enum class ByteDotForm : std::uint8_t {
  kUnsigned,  // x86 with AVX-VNNI: 0 .. 255, in 32 bits without loss
  kSigned,    // Arm with dot products: -128 .. 127, the same
  kNone,      // pairs saturate to 16 bits: of no use
};

inline ByteDotForm byte_dot_form() {
  volatile int second_byte = 200;  // wasm-opt of binaryen 120 aborts over a relaxed dot it can compute
  const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
      wasm_i8x16_splat(-127), wasm_i8x16_splat(static_cast<std::int8_t>(second_byte)), wasm_i32x4_const_splat(0));
  switch (wasm_i32x4_extract_lane(dot, 0)) {
    case 4 * -127 * 200:
      return ByteDotForm::kUnsigned;
    case 4 * -127 * (200 - 256):
      return ByteDotForm::kSigned;
    default:
      return ByteDotForm::kNone;
  }
}

// Base with products of bytes, for one form: activations 0 .. 255 are stored less kOffset to fit the second operand.
template <class Base, int kOffset>
struct WithByteDot : Base {
  static constexpr int kByteOffset = kOffset;
  using Base::store_biased;
  using I8 = v128_t;
  static I8 load_bytes(const std::int8_t* p) { return wasm_v128_load(p); }
  static I8 splat_quad(const std::int8_t* p) { return wasm_v128_load32_splat(p); }
  static v128_t dot_bytes(I8 w, I8 a, v128_t sum) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, a, sum); }
  // Four products of the low halves at p with the one at q, 16 bits with sign; q's high half is zero.
  static v128_t mul_low_halves(const std::int32_t* p, const std::int32_t* q) {
    return wasm_i32x4_dot_i16x8(wasm_v128_load(p), wasm_v128_load32_splat(q));
  }
  // Whole numbers in -128 .. 255 + 1.5 * 2^23: the low 8 bits of the float.
  static void store_biased(std::int8_t* p, v128_t x, int count) {
    const v128_t bytes = wasm_i8x16_shuffle(x, x, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    const std::int32_t four = wasm_i32x4_extract_lane(bytes, 0);
    std::memcpy(p, &four, static_cast<std::size_t>(count));
  }
};

}  // namespace wattn
