#include "engine/documents.h"

#include "core/gguf.h"
#include "io/gguf.h"
#include "models/gguf_config.h"

namespace wattn {
namespace {

bool makes_lowercase(JsonRef normalizer) {
  const auto type = normalizer["type"].as_string_or("");
  if (!type.ok()) return false;
  if (type.value() == "Lowercase") return true;
  if (type.value() == "BertNormalizer") {
    const auto lowercase = normalizer["lowercase"].as_bool_or(false);
    return lowercase.ok() && lowercase.value();
  }
  const JsonRef parts = normalizer["normalizers"];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (makes_lowercase(parts[i])) return true;
  }
  return false;
}

}  // namespace

Result<Tokenizer> read_tokenizer(const Documents& documents, bool lowercases) {
  const Error no_lowercase = unsupported_error(
      "sentence_bert_config.json: do_lower_case: expected false, or a tokenizer.json that lowercases, found true");
  if (!documents.has("tokenizer.json")) {
    if (lowercases) return no_lowercase;
    return load_tokenizer(documents.for_tokenizer());
  }
  auto tokenizer = documents.read("tokenizer.json");
  if (!tokenizer.ok()) return tokenizer.error();
  // A packed model may leave the vocabulary of WordPiece to llama.cpp's keys.
  std::string buffer;
  std::vector<std::string_view> vocab;
  const NamedFile* gguf = documents.find_ending(".gguf");
  const auto count = tokenizer.value().root()["model"]["vocab"]["tokenizer.ggml.tokens"].as_int_or(0);
  if (gguf && count.ok() && count.value() > 0) {
    const auto metadata = GgufMetadata::read(gguf->bytes);
    if (metadata.ok() && metadata.value().has_word_pieces())
      vocab = metadata.value().pieces(static_cast<std::size_t>(count.value()), buffer);
  }
  if (lowercases && !makes_lowercase(tokenizer.value().root()["normalizer"])) return no_lowercase;
  return load_tokenizer(documents.for_tokenizer(), vocab);
}

Result<std::string> encoder_config(JsonRef config) {
  if (!config.is_object()) return config.mismatch("the encoder's configuration");
  std::string text = config.to_text();
  if (config["model_type"].is_null())
    text.insert(1, config.size() > 0 ? R"("model_type":"deberta-v2",)" : R"("model_type":"deberta-v2")");
  return text;
}

Result<std::vector<NamedFile>> with_gguf_documents(std::vector<NamedFile> files) {
  const Documents documents(files);
  const NamedFile* gguf = documents.find_ending(".gguf");
  if (!gguf || documents.has("config.json")) return files;
  auto made = gguf_documents(gguf->bytes, gguf->name);
  if (!made.ok()) return made.error();
  for (auto& [name, bytes] : made.value()) files.push_back({std::move(name), std::move(bytes)});
  return files;
}

Result<std::vector<NamedFile>> gguf_files(std::string_view beginning, bool& is_cut_off) {
  const auto header = parse_gguf_header(beginning, UINT64_MAX / 2, "model.gguf");
  if (!header.ok()) return header.error();
  is_cut_off = header.value().is_cut_off;
  if (is_cut_off) return std::vector<NamedFile>();
  auto all = with_gguf_documents({{"model.gguf", std::string(beginning)}});
  if (all.ok()) all.value().erase(all.value().begin());
  return all;
}

bool has_gguf_tensors(const Documents& documents) {
  const NamedFile* gguf = documents.find_ending(".gguf");
  if (!gguf) return false;
  const auto metadata = GgufMetadata::read(gguf->bytes);
  return !metadata.ok() || metadata.value().string("general.architecture") != "wattn";
}

bool has_gguf_config(const Documents& documents) {
  const NamedFile* gguf = documents.find_ending(".gguf");
  if (!gguf) return false;
  const auto metadata = GgufMetadata::read(gguf->bytes);
  return !metadata.ok() || metadata.value().strings("wattn.files").empty();
}

Result<std::vector<std::string>> read_weight_files(const Documents& documents) {
  if (const NamedFile* gguf = documents.find_ending(".gguf")) return std::vector<std::string>{gguf->name};
  const bool is_torch = documents.has("pytorch_model.bin.index.json");
  const char* name_of_index = is_torch ? "pytorch_model.bin.index.json" : "model.safetensors.index.json";
  const std::string ending = is_torch ? ".bin" : ".safetensors";
  if (!documents.has(name_of_index)) return std::vector<std::string>{"model.safetensors"};
  auto index = documents.read(name_of_index);
  if (!index.ok()) return index.error();
  const JsonRef map = index.value().root()["weight_map"];
  if (!map.is_object() || map.size() == 0) return map.mismatch("an object of tensor names and shard files");
  std::vector<std::string> shards;
  for (const auto& [tensor, shard] : map.members()) {
    const auto name = shard.as_string();
    if (!name.ok()) return name.error();
    const bool plain = !name.value().empty() && name.value().find_first_of("/\\:") == std::string_view::npos;
    if (!plain || !name.value().ends_with(ending)) return shard.mismatch("the name of a " + ending + " file beside the index");
    shards.emplace_back(name.value());
  }
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  return shards;
}

}  // namespace wattn
