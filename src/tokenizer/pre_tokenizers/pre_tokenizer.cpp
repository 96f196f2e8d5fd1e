// build: -Oz
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

#include <algorithm>
#include <vector>

#include "tokenizer/component.h"

namespace wattn {
namespace {

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
  void pre_tokenize(PreTokenizedText& text) const override {
    for (std::size_t i = 0; i < steps_.size() && !text.text.is_too_long; ++i) steps_[i]->pre_tokenize(text);
  }
  bool describe(ByteSplit& split) const override {
    return std::all_of(steps_.begin(), steps_.end(), [&](const auto& step) { return step->describe(split); });
  }
  SpaceCuts space_cuts() const override {
    SpaceCuts all = SpaceCuts::kLocal;
    for (const auto& step : steps_) {
      const SpaceCuts cuts = step->space_cuts();
      if (cuts == SpaceCuts::kNone) return cuts;
      all = std::max(all, cuts);
    }
    return all;
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

PreTokenizerResult read_sequence(JsonRef json, int depth) {
  Fields fields(json, {"pretokenizers"});
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  fields.each(fields.array("pretokenizers"),
              [&](JsonRef step) { steps.push_back(fields.take(read_pre_tokenizer(step, depth + 1))); });
  return make_component<PreTokenizer, PreTokenizerSequence>(fields, std::move(steps));
}

constexpr ComponentReader<PreTokenizer> kReaders[] = {
    {"BertPreTokenizer", read_bert_pre_tokenizer},
    {"ByteLevel", read_byte_level},
    {"CharDelimiterSplit", read_char_delimiter_split},
    {"Digits", read_digits},
    {"FixedLength", read_fixed_length},
    {"Metaspace", read_metaspace},
    {"Punctuation", read_punctuation},
    {"Sequence", read_sequence},
    {"Split", read_split},
    {"UnicodeScripts", read_unicode_scripts},
    {"Whitespace", read_whitespace},
    {"WhitespaceSplit", read_whitespace_split},
};

}  // namespace

PreTokenizerResult read_pre_tokenizer(JsonRef json, int depth) {
  return read_component<PreTokenizer>(json, depth, "pre-tokenizer", kReaders);
}

}  // namespace wattn
