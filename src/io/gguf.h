// The tensors of a GGUF file: their list after the metadata (core/gguf.h), and the block types they come in.
// Format: https://github.com/ggml-org/ggml, docs/gguf.md; block layouts: ggml/src/ggml-common.h, ggml-quants.c.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/safetensors.h"

namespace wattn {

struct GgufHeader {
  bool is_cut_off = false;            // the header goes on after these bytes; nothing else is set
  std::uint64_t header_bytes = 0;     // where the tensors' bytes begin in the file
  std::vector<TensorInfo> tensors{};  // in the order of their bytes; shapes as torch has them (GGUF writes the row first)
};

// bytes: a whole file, or its beginning. Checked: types known, rows of whole blocks, ranges aligned, without overlap, inside the
// file's file_bytes.
Result<GgufHeader> parse_gguf_header(std::string_view bytes, std::uint64_t file_bytes, std::string_view file);

// Widens blocks of count elements (whole blocks) to f32, in the order of ggml's own dequantize_row_*.
void widen_blocks(DType dtype, const char* blocks, std::int64_t count, float* out);

}  // namespace wattn
