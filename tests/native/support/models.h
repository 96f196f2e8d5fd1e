// Loads a model folder or a GGUF file into a Model, as a host does.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"
#include "native/support/files.h"

namespace wattn::test {

inline std::vector<NamedFile> small_files(const std::string& folder) {
  std::vector<NamedFile> files;
  for (const char* name : {"config.json", "gliner_config.json", "tokenizer.json", "tokenizer_config.json", "modules.json",
                           "1_Pooling/config.json", "2_Dense/config.json", "3_Dense/config.json", "sentence_bert_config.json",
                           "config_sentence_transformers.json", "model.safetensors.index.json"}) {
    const std::string path = folder + "/" + name;
    if (has_file(path)) files.push_back({name, read_file(path)});
  }
  return files;
}

// bytes_of(name): the bytes of a weight file, pushed in pieces of chunk bytes.
template <class BytesOf>
Result<std::unique_ptr<Model>> load_with(const std::vector<NamedFile>& files, const BytesOf& bytes_of,
                                         const LoadOptions& options = {}, std::size_t chunk = 1 << 16) {
  auto loader = ModelLoader::begin(files, options);
  if (!loader.ok()) return loader.error();
  const std::vector<std::string> weight_files = loader.value()->weight_files();
  for (const std::string& name : weight_files) {
    const std::string bytes(bytes_of(name));
    if (auto begun = loader.value()->begin_weight_file(name, bytes.size()); !begun.ok()) return begun.error();
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
      const std::string_view piece = std::string_view(bytes).substr(at, chunk);
      if (auto pushed = loader.value()->push(piece); !pushed.ok()) return pushed.error();
    }
  }
  return loader.value()->finish();
}

inline Result<std::unique_ptr<Model>> load_model(const std::vector<NamedFile>& files, const std::string& folder,
                                                 const LoadOptions& options = {}, std::size_t chunk = 1 << 16) {
  return load_with(files, [&](const std::string& name) { return read_file(folder + "/" + name); }, options, chunk);
}

inline Result<std::unique_ptr<Model>> load_model(const std::string& folder, const LoadOptions& options = {}) {
  return load_model(small_files(folder), folder, options);
}

// For goldens without a tokenizer: with that of bert-tiny, whose first words are signs, which all vocabularies have room for.
inline std::unique_ptr<Model> load_with_words(const std::string& folder, const LoadOptions& options = {}) {
  std::vector<NamedFile> files = small_files(folder);
  const bool has = std::any_of(files.begin(), files.end(), [](const NamedFile& file) { return file.name == "tokenizer.json"; });
  if (!has) {
    std::erase_if(files, [](const NamedFile& file) { return file.name == "tokenizer_config.json"; });
    files.push_back({"tokenizer.json", read_file(golden("bert-tiny/model/tokenizer.json"))});
    files.push_back({"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"});
  }
  return std::move(load_model(files, folder, options)).value();
}

inline Result<std::unique_ptr<Model>> load_gguf(const std::string& folder, const std::string& name,
                                                const LoadOptions& options = {.head = HeadKind::kCausalLm}) {
  return load_model({{name, read_file(folder + "/" + name)}}, folder, options);
}

}  // namespace wattn::test
