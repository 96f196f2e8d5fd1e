// WhitespaceSplit splits at whitespace. Whitespace keeps the matches of \w+|[^\w\s]+: words, and runs of other characters.
#include "tokenizer/component.h"
#include "tokenizer/pre_tokenizers/delimiter.h"
#include "tokenizer/pre_tokenizers/readers.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

class WhitespaceSplit : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenizedText& text) const override {
    split_at_chars(text, DelimiterBehavior::kRemoved, [](char32_t c) { return has_flag(c, kCharWhitespace); });
  }
};

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

}  // namespace

PreTokenizerResult read_whitespace_split(JsonRef json, int depth) { return read_plain<PreTokenizer, WhitespaceSplit>(json, depth); }

PreTokenizerResult read_whitespace(JsonRef json, int depth) { return read_plain<PreTokenizer, Whitespace>(json, depth); }

}  // namespace wattn
