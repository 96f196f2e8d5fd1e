// Punctuation and Digits: split at the characters of one class.
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
  Fields fields(json, {"behavior"});
  DelimiterBehavior behavior = DelimiterBehavior::kIsolated;  // the default in files from before this option existed
  if (fields["behavior"].exists()) behavior = fields.take(read_delimiter_behavior(fields["behavior"]));
  if (!fields.ok()) return fields.error();
  return PreTokenizerResult(std::make_unique<CharClassSplit>(kCharPunctuation, behavior));
}

PreTokenizerResult read_digits(JsonRef json, int) {
  Fields fields(json, {"individual_digits"});
  const bool individual = fields.boolean("individual_digits");
  if (!fields.ok()) return fields.error();
  const DelimiterBehavior behavior = individual ? DelimiterBehavior::kIsolated : DelimiterBehavior::kContiguous;
  return PreTokenizerResult(std::make_unique<CharClassSplit>(kCharNumber, behavior));
}

}  // namespace wattn
