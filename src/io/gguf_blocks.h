// Block types of GGUF: some weights along a row share scales. Layouts: ggml/src/ggml-common.h and ggml-quants.c of
// https://github.com/ggml-org/ggml.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/part.h"
#include "core/tensor_view.h"

namespace wattn {

struct BlockType {
  std::string_view name;  // as llama.cpp spells it
  std::uint32_t number;   // its ggml_type; W8 is wattn's own
  std::int32_t length = 0, bytes = 0;
  // In the order of ggml's dequantize_row_*, so that the bits are the same. Null: it is only known by name.
  void (*widen)(const std::uint8_t* block, float* out) = nullptr;
};

inline constexpr std::uint32_t kW8 = 1 << 16;

// The common ones.
std::span<const BlockType> block_types();
// The rarer ones, and those that are not supported.
struct MoreBlockTypes {
  std::span<const BlockType> types;
};
extern const MoreBlockTypes kMoreBlockTypes;

inline std::span<const BlockType> more_block_types() {
  const auto* more = Part<MoreBlockTypes>::get();
  return more ? more->types : std::span<const BlockType>();
}

inline float half_at(const std::uint8_t* bytes) {
  std::uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  return half_to_float(half);
}
// Code i of a block of 32 that has the low halves of 16 bytes, then the high ones.
inline int nibble(const std::uint8_t* bytes, int i) { return i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4; }

}  // namespace wattn
