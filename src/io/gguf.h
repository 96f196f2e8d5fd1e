// The tensors of a GGUF file: the tensor list after the metadata (core/gguf.h). Block types: gguf_blocks.h.
// Format: https://github.com/ggml-org/ggml, docs/gguf.md.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/safetensors.h"

namespace wattn {

struct GgufHeader {
  bool is_cut_off = false;            // the header continues past these bytes; nothing else is set
  std::uint64_t header_bytes = 0;     // offset of the tensors' bytes in the file
  std::vector<TensorInfo> tensors{};  // in file order; shapes as in PyTorch (GGUF stores the row length first)
};

// bytes: a whole file or its beginning. Checks that types are known, that rows are whole blocks, and that byte ranges are aligned,
// do not overlap and lie inside the file's file_bytes.
Result<GgufHeader> parse_gguf_header(std::string_view bytes, std::uint64_t file_bytes, std::string_view file);

}  // namespace wattn
