// The documents of a model repository, and what every engine reads of them: the tokenizer, the names of the weight files.
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

// The documents of a repository, by name.
class Documents {
 public:
  explicit Documents(const std::vector<NamedFile>& files) : files_(files) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const std::string* name_ending_in(std::string_view ending) const {
    const auto at = std::find_if(files_.begin(), files_.end(), [&](const NamedFile& file) { return file.name.ends_with(ending); });
    return at == files_.end() ? nullptr : &at->name;
  }
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
  const NamedFile* find(std::string_view name) const {
    const auto at = std::find_if(files_.begin(), files_.end(), [&](const NamedFile& file) { return file.name == name; });
    return at == files_.end() ? nullptr : &*at;
  }
  const std::vector<NamedFile>& files_;
};

// lowercases: the repository asks for it, so the tokenizer must do it.
Result<Tokenizer> read_tokenizer(const Documents& documents, bool lowercases);

// What documents a GGUF file's header stands for: gguf_documents, or one like it.
using GgufDocuments = Result<std::vector<std::pair<std::string, std::string>>> (*)(std::string_view header, std::string_view file);
// The files, and what a GGUF file among them says unless that is there already.
Result<std::vector<NamedFile>> with_gguf_documents(std::vector<NamedFile> files, GgufDocuments documents);
// The small files that a GGUF file's beginning stands for. is_cut_off: its header goes on after these bytes.
Result<std::vector<NamedFile>> gguf_beginning(std::string_view beginning, GgufDocuments documents, bool& is_cut_off);

// One file, or the shards that model.safetensors.index.json lists.
Result<std::vector<std::string>> read_weight_files(const Documents& documents);
// An InputError unless name is the one that comes after those begun.
Result<void> expect_weight_file(const std::vector<std::string>& files, std::size_t begun, std::string_view name);

}  // namespace wattn
