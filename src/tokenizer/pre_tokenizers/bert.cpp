// BertPreTokenizer: drops whitespace and isolates every punctuation character.
#include <cstdint>

#include "tokenizer/component.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

class BertPreTokenizer : public PreTokenizer {
 public:
  BertPreTokenizer() {
    for (char32_t c = 0; c < ascii_.size(); ++c) ascii_[c] = class_of(char_properties(c).flags);
  }

  void pre_tokenize(PreTokenizedText& text) const override {
    const char32_t* chars = text.text.chars.data();
    resplit(text, [&](const Split& split, std::vector<Split>& out) {
      std::uint32_t begin = split.begin;
      for (std::uint32_t i = split.begin; i < split.end; ++i) {
        const char32_t c = chars[i];
        const CharClass kind = c < ascii_.size() ? ascii_[c] : class_of(char_properties(c).flags);
        if (kind == CharClass::kLetter) continue;
        if (begin < i) out.push_back({begin, i});
        if (kind == CharClass::kPunctuation) out.push_back({i, i + 1});
        begin = i + 1;
      }
      if (begin < split.end) out.push_back({begin, split.end});
    });
  }

  const AsciiClasses* ascii_classes() const override { return &ascii_; }
  SpaceCuts space_cuts() const override { return SpaceCuts::kDivide; }

 private:
  static CharClass class_of(std::uint16_t flags) {
    return flags & kCharWhitespace ? CharClass::kSpace : flags & kCharPunctuation ? CharClass::kPunctuation : CharClass::kLetter;
  }
  AsciiClasses ascii_{};
};

}  // namespace

PreTokenizerResult read_bert_pre_tokenizer(JsonRef json, int depth) {
  return read_plain<PreTokenizer, BertPreTokenizer>(json, depth);
}

}  // namespace wattn
