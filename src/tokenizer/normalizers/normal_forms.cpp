// NFD, NFC, NFKD, NFKC.
#include "tokenizer/component.h"
#include "tokenizer/normalizers/readers.h"
#include "tokenizer/normalizers/text_forms.h"

namespace wattn {
namespace {

class NormalFormNormalizer : public Normalizer {
 public:
  explicit NormalFormNormalizer(NormalForm form) : form_(form) {}
  void normalize(NormalizedText& text) const override { apply_normal_form(text, form_); }

 private:
  NormalForm form_;
};

NormalizerResult read_form(JsonRef json, NormalForm form) {
  const Fields fields(json, {});
  if (!fields.ok()) return fields.error();
  return NormalizerResult(std::make_unique<NormalFormNormalizer>(form));
}

}  // namespace

NormalizerResult read_nfd(JsonRef json, int) { return read_form(json, NormalForm::kNfd); }
NormalizerResult read_nfc(JsonRef json, int) { return read_form(json, NormalForm::kNfc); }
NormalizerResult read_nfkd(JsonRef json, int) { return read_form(json, NormalForm::kNfkd); }
NormalizerResult read_nfkc(JsonRef json, int) { return read_form(json, NormalForm::kNfkc); }

}  // namespace wattn
