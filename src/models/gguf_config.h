// A GGUF file's metadata as the documents of a repository, so that everything after is one way: config.json from the
// architecture's GgufLayout, modules.json and the pooling's config from pooling_type, the generation's and the tokenizer's
// settings.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn {

// Names and contents. header: the file's beginning with all of its metadata and tensor list. A model that wattn packed carries
// its repository's own files; those of others are made from ggml's keys (docs/gguf.md there, llama.cpp's llama-arch.cpp). A file
// that pools is for sentence vectors, which llama.cpp gives unit length; so do these documents.
Result<std::vector<std::pair<std::string, std::string>>> gguf_documents(std::string_view header, std::string_view file);

}  // namespace wattn
