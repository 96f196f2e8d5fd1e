// Split, CharDelimiterSplit, FixedLength: split at a pattern, at a character, or every so many characters.
#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/pattern.h"
#include "tokenizer/pre_tokenizers/delimiter.h"
#include "tokenizer/pre_tokenizers/readers.h"

namespace wattn {
namespace {

class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(Pattern pattern, DelimiterBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    split_at_matches(text, behavior_, invert_,
                     [this](std::u32string_view chars, std::vector<TextMatch>& out) { pattern_.find_all(chars, out); });
  }

 private:
  Pattern pattern_;
  DelimiterBehavior behavior_;
  bool invert_;
};

class CharDelimiterSplit : public PreTokenizer {
 public:
  explicit CharDelimiterSplit(char32_t delimiter) : delimiter_(delimiter) {}
  void pre_tokenize(PreTokenizedText& text) const override {
    split_at_chars(text, DelimiterBehavior::kRemoved, [this](char32_t c) { return c == delimiter_; });
  }

 private:
  char32_t delimiter_;
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(std::uint32_t length) : length_(length) {}
  void pre_tokenize(PreTokenizedText& text) const override {
    resplit(text, [&](const Split& split, std::vector<Split>& out) {
      for (std::uint32_t begin = split.begin; begin < split.end;) {
        const std::uint32_t end = split.end - begin > length_ ? begin + length_ : split.end;
        out.push_back({begin, end});
        begin = end;
      }
    });
  }

 private:
  std::uint32_t length_;
};

}  // namespace

PreTokenizerResult read_split(JsonRef json, int) {
  Fields fields(json, {"pattern", "behavior", "invert"});
  const DelimiterBehavior behavior = fields.take(read_delimiter_behavior(fields["behavior"]));
  const bool invert = fields.boolean("invert");
  Result<Pattern> pattern = Pattern::from_json(fields["pattern"]);
  if (!fields.ok()) return fields.error();
  if (!pattern.ok()) return pattern.error();
  return PreTokenizerResult(std::make_unique<PatternSplit>(std::move(pattern).value(), behavior, invert));
}

PreTokenizerResult read_char_delimiter_split(JsonRef json, int) {
  Fields fields(json, {"delimiter"});
  const char32_t delimiter = fields.character("delimiter");
  if (!fields.ok()) return fields.error();
  return PreTokenizerResult(std::make_unique<CharDelimiterSplit>(delimiter));
}

PreTokenizerResult read_fixed_length(JsonRef json, int) {
  Fields fields(json, {"length"});
  const std::int32_t length = fields["length"].exists() ? fields.id("length") : 5;
  if (fields.ok() && length == 0) fields.fail(fields["length"].mismatch("a length of 1 or more"));
  if (!fields.ok()) return fields.error();
  return PreTokenizerResult(std::make_unique<FixedLength>(static_cast<std::uint32_t>(length)));
}

}  // namespace wattn
