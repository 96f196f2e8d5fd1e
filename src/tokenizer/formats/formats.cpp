#include "tokenizer/formats/formats.h"

#include <algorithm>
#include <optional>

#include "core/gguf.h"
#include "core/json.h"
#include "tokenizer/formats/converters.h"

namespace wattn {
namespace {

class Files {
 public:
  explicit Files(const std::vector<TokenizerFile>& files) : files_(files) {}
  const TokenizerFile* named(std::string_view name) const {
    return find([&](const TokenizerFile& file) { return file.name == name; });
  }
  const TokenizerFile* ending(std::string_view ending) const {
    return find([&](const TokenizerFile& file) { return file.name.ends_with(ending); });
  }

 private:
  template <class Wanted>
  const TokenizerFile* find(Wanted wanted) const {
    const auto found = std::find_if(files_.begin(), files_.end(), wanted);
    return found == files_.end() ? nullptr : &*found;
  }
  const std::vector<TokenizerFile>& files_;
};

Result<Converted> whole(Result<std::string> json) {
  if (!json.ok()) return json.error();
  return Converted{std::move(json).value()};
}

Result<Converted> convert(const Files& files, JsonRef config) {
  const TokenizerFile* vocab = files.named("vocab.json");
  const TokenizerFile* merges = files.named("merges.txt");
  const TokenizerFile* source = files.named("source.spm");
  if (vocab && source) return whole(from_marian(source->bytes, vocab->bytes, config));
  if (vocab && merges) return whole(from_vocab_and_merges(vocab->bytes, merges->bytes, config));
  if (const TokenizerFile* list = files.named("vocab.txt")) return from_vocab_txt(list->bytes, config);
  if (const TokenizerFile* model = files.ending(".model")) return whole(from_sentencepiece(model->bytes, config));
  if (const TokenizerFile* model = files.ending(".spm")) return whole(from_sentencepiece(model->bytes, config));
  if (const TokenizerFile* gguf = files.ending(".gguf")) return from_gguf(gguf->bytes);
  return model_format_error(
      "tokenizer.json: expected this file in the model (or vocab.json with merges.txt or source.spm, vocab.txt, a SentencePiece "
      ".model), found none");
}

}  // namespace

Result<Tokenizer> load_tokenizer(const std::vector<TokenizerFile>& given) {
  if (const TokenizerFile* gguf = Files(given).ending(".gguf")) {
    const auto metadata = GgufMetadata::read(gguf->bytes);
    std::vector<TokenizerFile> packed;
    if (metadata.ok() && !metadata.value().is_cut_off()) {
      for (const auto& [name, bytes] : metadata.value().packed_files()) packed.push_back({name, bytes});
    }
    if (!packed.empty()) return load_tokenizer(packed);
  }
  const Files files(given);
  std::optional<Json> config;
  if (const TokenizerFile* file = files.named("tokenizer_config.json")) {
    Result<Json> json = Json::parse(file->bytes, file->name);
    if (!json.ok()) return json.error();
    config.emplace(std::move(json).value());
  }
  const JsonRef settings = config ? config->root() : JsonRef();
  const TokenizerFile* file = files.named("tokenizer.json");
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
