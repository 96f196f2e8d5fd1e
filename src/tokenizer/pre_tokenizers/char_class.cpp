// Punctuation and Digits: cut at the characters of one class.
#include "tokenizer/component.h"
#include "tokenizer/pre_tokenizers/delimiter.h"
#include "tokenizer/pre_tokenizers/readers.h"
#include "tokenizer/unicode.h"

namespace wattn {

namespace {

class CharClassSplit : public PreTokenizer {
 public:
  CharClassSplit(CharFlag delimiter, DelimiterBehavior behavior) : delimiter_(delimiter), behavior_(behavior) {}
  void pre_tokenize(PreTokenizedText& text) const override {
    split_at_chars(text, behavior_, [this](char32_t c) { return has_flag(c, delimiter_); });
  }

 private:
  CharFlag delimiter_;
  DelimiterBehavior behavior_;
};

}  // namespace

PreTokenizerResult read_punctuation(JsonRef json, int) {
  if (const Result<void> known = allow_only(json, {"type", "behavior"}); !known.ok()) return known.error();
  Result<DelimiterBehavior> behavior = DelimiterBehavior::kIsolated;  // files from before there was a choice say nothing
  if (json["behavior"].exists()) behavior = read_delimiter_behavior(json["behavior"]);
  if (!behavior.ok()) return behavior.error();
  return PreTokenizerResult(std::make_unique<CharClassSplit>(kCharPunctuation, behavior.value()));
}

PreTokenizerResult read_digits(JsonRef json, int) {
  if (const Result<void> known = allow_only(json, {"type", "individual_digits"}); !known.ok()) return known.error();
  const Result<bool> individual = json["individual_digits"].as_bool();
  if (!individual.ok()) return individual.error();
  return PreTokenizerResult(std::make_unique<CharClassSplit>(
      kCharNumber, individual.value() ? DelimiterBehavior::kIsolated : DelimiterBehavior::kContiguous));
}

}  // namespace wattn
