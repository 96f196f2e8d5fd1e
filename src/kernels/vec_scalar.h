// Four floats without SIMD: the same lanes and rounding as vec_wasm.h, for native builds and as the reference.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wattn {

struct VecScalar {
  // The vector that computes whatever does not multiply and add.
  using Exact = VecScalar;
  static constexpr int kLanes = 4;
  // Rows of a gemm_f32 tile, 8 wide: its sums, two registers of b and one of a should stay in 16 registers. A madd that multiplies
  // separately needs one more for the product (6 rows took V8 1.6 times as long).
  static constexpr int kTileRows = 4;
  struct F32 {
    float lane[4];
  };

  static F32 load(const float* p) { return {{p[0], p[1], p[2], p[3]}}; }
  // The first count (0 to 4) floats at p, then zeros; reads nothing past them.
  static F32 load_partial(const float* p, int count) {
    F32 out{};
    for (int i = 0; i < count; ++i) out.lane[i] = p[i];
    return out;
  }
  static void store(float* p, F32 x) {
    for (int i = 0; i < 4; ++i) p[i] = x.lane[i];
  }
  static void store_partial(float* p, F32 x, int count) {
    for (int i = 0; i < count; ++i) p[i] = x.lane[i];
  }
  // Transposes four rows of four 32-bit words, from_step bytes apart: row k of `to` has word k of each.
  static void interleave_4x4(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step) {
    for (int k = 0; k < 4; ++k) {
      for (int r = 0; r < 4; ++r) std::memcpy(to + k * to_step + r * 4, from + r * from_step + k * 4, 4);
    }
  }
  static F32 splat(float x) { return {{x, x, x, x}}; }
  static F32 splat_at(const float* p) { return splat(*p); }

  static F32 add(F32 a, F32 b) {
    for (int i = 0; i < 4; ++i) a.lane[i] += b.lane[i];
    return a;
  }
  static F32 sub(F32 a, F32 b) {
    for (int i = 0; i < 4; ++i) a.lane[i] -= b.lane[i];
    return a;
  }
  static F32 mul(F32 a, F32 b) {
    for (int i = 0; i < 4; ++i) a.lane[i] *= b.lane[i];
    return a;
  }
  static F32 div(F32 a, F32 b) {
    for (int i = 0; i < 4; ++i) a.lane[i] /= b.lane[i];
    return a;
  }
  // a * b + c, rounded twice.
  static F32 madd(F32 a, F32 b, F32 c) { return add(mul(a, b), c); }
  // b where a < b, else a: a NaN in a stays, a NaN in b is ignored.
  static F32 max(F32 a, F32 b) {
    for (int i = 0; i < 4; ++i) a.lane[i] = a.lane[i] < b.lane[i] ? b.lane[i] : a.lane[i];
    return a;
  }
  // b where b < a, else a.
  static F32 min(F32 a, F32 b) {
    for (int i = 0; i < 4; ++i) a.lane[i] = b.lane[i] < a.lane[i] ? b.lane[i] : a.lane[i];
    return a;
  }
  // x, but 0 where test < bound.
  static F32 zero_where_less(F32 x, F32 test, F32 bound) {
    for (int i = 0; i < 4; ++i) x.lane[i] = test.lane[i] < bound.lane[i] ? 0.0f : x.lane[i];
    return x;
  }
  // 2^n from n + 127 + 1.5 * 2^23, n whole in [-126, 127]: the low bits of that float are the exponent bits of 2^n.
  static F32 pow2_of_biased(F32 biased) {
    for (float& x : biased.lane) x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) << 23);
    return biased;
  }

  static F32 abs(F32 x) {
    for (float& lane : x.lane) lane = std::bit_cast<float>(std::bit_cast<std::uint32_t>(lane) & 0x7FFFFFFFu);
    return x;
  }

  // Integer products. An I16 holds 4 columns x 2 neighbours along k; lane c of a sum belongs to column c.
  struct I16 {
    std::int16_t lane[8];
  };
  struct I32 {
    std::int32_t lane[4];
  };
  static I32 zero_i32() { return {}; }
  static I32 splat_at(const std::int32_t* p) { return {{*p, *p, *p, *p}}; }
  static I32 add_whole(I32 a, I32 b) {
    for (int i = 0; i < 4; ++i) a.lane[i] += b.lane[i];
    return a;
  }
  static F32 to_f32(I32 x) {
    F32 out;
    for (int i = 0; i < 4; ++i) out.lane[i] = static_cast<float>(x.lane[i]);
    return out;
  }
  static I16 load_q16(const std::int16_t* p) {
    I16 out;
    for (int i = 0; i < 8; ++i) out.lane[i] = p[i];
    return out;
  }
  static I16 splat_pair(const std::int16_t* p) { return {{p[0], p[1], p[0], p[1], p[0], p[1], p[0], p[1]}}; }
  static I32 dot(I16 w, I16 a, I32 sum) {
    for (int c = 0; c < 4; ++c) sum.lane[c] += w.lane[2 * c] * a.lane[2 * c] + w.lane[2 * c + 1] * a.lane[2 * c + 1];
    return sum;
  }
  // Eight int8 weights, widened.
  static I16 load_q8(const std::int8_t* p) {
    I16 out;
    for (int i = 0; i < 8; ++i) out.lane[i] = p[i];
    return out;
  }
  // The sum of each of four.
  static I32 sums_of_four(const I32* x) { return {{sum_i32(x[0]), sum_i32(x[1]), sum_i32(x[2]), sum_i32(x[3])}}; }
  static std::int32_t sum_i32(I32 x) { return x.lane[0] + x.lane[1] + x.lane[2] + x.lane[3]; }
  // The first and the last four, as floats.
  static F32 low_f32(I16 x) { return to_f32({{x.lane[0], x.lane[1], x.lane[2], x.lane[3]}}); }
  static F32 high_f32(I16 x) { return to_f32({{x.lane[4], x.lane[5], x.lane[6], x.lane[7]}}); }
  // Bit j is 1 where p[j] > 0, j < 16.
  static std::uint16_t positive_bits(const std::int8_t* p) {
    unsigned bits = 0;
    for (int j = 0; j < 16; ++j) bits |= static_cast<unsigned>(p[j] > 0) << j;
    return static_cast<std::uint16_t>(bits);
  }
  // The number of bits that differ between a and b, size a multiple of 16 bytes.
  static std::int32_t differing_bits(const std::uint8_t* a, const std::uint8_t* b, std::ptrdiff_t size) {
    std::int32_t count = 0;
    for (std::ptrdiff_t j = 0; j < size; ++j) count += std::popcount(static_cast<std::uint8_t>(a[j] ^ b[j]));
    return count;
  }
  // x holds whole numbers + 1.5 * 2^23, |whole| < 2^15: the low 16 bits of the float are the number.
  static void store_biased(std::int16_t* p, F32 x, int count) {
    for (int i = 0; i < count; ++i) p[i] = static_cast<std::int16_t>(std::bit_cast<std::uint32_t>(x.lane[i]));
  }

  struct I8 {
    std::int8_t lane[16];
  };
  static I16 low_i16(const I8& x) { return load_q8(x.lane); }
  static I16 high_i16(const I8& x) { return load_q8(x.lane + 8); }

  // Eight int16. Sums and differences saturate; mul_i16 keeps the low bits, mul_q15 is a * b / 2^15, rounded up from a half (no
  // -2^15 times itself).
  template <class Op>
  static I16 each(I16 a, I16 b, Op op) {
    for (int i = 0; i < 8; ++i) a.lane[i] = static_cast<std::int16_t>(op(int{a.lane[i]}, int{b.lane[i]}));
    return a;
  }
  static I16 splat_i16(std::int16_t x) { return {{x, x, x, x, x, x, x, x}}; }
  static int saturated(int x) { return x < -32768 ? -32768 : x > 32767 ? 32767 : x; }
  static I16 add_i16(I16 a, I16 b) {
    return each(a, b, [](int x, int y) { return saturated(x + y); });
  }
  static I16 sub_i16(I16 a, I16 b) {
    return each(a, b, [](int x, int y) { return saturated(x - y); });
  }
  static I16 mul_i16(I16 a, I16 b) {
    return each(a, b, [](int x, int y) { return x * y; });
  }
  static I16 mul_q15(I16 a, I16 b) {
    return each(a, b, [](int x, int y) { return (x * y + (1 << 14)) >> 15; });
  }
  static I16 min_i16(I16 a, I16 b) {
    return each(a, b, [](int x, int y) { return y < x ? y : x; });
  }
  static I16 max_i16(I16 a, I16 b) {
    return each(a, b, [](int x, int y) { return x < y ? y : x; });
  }
  template <int kBits>
  static I16 shift_left(I16 x) {
    return each(x, x, [](int lane, int) { return lane * (1 << kBits); });
  }
  template <int kBits>
  static I16 shift_right(I16 x) {
    return each(x, x, [](int lane, int) { return lane >> kBits; });
  }
  // The whole numbers of floats as in store_biased.
  static I16 low_bits(F32 a, F32 b) {
    I16 out;
    store_biased(out.lane, a, 4);
    store_biased(out.lane + 4, b, 4);
    return out;
  }
  // As bytes; all fit.
  static I8 narrow(I16 a, I16 b) {
    I8 out;
    for (int i = 0; i < 16; ++i) out.lane[i] = static_cast<std::int8_t>(i < 8 ? a.lane[i] : b.lane[i - 8]);
    return out;
  }
  // The entries of codes 0 .. 15 in a book, [16].
  static I8 look_up(const std::int8_t* book, I8 codes) {
    for (std::int8_t& lane : codes.lane) lane = book[lane];
    return codes;
  }
  // The first count bytes, then zeros.
  static I8 first(I8 x, int count) {
    for (int i = count; i < 16; ++i) x.lane[i] = 0;
    return x;
  }
  // Writes codes 0 .. 15 into the low (shift 0) or high halves (4) of 16 bytes.
  static void store_codes(std::uint8_t* bytes, I8 codes, int shift) {
    for (int i = 0; i < 16; ++i) bytes[i] = static_cast<std::uint8_t>((bytes[i] & (0xF0 >> shift)) | (codes.lane[i] << shift));
  }

  // Looks up 16 bytes of codes, the low halves in one book and the high ones in another.
  static void look_up(const std::uint8_t* codes, const std::int8_t* low_book, const std::int8_t* high_book, I8& low, I8& high) {
    for (int i = 0; i < 16; ++i) {
      low.lane[i] = low_book[codes[i] & 0xF];
      high.lane[i] = high_book[codes[i] >> 4];
    }
  }

  // Looks up 16 codes of eight columns in the columns' books, [256][16]. Column c has the low halves of codes[c][16], column c + 4
  // the high ones. out: [16 / kStep][8][kStep].
  template <int kStep>
  static void unpack_codes(const std::uint8_t* codes, const std::uint8_t* books, const std::int8_t* entries, std::int8_t* out) {
    for (int c = 0; c < 8; ++c) {
      for (int i = 0; i < 16; ++i) {
        const int code = codes[c % 4 * 16 + i] >> (c < 4 ? 0 : 4) & 0xF;
        out[(i / kStep * 8 + c) * kStep + i % kStep] = entries[books[c] * 16 + code];
      }
    }
  }

  // Lanes are joined as (0 + 2) + (1 + 3).
  static float sum(F32 x) { return (x.lane[0] + x.lane[2]) + (x.lane[1] + x.lane[3]); }
  static float max_lane(F32 x) {
    const auto larger = [](float a, float b) { return a < b ? b : a; };
    return larger(larger(x.lane[0], x.lane[2]), larger(x.lane[1], x.lane[3]));
  }
};

}  // namespace wattn
