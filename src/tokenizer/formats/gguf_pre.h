// tokenizer.ggml.pre: how byte-level text is cut before the merges, by the names that llama.cpp gives it.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace wattn {

struct GgufPre {
  std::string pre_tokenizer;  // as tokenizer.json has it
  bool ignore_merges = false;
  bool add_bos = false;  // where the file does not say
};

// An UnsupportedError names the ones there are.
Result<GgufPre> gguf_pre(std::string_view name);

}  // namespace wattn
