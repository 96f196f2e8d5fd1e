// vocab.json and merges.txt: byte-level BPE (GPT-2, RoBERTa), or the first GPT's, whose words end in </w>. The tokenizer_class of
// tokenizer_config.json tells which; without it the vocabulary does, by </w> or RoBERTa's <mask>.
#include <algorithm>
#include <vector>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

enum class Kind { kGpt2, kRoberta, kGpt, kClip };

Result<Kind> kind_of(JsonRef config, JsonRef vocab) {
  const Result<std::string_view> name = read_tokenizer_class(config);
  if (!name.ok()) return name.error();
  const std::string_view of = name.value();
  if (of == "GPT2Tokenizer" || of == "CodeGenTokenizer") return Kind::kGpt2;
  if (of == "RobertaTokenizer" || of == "BartTokenizer" || of == "LongformerTokenizer" || of == "LEDTokenizer")
    return Kind::kRoberta;
  if (of == "OpenAIGPTTokenizer") return Kind::kGpt;
  if (of == "CLIPTokenizer") return Kind::kClip;
  if (!of.empty()) {
    return unsupported_error(config["tokenizer_class"].where() +
                             ": a vocab.json of this class is not supported without a tokenizer.json, found " +
                             config["tokenizer_class"].describe());
  }
  const auto members = vocab.members();
  if (std::any_of(members.begin(), members.end(), [](const auto& member) { return member.first.ends_with("</w>"); })) {
    return vocab["<|startoftext|>"].exists() ? Kind::kClip : Kind::kGpt;
  }
  return vocab["<mask>"].exists() && vocab["<s>"].exists() && vocab["</s>"].exists() ? Kind::kRoberta : Kind::kGpt2;
}

// [token, id]
std::string token_and_id(std::string_view token, JsonRef vocab) {
  return "[" + json_text(token) + ", " + std::to_string(vocab[token].as_int_or(0).value()) + "]";
}

std::string roberta_json(std::string_view cls, std::string_view sep, JsonRef vocab, bool trim_offsets, bool add_prefix_space) {
  return R"({"type": "RobertaProcessing", "sep": )" + token_and_id(sep, vocab) + ", \"cls\": " + token_and_id(cls, vocab) +
         ", \"trim_offsets\": " + json_bool(trim_offsets) + ", \"add_prefix_space\": " + json_bool(add_prefix_space) + "}";
}

std::string merges_json(std::string_view merges) {
  std::string out;
  while (!merges.empty()) {
    const std::size_t end = std::min(merges.find('\n'), merges.size());
    std::string_view line = merges.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) out += (out.empty() ? "" : ", ") + json_text(line);
    merges.remove_prefix(std::min(end + 1, merges.size()));
  }
  return "[" + out + "]";
}

constexpr std::string_view kByteLevelDecoder =
    R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})";

std::string byte_level_json(bool add_prefix_space) {
  return std::string(R"({"type": "ByteLevel", "trim_offsets": true, "use_regex": true, "add_prefix_space": )") +
         json_bool(add_prefix_space) + "}";
}

constexpr std::string_view kClipPattern =
    R"(<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";

void write_stages(Kind kind, bool add_prefix_space, TokenizerParts& parts) {
  if (kind == Kind::kGpt) {
    parts.normalizer =
        R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true})";
    parts.pre_tokenizer = R"({"type": "BertPreTokenizer"})";
    parts.decoder = R"({"type": "BPEDecoder", "suffix": "</w>"})";
    return;
  }
  parts.decoder = kByteLevelDecoder;
  parts.pre_tokenizer = byte_level_json(add_prefix_space);
  if (kind != Kind::kClip) return;
  parts.decoder = std::string(R"({"type": "Sequence", "decoders": [)")
                      .append(kByteLevelDecoder)
                      .append(R"(, {"type": "WordEnd", "suffix": "</w>"}]})");
  parts.normalizer =
      R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, )"
      R"({"type": "Lowercase"}]})";
  parts.pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": )" +
                        json_text(kClipPattern) + R"(}, "behavior": "Removed", "invert": true}, )" + byte_level_json(false) + "]}";
}

}  // namespace

Result<std::string> from_vocab_and_merges(std::string_view vocab_file, std::string_view merges, JsonRef config) {
  const Result<Json> document = Json::parse(vocab_file, "vocab.json");
  if (!document.ok()) return document.error();
  const JsonRef vocab = document.value().root();
  if (!vocab.is_object()) return vocab.mismatch("an object of tokens and their ids");
  if (!is_utf8(merges)) return model_format_error("merges.txt: expected UTF-8, found other bytes");
  const Result<Kind> found = kind_of(config, vocab);
  if (!found.ok()) return found.error();
  const Kind kind = found.value();
  const Result<bool> add_prefix_space = config["add_prefix_space"].as_bool_or(false);
  if (!add_prefix_space.ok()) return add_prefix_space.error();

  const bool roberta = kind == Kind::kRoberta;
  const std::string_view end = roberta ? "</s>" : "<|endoftext|>";
  const std::string_view cls = token_name(config, roberta ? "cls_token" : "bos_token", roberta ? "<s>" : "<|startoftext|>");
  const std::string_view sep = token_name(config, roberta ? "sep_token" : "eos_token", end);
  const std::string_view unk = token_name(config, "unk_token", kind == Kind::kRoberta || kind == Kind::kGpt ? "<unk>" : end);
  std::vector<SpecialToken> special;
  for (const std::string_view name : {cls, token_name(config, "pad_token", roberta ? "<pad>" : ""), sep, unk,
                                      token_name(config, "mask_token", roberta ? "<mask>" : "")}) {
    const Result<std::int64_t> id = vocab[name].as_int();
    const bool known =
        std::any_of(special.begin(), special.end(), [&](const SpecialToken& token) { return token.content == name; });
    if (id.ok() && !known) special.push_back({std::string(name), static_cast<std::int32_t>(id.value())});
  }
  if (kind == Kind::kRoberta || kind == Kind::kClip) {
    for (const std::string_view name : {cls, sep}) {
      if (!vocab[name].exists()) return vocab[name].mismatch("an id");
    }
  }
  const bool suffix = kind == Kind::kGpt || kind == Kind::kClip;
  TokenizerParts parts;
  parts.added_tokens = added_tokens_json(special);
  write_stages(kind, add_prefix_space.value(), parts);
  if (roberta) parts.post_processor = roberta_json(cls, sep, vocab, true, add_prefix_space.value());
  if (kind == Kind::kClip) parts.post_processor = roberta_json(cls, sep, vocab, false, false);
  if (vocab_file.starts_with("\xEF\xBB\xBF")) vocab_file.remove_prefix(3);
  BpeParts model{.vocab = std::string(vocab_file), .merges = merges_json(merges)};
  if (suffix) model.unk_token = unk;
  if (suffix) model.end_of_word_suffix = "</w>";
  parts.model = bpe_json(model);
  return tokenizer_json(parts);
}

}  // namespace wattn
