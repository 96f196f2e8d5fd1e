// build: -Oz
// The tokenizer inside a GGUF file: SentencePiece pieces ("llama", "t5"), byte-level BPE ("gpt2") or WordPiece ("bert").
#include "core/gguf.h"

#include <algorithm>
#include <vector>

#include "core/json.h"
#include "core/utf.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";  // before a token that begins a word

class GgufTokenizer {
 public:
  explicit GgufTokenizer(const GgufMetadata& file) : file_(file), tokens_(file.strings("tokenizer.ggml.tokens")) {
    for (const double kind : file.numbers("tokenizer.ggml.token_type")) {
      kinds_.push_back(kind >= 0 && kind < 256 ? static_cast<std::uint8_t>(kind) : std::uint8_t{0});
    }
    kinds_.resize(tokens_.size(), Piece::kNormal);
  }

  Result<Converted> convert() const {
    if (tokens_.empty()) return model_format_error("GGUF: expected tokenizer.ggml.tokens, found none");
    for (const std::string_view token : tokens_) {
      if (!is_utf8(token)) return model_format_error("GGUF: tokenizer.ggml.tokens: expected UTF-8, found other bytes");
    }
    const std::string_view kind = file_.string("tokenizer.ggml.model").value_or("");
    if (kind == "bert") return wordpiece();
    const bool is_llama = kind == "llama";
    if (!is_llama && kind != "t5" && kind != "gpt2") {
      return unsupported_error("GGUF: tokenizer.ggml.model: expected llama, t5, gpt2 or bert, found \"" + std::string(kind) + "\"");
    }
    Result<std::string> json = kind == "gpt2" ? byte_level() : pieces(is_llama);
    if (!json.ok()) return json.error();
    return Converted{std::move(json).value()};
  }

 private:
  // The token whose id is stored under a key; empty if there is none.
  std::string_view token(std::string_view key) const {
    const std::optional<double> id = file_.number("tokenizer.ggml." + std::string(key) + "_token_id");
    return id && *id >= 0 && *id < static_cast<double>(tokens_.size()) ? tokens_[static_cast<std::size_t>(*id)]
                                                                       : std::string_view();
  }
  bool flag(std::string_view key, bool fallback) const {
    return file_.number("tokenizer.ggml." + std::string(key)).value_or(fallback ? 1 : 0) != 0;
  }

  void put_around(bool add_bos, bool add_eos, std::string& single, std::string& pair) const {
    const std::string_view bos = add_bos ? token("bos") : "", eos = add_eos ? token("eos") : "";
    single = text_template(bos, "$A", eos);
    pair = single + " " + text_template(bos, "$B", eos, '1');
  }

  Result<std::string> pieces(bool is_llama) const {
    PieceModel model;
    const std::vector<double> scores = file_.numbers("tokenizer.ggml.scores");
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const float score = i < scores.size() ? static_cast<float>(scores[i]) : 0;
      if (score - score != 0) return model_format_error("GGUF: tokenizer.ggml.scores: expected finite numbers, found others");
      model.pieces.push_back({tokens_[i], score, kinds_[i]});
    }
    model.is_bpe = is_llama;
    model.byte_fallback = std::count(kinds_.begin(), kinds_.end(), Piece::kByte) > 0;
    model.charsmap = file_.bytes("tokenizer.ggml.precompiled_charsmap");
    model.add_dummy_prefix = flag("add_space_prefix", true);
    model.remove_extra_whitespaces = flag("remove_extra_whitespaces", !is_llama);
    put_around(flag("add_bos_token", is_llama), flag("add_eos_token", !is_llama), model.single, model.pair);
    // XLM-RoBERTa: a separator in place of the second beginning, and no types. llama.cpp's spelling.
    if (!is_llama && flag("add_bos_token", false)) {
      model.pair = model.single + " " + text_template(token("seperator"), "$B", token("eos"));
    }
    return pieces_tokenizer_json(model);
  }

  std::vector<SpecialToken> special_tokens() const {
    std::vector<SpecialToken> special;
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      const bool named =
          std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view name) { return token(name) == tokens_[id]; });
      if (named || kinds_[id] == Piece::kControl) special.push_back({std::string(tokens_[id]), static_cast<std::int32_t>(id)});
    }
    return special;
  }

  Result<std::string> byte_level() const {
    const Result<GgufPre> pre = gguf_pre(file_.string("tokenizer.ggml.pre").value_or("gpt-2"));
    if (!pre.ok()) return pre.error();
    std::string merges;
    for (const std::string_view merge : file_.strings("tokenizer.ggml.merges")) {
      merges += (merges.empty() ? "" : ", ") + json_text(merge);
    }
    std::vector<SpecialToken> added = special_tokens();
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      if (kinds_[id] == Piece::kUserDefined) added.push_back({std::string(tokens_[id]), static_cast<std::int32_t>(id), false});
    }
    TokenizerParts parts;
    std::string single, pair;
    put_around(flag("add_bos_token", pre.value().add_bos), flag("add_eos_token", false), single, pair);
    parts.added_tokens = added_tokens_json(added);
    parts.post_processor = template_json(single, pair, special_tokens());
    parts.pre_tokenizer = pre.value().pre_tokenizer;
    parts.decoder = R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})";
    parts.model =
        bpe_json({.vocab = vocab_json(tokens_), .merges = "[" + merges + "]", .ignore_merges = pre.value().ignore_merges});
    return tokenizer_json(parts);
  }

  // GGUF marks tokens that begin a word, while vocab.txt marks those that continue one.
  Result<Converted> wordpiece() const {
    Converted out;
    out.vocab.reserve(tokens_.size());
    std::size_t most = 0;
    for (const std::string_view text : tokens_) most += text.size() + 2;
    out.bytes.reserve(most);  // views of it stay valid
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      const std::string_view text = tokens_[id];
      const bool plain = kinds_[id] != Piece::kNormal || (text.starts_with('[') && text.ends_with(']') && text.size() > 2);
      if (text.starts_with(kMark) || plain) {
        out.vocab.push_back(text.starts_with(kMark) ? text.substr(kMark.size()) : text);
        continue;
      }
      const char* begin = out.bytes.data() + out.bytes.size();
      out.bytes.insert(out.bytes.end(), {'#', '#'});
      out.bytes.insert(out.bytes.end(), text.begin(), text.end());
      out.vocab.emplace_back(begin, text.size() + 2);
    }
    out.json = kWordPieceJson;
    out.assumed = "BertTokenizer";
    return out;
  }

  static constexpr std::string_view kNames[] = {"bos", "eos", "unknown", "padding", "separator", "seperator", "cls", "mask"};

  const GgufMetadata& file_;
  std::vector<std::string_view> tokens_;
  std::vector<std::uint8_t> kinds_;  // [tokens] Piece::Kind
};

}  // namespace

Result<Converted> from_gguf(std::string_view bytes) {
  const Result<GgufMetadata> file = GgufMetadata::read(bytes);
  if (!file.ok()) return file.error();
  if (file.value().is_cut_off()) return model_format_error("GGUF: expected complete metadata, found a file that ends inside it");
  return GgufTokenizer(file.value()).convert();
}

}  // namespace wattn
