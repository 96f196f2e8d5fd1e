#include "tokenizer/formats/formats.h"

#include <optional>

#include "core/gguf.h"
#include "core/json.h"
#include "tokenizer/formats/converters.h"

namespace wattn {
namespace {

using Files = std::vector<TokenizerFile>;

// The file of a name, or for a name like "*.gguf" the first with that ending; null if there is none.
const TokenizerFile* find(const Files& files, std::string_view name) {
  for (const TokenizerFile& file : files) {
    if (name.starts_with('*') ? file.name.ends_with(name.substr(1)) : file.name == name) return &file;
  }
  return nullptr;
}

Result<Converted> whole(Result<std::string> json) {
  if (!json.ok()) return json.error();
  return Converted{std::move(json).value()};
}

Result<Converted> convert(const Files& files, JsonRef config) {
  const TokenizerFile* vocab = find(files, "vocab.json");
  const TokenizerFile* merges = find(files, "merges.txt");
  const TokenizerFile* source = find(files, "source.spm");
  if (vocab && source) return whole(from_marian(source->bytes, vocab->bytes, config));
  const TokenizerFile* pieces = find(files, "sentencepiece.bpe.model");
  if (vocab && pieces) return whole(from_m2m_100(pieces->bytes, vocab->bytes, config));
  if (vocab && merges) return whole(from_vocab_and_merges(vocab->bytes, merges->bytes, config));
  if (const TokenizerFile* list = find(files, "vocab.txt")) return from_vocab_txt(list->bytes, config);
  if (const TokenizerFile* model = find(files, "spm.model")) return whole(from_deberta(model->bytes, config));
  if (const TokenizerFile* model = find(files, "*.model")) return whole(from_sentencepiece(model->bytes, config));
  if (const TokenizerFile* model = find(files, "*.spm")) return whole(from_sentencepiece(model->bytes, config));
  if (const TokenizerFile* gguf = find(files, "*.gguf")) return from_gguf(gguf->bytes);
  return model_format_error(
      "tokenizer.json: expected this file in the model (or vocab.json with merges.txt, source.spm or "
      "sentencepiece.bpe.model, vocab.txt, a SentencePiece .model), found none");
}

}  // namespace

Result<Tokenizer> load_tokenizer(const Files& files) {
  if (const TokenizerFile* gguf = find(files, "*.gguf")) {
    const auto metadata = GgufMetadata::read(gguf->bytes);
    std::vector<std::pair<std::string, std::string>> contents;
    if (metadata.ok() && !metadata.value().is_cut_off()) contents = metadata.value().packed_files();
    Files packed;
    for (const auto& [name, bytes] : contents) packed.push_back({name, bytes});
    if (!packed.empty()) return load_tokenizer(packed);
  }
  std::optional<Json> config;
  if (const TokenizerFile* file = find(files, "tokenizer_config.json")) {
    Result<Json> json = Json::parse(file->bytes, file->name);
    if (!json.ok()) return json.error();
    config.emplace(std::move(json).value());
  }
  const JsonRef settings = config ? config->root() : JsonRef();
  const TokenizerFile* file = find(files, "tokenizer.json");
  Converted converted;
  if (!file) {
    Result<Converted> made = convert(files, settings);
    if (!made.ok()) return made.error();
    converted = std::move(made).value();
  }
  const Result<Json> json = Json::parse(file ? file->bytes : converted.json, "tokenizer.json");
  if (!json.ok()) return json.error();
  return Tokenizer::from_json(json.value().root(), settings, converted.vocab);
}

}  // namespace wattn
