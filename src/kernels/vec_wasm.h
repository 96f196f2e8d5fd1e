// Four floats in a WebAssembly SIMD128 register; vec_scalar.h specifies each function.
#pragma once

#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/math.h"

namespace wattn {

struct VecWasm {
  using Exact = VecWasm;
  static constexpr int kLanes = 4;
  // With 4 rows, 8 sums, the operands and a product are in registers. 5 rows are as fast in V8 of Node 24 and 8 % faster where it
  // joins pairs of vectors. But older engines spill them (Node 20: 34 GFLOP/s instead of 61), and those have no relaxed SIMD.
#ifdef __wasm_relaxed_simd__
  static constexpr int kTileRows = 5;
#else
  static constexpr int kTileRows = 4;
#endif
  using F32 = v128_t;

  static F32 load(const float* p) { return wasm_v128_load(p); }
  // Lane by lane: copying a number of bytes that is only known at run time is a call out of WebAssembly, 20 ns. Not inlined:
  // otherwise the loops that end with these calls would no longer be inlined.
  [[gnu::noinline]] static F32 load_partial(const float* p, int count) {
    if (count >= 4) return load(p);
    if (count <= 1) return count == 1 ? wasm_v128_load32_zero(p) : wasm_f32x4_const_splat(0.0f);
    const F32 two = wasm_v128_load64_zero(p);
    return count == 3 ? wasm_v128_load32_lane(p + 2, two, 2) : two;
  }
  static void store(float* p, F32 x) { wasm_v128_store(p, x); }
  [[gnu::noinline]] static void store_partial(float* p, F32 x, int count) {
    if (count >= 4) return store(p, x);
    if (count >= 2) wasm_v128_store64_lane(p, x, 0);
    if (count == 3) wasm_v128_store32_lane(p + 2, x, 2);
    if (count == 1) wasm_v128_store32_lane(p, x, 0);
  }
  static void interleave_4x4(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step) {
    const v128_t row_0 = wasm_v128_load(from), row_1 = wasm_v128_load(from + from_step),
                 row_2 = wasm_v128_load(from + 2 * from_step), row_3 = wasm_v128_load(from + 3 * from_step);
    const v128_t low_01 = wasm_i32x4_shuffle(row_0, row_1, 0, 4, 1, 5), high_01 = wasm_i32x4_shuffle(row_0, row_1, 2, 6, 3, 7);
    const v128_t low_23 = wasm_i32x4_shuffle(row_2, row_3, 0, 4, 1, 5), high_23 = wasm_i32x4_shuffle(row_2, row_3, 2, 6, 3, 7);
    wasm_v128_store(to, wasm_i64x2_shuffle(low_01, low_23, 0, 2));
    wasm_v128_store(to + to_step, wasm_i64x2_shuffle(low_01, low_23, 1, 3));
    wasm_v128_store(to + 2 * to_step, wasm_i64x2_shuffle(high_01, high_23, 0, 2));
    wasm_v128_store(to + 3 * to_step, wasm_i64x2_shuffle(high_01, high_23, 1, 3));
  }
  static F32 splat(float x) { return wasm_f32x4_splat(x); }
  static F32 splat_at(const float* p) { return wasm_v128_load32_splat(p); }

  static F32 add(F32 a, F32 b) { return wasm_f32x4_add(a, b); }
  static F32 sub(F32 a, F32 b) { return wasm_f32x4_sub(a, b); }
  static F32 mul(F32 a, F32 b) { return wasm_f32x4_mul(a, b); }
  static F32 div(F32 a, F32 b) { return wasm_f32x4_div(a, b); }
  static F32 madd(F32 a, F32 b, F32 c) { return add(mul(a, b), c); }
  static F32 max(F32 a, F32 b) { return wasm_f32x4_pmax(a, b); }
  static F32 min(F32 a, F32 b) { return wasm_f32x4_pmin(a, b); }
  static F32 zero_where_less(F32 x, F32 test, F32 bound) { return wasm_v128_andnot(x, wasm_f32x4_lt(test, bound)); }
  static F32 pow2_of_biased(F32 biased) { return wasm_i32x4_shl(biased, 23); }

  static F32 abs(F32 x) { return wasm_f32x4_abs(x); }

  alignas(16) static constexpr std::uint8_t kLowHalves[16] = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};
  static constexpr std::ptrdiff_t kBytesOfCounts = 31 * 16;  // 31 counts of at most 8 fit a byte

  using I16 = v128_t;
  using I32 = v128_t;
  static I32 zero_i32() { return wasm_i32x4_const_splat(0); }
  static I32 splat_at(const std::int32_t* p) { return wasm_v128_load32_splat(p); }
  static I32 add_whole(I32 a, I32 b) { return wasm_i32x4_add(a, b); }
  static F32 to_f32(I32 x) { return wasm_f32x4_convert_i32x4(x); }
  static I16 load_q16(const std::int16_t* p) { return wasm_v128_load(p); }
  static I16 splat_pair(const std::int16_t* p) { return wasm_v128_load32_splat(p); }
  static I32 dot(I16 w, I16 a, I32 sum) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w, a)); }
  static I16 load_q8(const std::int8_t* p) { return wasm_i16x8_load8x8(p); }
  static std::int32_t sum_i32(I32 x) {
    const I32 pairs = wasm_i32x4_add(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
    return wasm_i32x4_extract_lane(pairs, 0) + wasm_i32x4_extract_lane(pairs, 1);
  }
  static F32 low_f32(I16 x) { return to_f32(wasm_i32x4_extend_low_i16x8(x)); }
  static F32 high_f32(I16 x) { return to_f32(wasm_i32x4_extend_high_i16x8(x)); }
  static std::uint16_t positive_bits(const std::int8_t* p) {
    return static_cast<std::uint16_t>(wasm_i8x16_bitmask(wasm_i8x16_gt(wasm_v128_load(p), wasm_i8x16_const_splat(0))));
  }
  static std::int32_t differing_bits(const std::uint8_t* a, const std::uint8_t* b, std::ptrdiff_t size) {
    I32 total = zero_i32();
    for (std::ptrdiff_t begin = 0; begin < size; begin += kBytesOfCounts) {
      const std::ptrdiff_t end = begin + kBytesOfCounts < size ? begin + kBytesOfCounts : size;
      v128_t counts = wasm_i8x16_const_splat(0);
      for (std::ptrdiff_t j = begin; j < end; j += 16)
        counts = wasm_i8x16_add(counts, wasm_i8x16_popcnt(wasm_v128_xor(wasm_v128_load(a + j), wasm_v128_load(b + j))));
      total = wasm_i32x4_add(total, wasm_u32x4_extadd_pairwise_u16x8(wasm_u16x8_extadd_pairwise_u8x16(counts)));
    }
    return sum_i32(total);
  }
  static void store_biased(std::int16_t* p, F32 x, int count) {
    // Keeps the low halves of the four lanes.
    const v128_t halves = wasm_i8x16_shuffle(x, x, 0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13);
    std::int16_t lane[8];
    wasm_v128_store(lane, halves);
    std::memcpy(p, lane, sizeof(std::int16_t) * count);
  }

  static I32 sums_of_four(const I32* x) {
    const I32 low_01 = wasm_i32x4_shuffle(x[0], x[1], 0, 4, 1, 5), high_01 = wasm_i32x4_shuffle(x[0], x[1], 2, 6, 3, 7);
    const I32 low_23 = wasm_i32x4_shuffle(x[2], x[3], 0, 4, 1, 5), high_23 = wasm_i32x4_shuffle(x[2], x[3], 2, 6, 3, 7);
    const I32 sums_01 = wasm_i32x4_add(low_01, high_01), sums_23 = wasm_i32x4_add(low_23, high_23);
    return wasm_i32x4_add(wasm_i64x2_shuffle(sums_01, sums_23, 0, 2), wasm_i64x2_shuffle(sums_01, sums_23, 1, 3));
  }
  using I8 = v128_t;
  static I16 low_i16(I8 x) { return wasm_i16x8_extend_low_i8x16(x); }
  static I16 high_i16(I8 x) { return wasm_i16x8_extend_high_i8x16(x); }
  static I16 splat_i16(std::int16_t x) { return wasm_i16x8_splat(x); }
  static I16 add_i16(I16 a, I16 b) { return wasm_i16x8_add_sat(a, b); }
  static I16 sub_i16(I16 a, I16 b) { return wasm_i16x8_sub_sat(a, b); }
  static I16 mul_i16(I16 a, I16 b) { return wasm_i16x8_mul(a, b); }
  static I16 mul_q15(I16 a, I16 b) {
#ifdef __wasm_relaxed_simd__  // the same but for -2^15 times itself
    return wasm_i16x8_relaxed_q15mulr(a, b);
#else
    return wasm_i16x8_q15mulr_sat(a, b);
#endif
  }
  static I16 min_i16(I16 a, I16 b) { return wasm_i16x8_min(a, b); }
  static I16 max_i16(I16 a, I16 b) { return wasm_i16x8_max(a, b); }
  template <int kBits>
  static I16 shift_left(I16 x) {
    return wasm_i16x8_shl(x, kBits);
  }
  template <int kBits>
  static I16 shift_right(I16 x) {
    return wasm_i16x8_shr(x, kBits);
  }
  static I16 low_bits(F32 a, F32 b) { return wasm_i16x8_shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14); }
  static I8 narrow(I16 a, I16 b) { return wasm_i8x16_narrow_i16x8(a, b); }
  static I8 look_up(const std::int8_t* book, I8 codes) {
#ifdef __wasm_relaxed_simd__  // the same, as no code is above 15
    return wasm_i8x16_relaxed_swizzle(wasm_v128_load(book), codes);
#else
    return wasm_i8x16_swizzle(wasm_v128_load(book), codes);
#endif
  }
  [[gnu::noinline]] static I8 first(I8 x, int count) {
    std::int8_t lane[16];
    wasm_v128_store(lane, x);
    for (int i = count; i < 16; ++i) lane[i] = 0;
    return wasm_v128_load(lane);
  }
  static void store_codes(std::uint8_t* bytes, I8 codes, int shift) {
    const v128_t kept = wasm_i8x16_splat(static_cast<std::int8_t>(0xF0 >> shift));
    wasm_v128_store(bytes, wasm_v128_or(wasm_v128_and(wasm_v128_load(bytes), kept), wasm_i16x8_shl(codes, shift)));
  }
  static void look_up(const std::uint8_t* codes, const std::int8_t* low_book, const std::int8_t* high_book, I8& low, I8& high) {
    const v128_t both = wasm_v128_load(codes), mask = wasm_v128_load(opaque(kLowHalves));
    low = look_up(low_book, wasm_v128_and(both, mask));
    high = look_up(high_book, wasm_v128_and(wasm_u16x8_shr(both, 4), mask));
  }

  template <int kStep>
  static void unpack_codes(const std::uint8_t* codes, const std::uint8_t* books, const std::int8_t* entries, std::int8_t* out) {
    v128_t column[8];
    for (int c = 0; c < 4; ++c)
      look_up(codes + 16 * c, entries + books[c] * 16, entries + books[c + 4] * 16, column[c], column[c + 4]);
    v128_t quad[2][4];  // [columns 0 to 3, 4 to 7][four neighbours]: four columns side by side
    for (int half = 0; half < 2; ++half) {
      const v128_t* four = column + 4 * half;
      const v128_t low_01 = wasm_i32x4_shuffle(four[0], four[1], 0, 4, 1, 5);
      const v128_t low_23 = wasm_i32x4_shuffle(four[2], four[3], 0, 4, 1, 5);
      const v128_t high_01 = wasm_i32x4_shuffle(four[0], four[1], 2, 6, 3, 7);
      const v128_t high_23 = wasm_i32x4_shuffle(four[2], four[3], 2, 6, 3, 7);
      quad[half][0] = wasm_i64x2_shuffle(low_01, low_23, 0, 2);
      quad[half][1] = wasm_i64x2_shuffle(low_01, low_23, 1, 3);
      quad[half][2] = wasm_i64x2_shuffle(high_01, high_23, 0, 2);
      quad[half][3] = wasm_i64x2_shuffle(high_01, high_23, 1, 3);
    }
    for (int i = 0; i < 4; ++i) {
      v128_t first = quad[0][i], second = quad[1][i];
      if (kStep == 2) {
        const v128_t pair = wasm_i16x8_shuffle(first, second, 0, 2, 4, 6, 8, 10, 12, 14);
        second = wasm_i16x8_shuffle(first, second, 1, 3, 5, 7, 9, 11, 13, 15);
        first = pair;
      }
      wasm_v128_store(out + 32 * i, first);
      wasm_v128_store(out + 32 * i + 16, second);
    }
  }

  static float sum(F32 x) {
    const F32 pairs = add(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(pairs, 0) + wasm_f32x4_extract_lane(pairs, 1);
  }
  static float max_lane(F32 x) {
    const F32 pairs = max(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(max(pairs, wasm_i32x4_shuffle(pairs, pairs, 1, 0, 1, 0)), 0);
  }
};

}  // namespace wattn
