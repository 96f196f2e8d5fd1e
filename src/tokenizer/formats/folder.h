// The files of a folder that say something about its tokenizer, and the two readers of them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/formats/formats.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

struct FolderFiles {
  const std::vector<TokenizerFile>& files;
  // tokenizer_config.json (an empty object without one), config.json, special_tokens_map.json, added_tokens.json, tokenizer.json
  std::optional<Json> settings_json{}, config_json{}, map_json{}, added_json{}, file_json{};

  static Result<FolderFiles> read(const std::vector<TokenizerFile>& files);

  // The file of a name, or for a name like "*.gguf" the first with that ending; null if there is none.
  const TokenizerFile* find(std::string_view name) const;

  static JsonRef root(const std::optional<Json>& json) { return json ? json->root() : JsonRef(); }
  JsonRef settings() const { return root(settings_json); }
  JsonRef config() const { return root(config_json); }
  JsonRef map() const { return root(map_json); }
  JsonRef added() const { return root(added_json); }
  JsonRef file() const { return root(file_json); }  // absent without a tokenizer.json
};

// "model_max_length" of tokenizer_config.json, as a member of an object.
std::string max_length_json(JsonRef settings);

// A reader of folders; each program adds one of the two.
struct FolderReader {
  Result<Tokenizer> (*read)(const FolderFiles& folder, const std::vector<std::string_view>& vocab);
};
// Reads any folder, by all of its files (class_tokenizer.cpp).
extern const FolderReader kClassFolders;
// Reads a folder whose files say no more than one of them does: a tokenizer.json that its class would not change, BERT's vocab.txt,
// or a GGUF file. An UnsupportedError: that is not sure (plain.cpp).
extern const FolderReader kPlainFolders;

}  // namespace wattn
