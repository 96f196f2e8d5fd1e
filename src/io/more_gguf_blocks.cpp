// build: -Oz
// The rarer block types of GGUF.
#include <array>
#include <bit>

#include "io/gguf_blocks.h"
#include "io/gguf_widen.h"

namespace wattn {
namespace {

constexpr std::int8_t kIq4Values[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr std::int8_t kFp4Values[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};  // twice E2M1

void widen_table(float scale, const std::int8_t* values, const std::uint8_t* codes, float* out) {
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(values[nibble(codes, i)]);
}

void widen_iq4_nl(const std::uint8_t* block, float* out) { widen_table(half_at(block), kIq4Values, block + 2, out); }

// Eight groups of 32: the low halves of their 6-bit scales in 4 bytes, the high bits in 2.
void widen_iq4_xs(const std::uint8_t* block, float* out) {
  const float scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const int low = block[4 + group / 2] >> (group % 2 * 4) & 15, high = block[2 + group / 4] >> (group % 4 * 2) & 3;
    widen_table(scale * static_cast<float>((low | high << 4) - 32), kIq4Values, block + 8 + 16 * group, out + 32 * group);
  }
}

// The scale is a power of two, by its exponent; halved, as the values are doubled.
void widen_mxfp4(const std::uint8_t* block, float* out) {
  const std::uint32_t exponent = block[0];
  const std::uint32_t bits = exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23;
  widen_table(std::bit_cast<float>(bits), kFp4Values, block + 1, out);
}

// A scale and a minimum, then codes of 4 bits, of 5 after their fifth bits.
void widen_with_minimum(const std::uint8_t* block, const std::uint8_t* fifth, float* out) {
  const float scale = half_at(block), least = half_at(block + 2);
  for (int i = 0; i < 32; ++i) {
    int code = nibble(block + (fifth ? 8 : 4), i);
    if (fifth) code |= (fifth[i / 8] >> (i % 8) & 1) << 4;
    out[i] = scale * static_cast<float>(code) + least;
  }
}
void widen_q4_1(const std::uint8_t* block, float* out) { widen_with_minimum(block, nullptr, out); }
void widen_q5_1(const std::uint8_t* block, float* out) { widen_with_minimum(block, block + 4, out); }

// Code i of 256 of 2 bits, in 64 bytes: those of a byte are 32 apart.
int two_bits(const std::uint8_t* bytes, int i) { return bytes[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3; }

// Sixteen groups of 16 with a 4-bit scale and minimum each.
void widen_q2_k(const std::uint8_t* block, float* out) {
  const float scale = half_at(block + 80), least = half_at(block + 82);
  for (int i = 0; i < 256; ++i) {
    const int group = block[i / 16];
    const float step = scale * static_cast<float>(group & 15), base = least * static_cast<float>(group >> 4);
    out[i] = step * static_cast<float>(two_bits(block + 16, i)) - base;
  }
}

// Sixteen groups of 16 with a 6-bit scale each, whose low halves are in 8 bytes and high bits in 4; third bits of codes first.
void widen_q3_k(const std::uint8_t* block, float* out) {
  const float scale = half_at(block + 108);
  for (int i = 0; i < 256; ++i) {
    const int group = i / 16;
    const int low = block[96 + group % 8] >> (group / 8 * 4) & 15, high = block[104 + group % 4] >> (group / 4 * 2) & 3;
    const int third = block[i % 32] >> (i / 32) & 1;
    out[i] = scale * static_cast<float>((low | high << 4) - 32) * static_cast<float>((two_bits(block + 32, i) | third << 2) - 4);
  }
}

void widen_tq2_0(const std::uint8_t* block, float* out) {
  const float scale = half_at(block + 64);
  for (int i = 0; i < 256; ++i) out[i] = scale * static_cast<float>(two_bits(block, i) - 1);
}

// Five digits of base 3 in a byte, as a fraction of 256: of 32 bytes, then of 16; and four in each of the last 4.
void widen_tq1_0(const std::uint8_t* block, float* out) {
  const float scale = half_at(block + 52);
  for (const auto& [first, count, digits] : {std::array{0, 32, 5}, {32, 16, 5}, {48, 4, 4}}) {
    for (int i = 0, power = 1; i < digits; ++i, power *= 3) {
      for (int k = 0; k < count; ++k) {
        const int fraction = static_cast<std::uint8_t>(block[first + k] * power);
        *out++ = scale * static_cast<float>((fraction * 3 >> 8) - 1);
      }
    }
  }
}

constexpr BlockType kMore[] = {
    {"Q4_1", 3, 32, 20, widen_q4_1},
    {"Q5_1", 7, 32, 24, widen_q5_1},
    {"Q2_K", 10, 256, 84, widen_q2_k},
    {"Q3_K", 11, 256, 110, widen_q3_k},
    {"Q5_K", 13, 256, 176, widen_k<true>},
    {"IQ4_NL", 20, 32, 18, widen_iq4_nl},
    {"IQ4_XS", 23, 256, 136, widen_iq4_xs},
    {"TQ1_0", 34, 256, 54, widen_tq1_0},
    {"TQ2_0", 35, 256, 66, widen_tq2_0},
    {"MXFP4", 39, 32, 17, widen_mxfp4},
    // Only names.
    {"Q8_1", 9},
    {"Q8_K", 15},
    {"IQ2_XXS", 16},
    {"IQ2_XS", 17},
    {"IQ3_XXS", 18},
    {"IQ1_S", 19},
    {"IQ3_S", 21},
    {"IQ2_S", 22},
    {"I8", 24},
    {"I16", 25},
    {"I32", 26},
    {"I64", 27},
    {"F64", 28},
    {"IQ1_M", 29},
    {"NVFP4", 40},
    {"Q1_0", 41},
};

}  // namespace

const MoreBlockTypes kMoreBlockTypes{kMore};

}  // namespace wattn
