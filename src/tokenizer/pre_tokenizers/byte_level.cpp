// ByteLevel: splits as GPT-2 does and replaces every byte with a visible character. Also the normalizer of that name, which only
// does the latter.
#include <optional>

#include "core/utf.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/component.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/delimiter.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/regex/regex.h"

namespace wattn {
namespace {

constexpr std::string_view kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::optional<Regex> regex) : add_prefix_space_(add_prefix_space), regex_(std::move(regex)) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    if (add_prefix_space_) {
      prepend_to_splits(text, U" ", [&](const Split& split) { return text.text.chars[split.begin] != U' '; });
    }
    if (regex_) {
      split_at_matches(text, DelimiterBehavior::kIsolated, false,
                       [this](std::u32string_view chars, std::vector<TextMatch>& out) { regex_->find_all(chars, out); });
    }
    write_bytes(text);
  }
  bool describe(ByteSplit& split) const override {
    if (split.writes_bytes || add_prefix_space_ || (regex_ && !split.regex.empty())) return false;
    split.writes_bytes = true;
    if (regex_) split.regex = kGpt2Pattern;
    return true;
  }

 private:
  static void write_bytes(PreTokenizedText& text) {
    rewrite_splits(text,
                   [&](const Split& split, NormalizedText& out) { append_byte_chars(text.text, split.begin, split.end, out); });
  }

  bool add_prefix_space_;
  std::optional<Regex> regex_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  void normalize(NormalizedText& text) const override {
    NormalizedText out = text.next();
    append_byte_chars(text, 0, text.size(), out);
    text = std::move(out);
  }
};

}  // namespace

PreTokenizerResult read_byte_level(JsonRef json, int) {
  Fields fields(json, {"add_prefix_space", "trim_offsets", "use_regex"});
  const bool add_prefix_space = fields.boolean("add_prefix_space");
  fields.boolean("trim_offsets");  // only affects the post-processor of this name
  const bool use_regex = fields.boolean_or("use_regex", true);
  std::optional<Regex> regex;
  if (use_regex) regex = Regex::compile(to_utf32(kGpt2Pattern)).value();
  return make_component<PreTokenizer, ByteLevel>(fields, add_prefix_space, std::move(regex));
}

NormalizerResult read_byte_level_normalizer(JsonRef json, int depth) {
  return read_plain<Normalizer, ByteLevelNormalizer>(json, depth);
}

}  // namespace wattn
