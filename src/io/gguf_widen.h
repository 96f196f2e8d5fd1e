// Dequantises blocks to f32.
#pragma once

#include "io/gguf_blocks.h"

namespace wattn {

// Dequantises count elements (whole blocks).
void widen_blocks(const BlockType& type, const char* blocks, std::int64_t count, float* out);

// Q4_K, which the small WebAssembly has, and Q5_K, which it lacks.
// Eight groups of 32 with a 6-bit scale and minimum each, packed into 12 bytes. kFifth: Q5_K, which has 32 bytes with a bit of each
// group more.
template <bool kFifth>
void widen_k(const std::uint8_t* block, float* out) {
  const float scale = half_at(block), least = half_at(block + 2);
  const std::uint8_t* packed = block + 4;
  const std::uint8_t* nibbles = block + (kFifth ? 48 : 16);
  for (int group = 0; group < 8; ++group) {
    int factor, minimum;
    if (group < 4) {
      factor = packed[group] & 63;
      minimum = packed[group + 4] & 63;
    } else {
      factor = (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4);
      minimum = (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4);
    }
    const float step = scale * static_cast<float>(factor), base = least * static_cast<float>(minimum);
    const std::uint8_t* from = nibbles + group / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int code = from[i] >> (group % 2 * 4) & 15;
      if constexpr (kFifth) code |= (block[16 + i] >> group & 1) << 4;
      out[32 * group + i] = step * static_cast<float>(code) - base;
    }
  }
}

}  // namespace wattn
