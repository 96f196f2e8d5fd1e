// build: -Os
// NFD, NFC, NFKD, NFKC, Lowercase, StripAccents, Strip, Prepend, Nmt: short normalizers.
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/text_forms.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

class NormalFormNormalizer : public Normalizer {
 public:
  explicit NormalFormNormalizer(NormalForm form) : form_(form) {}
  void normalize(NormalizedText& text) const override { apply_normal_form(text, form_); }
  bool keeps(std::string_view text) const override { return surely_has_normal_form(text, form_); }
  bool is_local(AsciiSet&) const override { return true; }

 private:
  NormalForm form_;
};

NormalizerResult read_form(JsonRef json, NormalForm form) {
  const Fields fields(json, {});
  return make_component<Normalizer, NormalFormNormalizer>(fields, form);
}

class Lowercase : public Normalizer {
 public:
  void normalize(NormalizedText& text) const override { apply_lowercase(text); }
  bool is_local(AsciiSet&) const override { return true; }
};

// Removes all combining marks, not only the nonspacing ones as BertNormalizer does, and without decomposing first.
class StripAccents : public Normalizer {
 public:
  void normalize(NormalizedText& text) const override {
    erase_chars(text, [](char32_t c) { return c >= 0x80 && has_flag(c, kCharMark); });
  }
  bool is_local(AsciiSet&) const override { return true; }
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void normalize(NormalizedText& text) const override {
    std::size_t begin = 0, end = text.size();
    while (left_ && begin < end && has_flag(text.chars[begin], kCharWhitespace)) ++begin;
    while (right_ && begin < end && has_flag(text.chars[end - 1], kCharWhitespace)) --end;
    text.resize(end);
    text.chars.erase(0, begin);
    text.spans.erase(text.spans.begin(), text.spans.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  bool is_local(AsciiSet&) const override { return true; }

 private:
  bool left_, right_;
};

// The prefix has the span of the text's first character. An empty text stays empty.
class Prepend : public Normalizer {
 public:
  explicit Prepend(std::u32string prefix) : prefix_(std::move(prefix)) {}
  void normalize(NormalizedText& text) const override {
    if (text.size() == 0) return;
    NormalizedText out = text.next();
    out.reserve(text.size() + prefix_.size());
    for (const char32_t c : prefix_) out.push(c, text.spans[0]);
    out.append(text, 0, text.size());
    text = std::move(out);
  }
  bool is_local(AsciiSet&) const override { return true; }

 private:
  std::u32string prefix_;
};

// SentencePiece's "nmt" rules: removes some controls and replaces other characters with spaces.
class Nmt : public Normalizer {
 public:
  void normalize(NormalizedText& text) const override {
    erase_chars(text, [](char32_t c) {
      return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    });
    for (char32_t& c : text.chars) {
      const bool is_space = (c >= 0x09 && c <= 0x0D) || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                            c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
      if (is_space) c = U' ';
    }
  }
  bool is_local(AsciiSet&) const override { return true; }
};

}  // namespace

NormalizerResult read_nfd(JsonRef json, int) { return read_form(json, NormalForm::kNfd); }
NormalizerResult read_nfc(JsonRef json, int) { return read_form(json, NormalForm::kNfc); }
NormalizerResult read_nfkd(JsonRef json, int) { return read_form(json, NormalForm::kNfkd); }
NormalizerResult read_nfkc(JsonRef json, int) { return read_form(json, NormalForm::kNfkc); }
NormalizerResult read_nmt(JsonRef json, int depth) { return read_plain<Normalizer, Nmt>(json, depth); }
NormalizerResult read_lowercase(JsonRef json, int depth) { return read_plain<Normalizer, Lowercase>(json, depth); }
NormalizerResult read_strip_accents(JsonRef json, int depth) { return read_plain<Normalizer, StripAccents>(json, depth); }

NormalizerResult read_strip(JsonRef json, int) {
  Fields fields(json, {"strip_left", "strip_right"});
  const bool left = fields.boolean("strip_left");
  const bool right = fields.boolean("strip_right");
  return make_component<Normalizer, Strip>(fields, left, right);
}

NormalizerResult read_prepend(JsonRef json, int) {
  Fields fields(json, {"prepend"});
  const std::string_view prefix = fields.string("prepend");
  return make_component<Normalizer, Prepend>(fields, to_utf32(prefix));
}

}  // namespace wattn
