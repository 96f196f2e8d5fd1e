// build: -Oz
#include "tokenizer/formats/formats.h"

#include <optional>
#include <utility>

#include "core/gguf.h"
#include "core/json.h"
#include "core/part.h"
#include "tokenizer/formats/folder.h"

namespace wattn {

const TokenizerFile* FolderFiles::find(std::string_view name) const {
  for (const TokenizerFile& file : files) {
    if (name.starts_with('*') ? file.name.ends_with(name.substr(1)) : file.name == name) return &file;
  }
  return nullptr;
}

Result<FolderFiles> FolderFiles::read(const std::vector<TokenizerFile>& files) {
  FolderFiles out{files};
  for (const auto& [name, json] : {std::pair{"tokenizer_config.json", &out.settings_json},
                                   {"config.json", &out.config_json},
                                   {"special_tokens_map.json", &out.map_json},
                                   {"added_tokens.json", &out.added_json},
                                   {"tokenizer.json", &out.file_json}}) {
    const TokenizerFile* file = out.find(name);
    if (!file && json != &out.settings_json) continue;
    Result<Json> read = Json::parse(file ? file->bytes : "{}", name);
    if (!read.ok()) return read.error();
    json->emplace(std::move(read).value());
  }
  if (!out.settings().is_object()) return out.settings().mismatch("an object");
  return out;
}

std::string max_length_json(JsonRef settings) {
  const JsonRef length = settings["model_max_length"], old = settings["max_len"];
  return "\"model_max_length\": " + (length.is_null() ? old : length).to_text();
}

Result<Tokenizer> load_tokenizer(const std::vector<TokenizerFile>& files, const std::vector<std::string_view>& vocab) {
  Result<FolderFiles> folder = FolderFiles::read(files);
  if (!folder.ok()) return folder.error();
  const TokenizerFile* gguf = folder.value().file().exists() ? nullptr : folder.value().find("*.gguf");
  if (gguf) {
    const auto metadata = GgufMetadata::read(gguf->bytes);
    std::vector<std::pair<std::string, std::string>> contents;
    if (metadata.ok() && !metadata.value().is_cut_off()) contents = metadata.value().packed_files();
    std::vector<TokenizerFile> packed;
    packed.reserve(contents.size());
    for (const auto& [name, bytes] : contents) packed.push_back({name, bytes});
    if (!packed.empty()) return load_tokenizer(packed, vocab);
  }
  return Part<FolderReader>::get()->read(folder.value(), vocab);
}

}  // namespace wattn
