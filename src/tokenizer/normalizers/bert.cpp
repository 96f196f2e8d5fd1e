// BertNormalizer: clean_text, handle_chinese_chars, strip_accents, lowercase, in this order.
#include <cstdint>

#include "tokenizer/component.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/text_forms.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

struct BertSettings {
  bool clean_text;
  bool handle_chinese_chars;
  bool strip_accents;
  bool lowercase;
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertSettings settings) : settings_(settings) {
    for (char32_t c = 0; c < ascii_.size(); ++c) {
      char32_t lower[2];
      to_lowercase(c, lower);
      ascii_[c] = static_cast<std::uint8_t>(settings_.lowercase ? lower[0] : c);
      if (!settings_.clean_text) continue;
      if (has_flag(c, kCharWhitespace)) ascii_[c] = ' ';
      if (has_flag(c, kCharRemoved)) ascii_[c] = kAsciiRemoved;
    }
  }

  void normalize(NormalizedText& text) const override {
    const std::uint16_t seen = clean(text);
    if (settings_.handle_chinese_chars && (seen & kCharChinese)) space_out_chinese(text);
    if (settings_.strip_accents && (seen & kBeyondAscii)) {
      apply_normal_form(text, NormalForm::kNfd);
      erase_chars(text, [](char32_t c) { return c >= 0x80 && has_flag(c, kCharAccent); });
    }
    if (settings_.lowercase && (seen & kBeyondAscii)) apply_lowercase(text);
  }

  // Each ASCII character is normalized by itself: none is a mark or composes with another.
  const AsciiMap* ascii_map() const override { return &ascii_; }
  bool is_local(AsciiSet&) const override { return true; }

 private:
  static constexpr std::uint16_t kBeyondAscii = 1 << 15;  // clean() reports it with the CharFlag bits

  // Applies clean_text to all characters, and lowercase to ASCII, which the steps in between do not affect. Removal takes
  // precedence over whitespace, so U+000B, U+000C and U+0085 are removed although they are whitespace. Returns all flags seen
  // beyond ASCII.
  std::uint16_t clean(NormalizedText& text) const {
    std::uint16_t seen = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      char32_t c = text.chars[i];
      if (c < ascii_.size()) {
        if (ascii_[c] == kAsciiRemoved) continue;
        c = ascii_[c];
      } else {
        const std::uint16_t flags = char_properties(c).flags;
        if (settings_.clean_text) {
          if (flags & kCharRemoved) continue;
          if (flags & kCharWhitespace) c = U' ';
        }
        seen = static_cast<std::uint16_t>(seen | flags | kBeyondAscii);
      }
      text.chars[kept] = c;
      if (kept != i) text.spans[kept] = text.spans[i];  // usually nothing was removed
      ++kept;
    }
    text.resize(kept);
    return seen;
  }

  static void space_out_chinese(NormalizedText& text) {
    TextRewriter rewriter(text);
    for (const char32_t c : text.chars) {
      if (c >= 0x80 && has_flag(c, kCharChinese)) {
        rewriter.put(U' ', 0);
        rewriter.put(c, 1);
        rewriter.put(U' ', 1);
      } else {
        rewriter.put(c, 0);
      }
    }
    rewriter.finish();
  }

  BertSettings settings_;
  AsciiMap ascii_{};
};

}  // namespace

NormalizerResult read_bert_normalizer(JsonRef json, int) {
  Fields fields(json, {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertSettings settings;
  settings.clean_text = fields.boolean("clean_text");
  settings.handle_chinese_chars = fields.boolean("handle_chinese_chars");
  settings.lowercase = fields.boolean("lowercase");
  settings.strip_accents = fields.boolean_or("strip_accents", settings.lowercase);  // null follows lowercase
  return make_component<Normalizer, BertNormalizer>(fields, settings);
}

}  // namespace wattn
