// The safetensors format: the length of the JSON header in 8 little-endian bytes, the header, the tensors' bytes without gaps.
// Format: https://github.com/huggingface/safetensors (README, "Format"). Copies in wattn's cache also have the type W8
// (io/gguf_blocks.h), whose elements are blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor_view.h"
#include "io/gguf_blocks.h"

namespace wattn {

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  const BlockType* blocks = nullptr;  // in place of dtype; null: plain numbers
  Shape shape;
  std::uint64_t begin = 0;  // byte offset into the data after the header
  std::uint64_t end = 0;
  // A row is whole pieces: a block, or a number.
  std::int64_t piece_length() const { return blocks ? blocks->length : 1; }
  std::int64_t piece_bytes() const { return blocks ? blocks->bytes : dtype_bytes(dtype); }
};

inline constexpr std::uint64_t kSafetensorsPrefixBytes = 8;
inline constexpr std::uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;  // the format's own limit

// The length of the header, from the first 8 bytes of a file of file_bytes bytes.
Result<std::uint64_t> safetensors_header_bytes(std::string_view prefix, std::uint64_t file_bytes, std::string_view file);

// The tensors in file order. Checks that every dtype is known, that shapes match byte ranges, and that the ranges cover the data
// exactly, without gaps or overlaps.
Result<std::vector<TensorInfo>> parse_safetensors_header(std::string_view header, std::uint64_t file_bytes, std::string_view file);

}  // namespace wattn
