// Relaxed SIMD, some of whose results depend on the machine.
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

// How relaxed dot products of bytes read bytes of 128 and more in the second operand. An engine always uses the same form.
enum class ByteDotForm : std::uint8_t {
  kUnsigned,       // x86 with AVX-VNNI: 0 .. 255, summed exactly in 32 bits
  kUnsignedPairs,  // other x86: 0 .. 255, two products summed in 16 bits, four after another addition; q8 fits this (quant.h)
  kSigned,         // Arm: -128 .. 127
  kNone,
};

inline ByteDotForm byte_dot_form() {
  // Volatile: wasm-opt of binaryen 120 aborts on a relaxed dot product of constants.
  const auto splat = [](int byte) {
    volatile int kept = byte;
    return wasm_i8x16_splat(static_cast<std::int8_t>(kept));
  };
  const auto four = [&](int weight, int byte) {
    const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(splat(weight), splat(byte), wasm_i32x4_const_splat(0));
    return wasm_i32x4_extract_lane(dot, 0);
  };
  const auto pair = [&](int weight, int byte) {
    return wasm_i16x8_extract_lane(wasm_i16x8_relaxed_dot_i8x16_i7x16(splat(weight), splat(byte)), 0);
  };
  if (four(-127, 200) == 4 * -127 * 200) return ByteDotForm::kUnsigned;
  if (four(-127, 200) == 4 * -127 * (200 - 256)) return ByteDotForm::kSigned;
  if (pair(-64, 255) == 2 * -64 * 255 && pair(64, 255) == 2 * 64 * 255) return ByteDotForm::kUnsignedPairs;
  return ByteDotForm::kNone;
}

// Not const: an engine rebuilds a constant before each use, which costs more than the product.
alignas(16) inline std::int16_t byte_dot_ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

// Base with products of bytes in one form: activations are stored minus 0 or 128, so that they fit the second operand.
template <class Base, ByteDotForm kForm>
struct WithByteDot : Base {
  static constexpr int kByteOffset = kForm == ByteDotForm::kSigned ? 128 : 0;
  using Base::store_biased;
  using I8 = typename Base::I8;
  static constexpr int kByteSteps = kForm == ByteDotForm::kUnsignedPairs ? 2 : 1;
  static I8 load_bytes(const std::int8_t* p) { return wasm_v128_load(p); }
  static I8 splat_quad(const std::int8_t* p) { return wasm_v128_load32_splat(p); }
  static v128_t dot_bytes(const I8* w, const I8* a, v128_t sum) {
    if constexpr (kForm != ByteDotForm::kUnsignedPairs) return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w[0], a[0], sum);
    // Two of the products above, added before they are widened; the ones stay in a register.
    const v128_t sums =
        wasm_i16x8_add(wasm_i16x8_relaxed_dot_i8x16_i7x16(w[0], a[0]), wasm_i16x8_relaxed_dot_i8x16_i7x16(w[1], a[1]));
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(sums, wasm_v128_load(byte_dot_ones)));
  }
  // The products of four low halves at p with the one at q, signed 16 bits; q's high half is zero.
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
