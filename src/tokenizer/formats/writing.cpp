// build: -Oz
#include "tokenizer/formats/writing.h"

#include <algorithm>

namespace wattn {

std::string concat(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

std::string_view next_word(std::string_view& words) {
  while (words.starts_with(' ')) words.remove_prefix(1);
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(word.size());
  return word;
}

bool has_word(std::string_view words, std::string_view wanted) {
  while (!words.empty()) {
    if (next_word(words) == wanted) return !wanted.empty();
  }
  return false;
}

std::string added_tokens_json(const std::vector<SpecialToken>& tokens) {
  std::string out = "[";
  for (const SpecialToken& token : tokens) {
    out += (out.size() > 1 ? ", {\"id\": " : "{\"id\": ") + std::to_string(token.id) +
           ", \"content\": " + json_text(token.content) +
           R"(, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": )" +
           std::string(json_bool(token.special)) + "}";
  }
  return out + "]";
}

namespace {

std::string pieces_json(std::string_view pieces) {
  std::string out = "[";
  while (!pieces.empty()) {
    const std::size_t end = std::min(pieces.find(' '), pieces.size());
    const std::string_view piece = pieces.substr(0, end);
    pieces.remove_prefix(std::min(end + 1, pieces.size()));
    if (piece.size() < 3) continue;  // part of a name with spaces, which the reader will reject
    const std::string_view name = piece.substr(0, piece.size() - 2);
    const bool is_text = name.starts_with('$');
    out += out.size() > 1 ? ", {" : "{";
    out += is_text ? "\"Sequence\": {\"id\": " : "\"SpecialToken\": {\"id\": ";
    out += json_text(is_text ? name.substr(1) : name);
    out += ", \"type_id\": ";
    out += piece.back();
    out += "}}";
  }
  return out + "]";
}

}  // namespace

std::string text_template(std::string_view before, std::string_view text, std::string_view after, char type) {
  std::string out;
  for (const std::string_view piece : {before, text, after}) {
    if (!piece.empty()) out.append(out.empty() ? "" : " ").append(piece).append({':', type});
  }
  return out;
}

std::string template_json(std::string_view single, std::string_view pair, const std::vector<SpecialToken>& tokens) {
  std::string special;
  for (const SpecialToken& token : tokens) {
    const std::string name = json_text(token.content);
    if (!special.empty()) special += ", ";
    special.append(name).append(": {\"id\": ").append(name).append(", \"ids\": [").append(std::to_string(token.id));
    special.append("], \"tokens\": [").append(name).append("]}");
  }
  return R"({"type": "TemplateProcessing", "single": )" + pieces_json(single) + ", \"pair\": " + pieces_json(pair) +
         ", \"special_tokens\": {" + special + "}}";
}

std::string bpe_json(const BpeParts& parts) {
  const auto json_or_null = [](const std::optional<std::string>& text) { return text ? json_text(*text) : "null"; };
  return R"({"type":"BPE","dropout":null,"unk_token":)" + json_or_null(parts.unk_token) +
         ",\"continuing_subword_prefix\":" + json_or_null(parts.continuing_subword_prefix) +
         ",\"end_of_word_suffix\":" + json_or_null(parts.end_of_word_suffix) +
         ",\"fuse_unk\":" + std::string(json_bool(parts.fuse_unk)) +
         ",\"byte_fallback\":" + std::string(json_bool(parts.byte_fallback)) +
         ",\"ignore_merges\":" + std::string(json_bool(parts.ignore_merges)) +
         (parts.num_known < 0 ? "" : ",\"num_known\":" + std::to_string(parts.num_known)) + ",\"vocab\":" + parts.vocab +
         ",\"merges\":" + parts.merges + "}";
}

std::string tokenizer_json(const TokenizerParts& parts) {
  return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": )" + parts.added_tokens +
         ", \"normalizer\": " + parts.normalizer + ", \"pre_tokenizer\": " + parts.pre_tokenizer +
         ", \"post_processor\": " + parts.post_processor + ", \"decoder\": " + parts.decoder + ", \"model\": " + parts.model + "}";
}

std::string_view token_name(JsonRef config, std::string_view key, std::string_view fallback) {
  const JsonRef token = config[key];
  const Result<std::string_view> name = (token.is_object() ? token["content"] : token).as_string_or(fallback);
  return name.ok() ? name.value() : fallback;
}

}  // namespace wattn
