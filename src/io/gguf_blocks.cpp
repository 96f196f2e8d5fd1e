// build: -Oz
#include "io/gguf_blocks.h"

#include "io/gguf_widen.h"

namespace wattn {
namespace {

// Explicit vectors, because compilers do not vectorise the plain loop.
void widen_bytes(float scale, const std::uint8_t* bytes, int count, float* out) {
  using FourBytes = std::int8_t __attribute__((vector_size(4)));
  using FourInts = std::int32_t __attribute__((vector_size(16)));
  using FourFloats = float __attribute__((vector_size(16)));
  for (int i = 0; i < count; i += 4) {
    FourBytes weights;
    std::memcpy(&weights, bytes + i, sizeof weights);
    const FourFloats values = scale * __builtin_convertvector(__builtin_convertvector(weights, FourInts), FourFloats);
    std::memcpy(out + i, &values, sizeof values);
  }
}

void widen_w8(const std::uint8_t* block, float* out) {
  float scale;
  std::memcpy(&scale, block, sizeof scale);
  widen_bytes(scale, block + sizeof scale, 64, out);
}

void widen_q8_0(const std::uint8_t* block, float* out) { widen_bytes(half_at(block), block + 2, 32, out); }

// Sixteen codes at a time: much of a small model is widened before the engine has optimised this. fifth: of Q5_0, the fifth bits of
// the codes, in 32 bits before the others.
void widen_codes(const std::uint8_t* block, const std::uint8_t* fifth, float* out) {
  using SixteenBytes = std::uint8_t __attribute__((vector_size(16)));
  SixteenBytes pairs;
  std::memcpy(&pairs, block + (fifth ? 6 : 2), sizeof pairs);
  const SixteenBytes low = (pairs & 15) - 8, high = (pairs >> 4) - 8;
  std::uint8_t codes[32];
  std::memcpy(codes, &low, sizeof low);
  std::memcpy(codes + 16, &high, sizeof high);
  for (int i = 0; fifth && i < 32; ++i) codes[i] += static_cast<std::uint8_t>((fifth[i / 8] >> (i % 8) & 1) * 16 - 8);
  widen_bytes(half_at(block), codes, 32, out);
}
void widen_q4_0(const std::uint8_t* block, float* out) { widen_codes(block, nullptr, out); }
void widen_q5_0(const std::uint8_t* block, float* out) { widen_codes(block, block + 2, out); }

// Sixteen groups of 16 with an 8-bit scale each; the four low bits and the two high bits of a weight are stored separately.
void widen_q6_k(const std::uint8_t* block, float* out) {
  const float scale = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const std::uint8_t* low = block + 64 * half;
    const std::uint8_t* high = block + 128 + 32 * half;
    const auto* scales = reinterpret_cast<const std::int8_t*>(block) + 192 + 8 * half;
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < 32; ++i) {
        const int bits = quarter < 2 ? low[32 * quarter + i] & 15 : low[32 * (quarter - 2) + i] >> 4;
        const int weight = (bits | ((high[i] >> (2 * quarter)) & 3) << 4) - 32;
        const int group = 2 * quarter + i / 16;
        out[128 * half + 32 * quarter + i] = scale * static_cast<float>(scales[group]) * static_cast<float>(weight);
      }
    }
  }
}

constexpr BlockType kCommon[] = {
    {"Q4_0", 2, 32, 18, widen_q4_0},        {"Q5_0", 6, 32, 22, widen_q5_0},    {"Q8_0", 8, 32, 34, widen_q8_0},
    {"Q4_K", 12, 256, 144, widen_k<false>}, {"Q6_K", 14, 256, 210, widen_q6_k}, {"W8", kW8, 64, 68, widen_w8},
};

}  // namespace

std::span<const BlockType> block_types() { return kCommon; }

void widen_blocks(const BlockType& type, const char* blocks, std::int64_t count, float* out) {
  const auto* block = reinterpret_cast<const std::uint8_t*>(blocks);
  for (std::int64_t i = 0; i < count; i += type.length, block += type.bytes) type.widen(block, out + i);
}

}  // namespace wattn
