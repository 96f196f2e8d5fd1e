// vocab.txt: the tokens of a BERT, one per line. tokenizer_config.json tells whether it is cased; without it, a vocabulary with
// capital letters is. (Python takes every such folder for uncased.)
#include <algorithm>
#include <vector>

#include "core/utf.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

// Lines end as in Python, with \n, \r\n or \r. The text after the last line end is a line unless it is empty.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + (text.substr(end).starts_with("\r\n") ? 2 : 1)));
  }
  return lines;
}

bool has_capitals(const std::vector<std::string_view>& tokens) {
  return std::any_of(tokens.begin(), tokens.end(), [](std::string_view token) {
    return !(token.starts_with('[') && token.ends_with(']')) && !(token.starts_with('<') && token.ends_with('>')) &&
           std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

std::string flag(JsonRef config, std::string_view key, std::string_view fallback) {
  const Result<bool> value = config[key].as_bool();
  return value.ok() ? json_bool(value.value()) : std::string(fallback);
}

}  // namespace

Result<Converted> from_vocab_txt(std::string_view vocab, JsonRef config) {
  if (!is_utf8(vocab)) return model_format_error("vocab.txt: expected UTF-8, found other bytes");
  std::vector<std::string_view> tokens = lines_of(vocab);
  Result<std::string> json = from_wordpiece_tokens(tokens, config);
  if (!json.ok()) return json.error();
  return Converted{std::move(json).value(), std::move(tokens)};
}

Result<std::string> from_wordpiece_tokens(const std::vector<std::string_view>& tokens, JsonRef config) {
  const std::string_view cls = token_name(config, "cls_token", "[CLS]"), sep = token_name(config, "sep_token", "[SEP]");
  const std::string_view unk = token_name(config, "unk_token", "[UNK]");
  std::vector<SpecialToken> special;
  for (const std::string_view name :
       {token_name(config, "pad_token", "[PAD]"), unk, cls, sep, token_name(config, "mask_token", "[MASK]")}) {
    const auto found = std::find(tokens.rbegin(), tokens.rend(), name);
    if (found == tokens.rend()) continue;
    special.push_back({std::string(name), static_cast<std::int32_t>(tokens.rend() - found - 1)});
  }
  for (const std::string_view name : {cls, sep, unk}) {
    if (std::find(tokens.begin(), tokens.end(), name) == tokens.end()) {
      return model_format_error("vocab.txt: expected the token \"" + std::string(name) + "\", found none");
    }
  }
  TokenizerParts parts;
  parts.added_tokens = added_tokens_json(special);
  parts.normalizer = R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": )" +
                     flag(config, "tokenize_chinese_chars", "true") +
                     ", \"strip_accents\": " + flag(config, "strip_accents", "null") +
                     ", \"lowercase\": " + flag(config, "do_lower_case", has_capitals(tokens) ? "false" : "true") + "}";
  parts.pre_tokenizer = R"({"type": "BertPreTokenizer"})";
  const std::string single = text_template(cls, "$A", sep);
  parts.post_processor = template_json(single, single + " " + text_template("", "$B", sep, '1'), special);
  parts.decoder = R"({"type": "WordPiece", "prefix": "##", "cleanup": true})";
  parts.model = R"({"type": "WordPiece", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "unk_token": )" +
                json_text(unk) + ", \"vocab\": {}}";
  return tokenizer_json(parts);
}

}  // namespace wattn
