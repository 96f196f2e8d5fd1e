// build: -Oz
#include "tokenizer/normalizers/normalizer.h"

#include <algorithm>
#include <vector>

#include "tokenizer/component.h"

namespace wattn {
namespace {

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  void normalize(NormalizedText& text) const override {
    for (std::size_t i = 0; i < steps_.size() && !text.is_too_long; ++i) steps_[i]->normalize(text);
  }
  bool keeps(std::string_view text) const override {
    return std::all_of(steps_.begin(), steps_.end(), [text](const auto& step) { return step->keeps(text); });
  }
  bool is_local(AsciiSet& tied) const override {
    return std::all_of(steps_.begin(), steps_.end(), [&](const auto& step) { return step->is_local(tied); });
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

NormalizerResult read_sequence(JsonRef json, int depth) {
  Fields fields(json, {"normalizers"});
  std::vector<std::unique_ptr<Normalizer>> steps;
  fields.each(fields.array("normalizers"), [&](JsonRef step) { steps.push_back(fields.take(read_normalizer(step, depth + 1))); });
  return make_component<Normalizer, NormalizerSequence>(fields, std::move(steps));
}

constexpr ComponentReader<Normalizer> kReaders[] = {
    {"BertNormalizer", read_bert_normalizer},
    {"ByteLevel", read_byte_level_normalizer},
    {"Lowercase", read_lowercase},
    {"NFC", read_nfc},
    {"NFD", read_nfd},
    {"NFKC", read_nfkc},
    {"NFKD", read_nfkd},
    {"Nmt", read_nmt},
    {"Precompiled", read_precompiled},
    {"Prepend", read_prepend},
    {"Replace", read_replace},
    {"SentencePiece", read_sentencepiece_normalizer},
    {"Sequence", read_sequence},
    {"Strip", read_strip},
    {"StripAccents", read_strip_accents},
};

}  // namespace

NormalizerResult read_normalizer(JsonRef json, int depth) {
  return read_component<Normalizer>(json, depth, "normalizer", kReaders);
}

}  // namespace wattn
