// The documents of a model repository, and what the loader reads from them: the tokenizer and the names of the weight files.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/formats/formats.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

struct NamedFile {
  std::string name;  // path inside the repository: "1_Pooling/config.json"
  std::string bytes;
};

class Documents {
 public:
  explicit Documents(const std::vector<NamedFile>& files) : files_(files) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const NamedFile* find(std::string_view name) const {
    const auto at = std::find_if(files_.begin(), files_.end(), [&](const NamedFile& file) { return file.name == name; });
    return at == files_.end() ? nullptr : &*at;
  }
  const NamedFile* find_ending(std::string_view ending) const {
    const auto at = std::find_if(files_.begin(), files_.end(), [&](const NamedFile& file) { return file.name.ends_with(ending); });
    return at == files_.end() ? nullptr : &*at;
  }
  const std::vector<NamedFile>& files() const { return files_; }
  std::vector<TokenizerFile> for_tokenizer() const {
    std::vector<TokenizerFile> out;
    out.reserve(files_.size());
    for (const NamedFile& file : files_) out.push_back({file.name, file.bytes});
    return out;
  }
  Result<Json> read(std::string_view name) const {
    const NamedFile* file = find(name);
    if (!file) return model_format_error(std::string(name) + ": expected this file in the model, found none");
    return Json::parse(file->bytes, name);
  }

 private:
  const std::vector<NamedFile>& files_;
};

// lowercases: the repository requires a tokenizer that lowercases.
Result<Tokenizer> read_tokenizer(const Documents& documents, bool lowercases);

// The text of config.json of an encoder whose configuration is a member of another one. GLiNER and GLiClass mean DeBERTa v2 by a
// configuration without a model_type.
Result<std::string> encoder_config(JsonRef config);

// Adds the documents made from a GGUF file among the files, unless there is a config.json.
Result<std::vector<NamedFile>> with_gguf_documents(std::vector<NamedFile> files);
// The documents made from a GGUF file's beginning. is_cut_off: its header continues after these bytes.
Result<std::vector<NamedFile>> gguf_files(std::string_view beginning, bool& is_cut_off);
// Whether the weights are a GGUF file whose tensors have llama.cpp's names and layout. One packed by wattn may have the
// checkpoint's.
bool has_gguf_tensors(const Documents& documents);
// Whether config.json was made from a GGUF file's keys; one packed by wattn carries the repository's own.
bool has_gguf_config(const Documents& documents);

// model.safetensors (JS may pass on pytorch_model.bin in its place), or the shards that the index of one of the two lists.
Result<std::vector<std::string>> read_weight_files(const Documents& documents);
}  // namespace wattn
