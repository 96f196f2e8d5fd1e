// A GGUF file's metadata as the documents of a repository, so that both are loaded in one way. It makes config.json from the
// architecture's GgufLayout, modules.json and the pooling's config from pooling_type, and the settings of generation and tokenizer.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn {

// sentence-transformers' Dense modules, which llama.cpp names after the folders of a repository.
struct GgufModule {
  std::string_view tensor;
  const char* folder;
  const char* weight;
};
inline constexpr GgufModule kGgufModules[] = {{"dense_2", "2_Dense", "2_Dense/linear"}, {"dense_3", "3_Dense", "3_Dense/linear"}};

// Names and contents. header: the file's beginning with all of its metadata and tensor list. Models packed by wattn carry their
// repository's own files; for others they are made from ggml's keys (its docs/gguf.md, llama.cpp's llama-arch.cpp). With a pooling
// type, vectors are normalised, as llama.cpp does.
Result<std::vector<std::pair<std::string, std::string>>> gguf_documents(std::string_view header, std::string_view file);

}  // namespace wattn
