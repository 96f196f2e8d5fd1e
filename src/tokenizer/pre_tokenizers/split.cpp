// build: -Os
// Pre-tokenizers of a few lines each. Split cuts at a pattern, CharDelimiterSplit at a character; Punctuation, Digits
// and WhitespaceSplit cut at the characters of a class. Then there are Whitespace, and FixedLength, which cuts every so many
// characters.
#include <string>
#include <string_view>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/pattern.h"
#include "tokenizer/pre_tokenizers/delimiter.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(Pattern pattern, DelimiterBehavior behavior, bool invert, std::string_view regex)
      : pattern_(std::move(pattern)), regex_(regex), behavior_(behavior), invert_(invert) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    split_at_matches(text, behavior_, invert_,
                     [this](std::u32string_view chars, std::vector<TextMatch>& out) { pattern_.find_all(chars, out); });
  }
  bool describe(ByteSplit& split) const override {
    if (!split.regex.empty() || split.writes_bytes || invert_ || behavior_ != DelimiterBehavior::kIsolated) return false;
    split.regex = regex_;
    return !regex_.empty();
  }

 private:
  Pattern pattern_;
  std::string regex_;  // empty for a string
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

class CharClassSplit : public PreTokenizer {
 public:
  CharClassSplit(CharFlag delimiter, DelimiterBehavior behavior) : delimiter_(delimiter), behavior_(behavior) {}
  void pre_tokenize(PreTokenizedText& text) const override {
    split_at_chars(text, behavior_, [this](char32_t c) { return has_flag(c, delimiter_); });
  }
  bool describe(ByteSplit& split) const override {
    if (!split.regex.empty() || split.writes_bytes || delimiter_ != kCharNumber || behavior_ != DelimiterBehavior::kIsolated)
      return false;
    return split.digits_first = true;
  }
  SpaceCuts space_cuts() const override {
    if (behavior_ == DelimiterBehavior::kMergedWithNext || behavior_ == DelimiterBehavior::kMergedWithPrevious)
      return SpaceCuts::kNone;
    return delimiter_ == kCharWhitespace ? SpaceCuts::kDivide : SpaceCuts::kLocal;
  }

 private:
  CharFlag delimiter_;
  DelimiterBehavior behavior_;
};

// Keeps the matches of \w+|[^\w\s]+: words, and runs of other characters.
class Whitespace : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenizedText& text) const override {
    resplit(text, [&](const Split& split, std::vector<Split>& out) {
      for (std::uint32_t begin = split.begin, end; begin < split.end; begin = end) {
        const Kind kind = kind_of(text.text.chars[begin]);
        for (end = begin + 1; end < split.end && kind_of(text.text.chars[end]) == kind;) ++end;
        if (kind != kSpace) out.push_back({begin, end});
      }
    });
  }

 private:
  enum Kind { kWord, kSpace, kOther };
  static Kind kind_of(char32_t c) {
    const std::uint16_t flags = char_properties(c).flags;
    return flags & kCharWord ? kWord : flags & kCharWhitespace ? kSpace : kOther;
  }
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
  Pattern pattern = fields.take(Pattern::from_json(fields["pattern"]));
  const JsonRef regex = fields["pattern"]["Regex"];
  const std::string_view text = regex.is_string() ? regex.as_string().value() : std::string_view();
  return make_component<PreTokenizer, PatternSplit>(fields, std::move(pattern), behavior, invert, text);
}

PreTokenizerResult read_char_delimiter_split(JsonRef json, int) {
  Fields fields(json, {"delimiter"});
  const char32_t delimiter = fields.character("delimiter");
  return make_component<PreTokenizer, CharDelimiterSplit>(fields, delimiter);
}

PreTokenizerResult read_punctuation(JsonRef json, int) {
  Fields fields(json, {"behavior"});
  DelimiterBehavior behavior = DelimiterBehavior::kIsolated;  // the default in files from before this option existed
  if (fields["behavior"].exists()) behavior = fields.take(read_delimiter_behavior(fields["behavior"]));
  return make_component<PreTokenizer, CharClassSplit>(fields, kCharPunctuation, behavior);
}

PreTokenizerResult read_digits(JsonRef json, int) {
  Fields fields(json, {"individual_digits"});
  const bool individual = fields.boolean("individual_digits");
  const DelimiterBehavior behavior = individual ? DelimiterBehavior::kIsolated : DelimiterBehavior::kContiguous;
  return make_component<PreTokenizer, CharClassSplit>(fields, kCharNumber, behavior);
}

PreTokenizerResult read_whitespace_split(JsonRef json, int) {
  return make_component<PreTokenizer, CharClassSplit>(Fields(json, {}), kCharWhitespace, DelimiterBehavior::kRemoved);
}

PreTokenizerResult read_whitespace(JsonRef json, int depth) { return read_plain<PreTokenizer, Whitespace>(json, depth); }

PreTokenizerResult read_fixed_length(JsonRef json, int) {
  Fields fields(json, {"length"});
  const std::int32_t length = fields["length"].exists() ? fields.id("length") : 5;
  if (fields.ok() && length == 0) fields.fail(fields["length"].mismatch("a length of 1 or more"));
  return make_component<PreTokenizer, FixedLength>(fields, static_cast<std::uint32_t>(length));
}

}  // namespace wattn
