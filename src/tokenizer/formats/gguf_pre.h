// tokenizer.ggml.pre: the pre-tokenizer of byte-level text, by llama.cpp's names.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace wattn {

struct GgufPre {
  std::string pre_tokenizer;  // as in tokenizer.json
  bool ignore_merges = false;
  bool add_bos = false;  // the default
};

// An unknown name is an UnsupportedError that lists the known ones.
Result<GgufPre> gguf_pre(std::string_view name);

}  // namespace wattn
