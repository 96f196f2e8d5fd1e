// A GGUF file's metadata as the documents of a repository, so that everything after is one way: config.json from the
// architecture's keys, modules.json and the pooling's config from pooling_type.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace wattn {

struct GgufDocuments {
  std::string config;   // config.json
  std::string modules;  // modules.json; empty when the file names no pooling
  std::string pooling;  // 1_Pooling/config.json
};

// header: the file's beginning with all of its metadata and tensor list. Keys: ggml's docs/gguf.md and llama.cpp's llama-arch.cpp.
// A file that pools is for sentence vectors, which llama.cpp gives unit length; so do these documents.
Result<GgufDocuments> gguf_documents(std::string_view header, std::string_view file);

}  // namespace wattn
