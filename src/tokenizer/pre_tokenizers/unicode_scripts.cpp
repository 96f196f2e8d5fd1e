// build: -Oz
// UnicodeScripts: splits where the script changes. Kana count as Han, and spaces belong to any script. Scripts as of Unicode 9.0.
#include "tokenizer/component.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/scripts.h"

namespace wattn {
namespace {

class UnicodeScripts : public PreTokenizer {
 public:
  // As in the reference, a split begins at each character of a known script, other than "any", that differs from the last such
  // script. The text before the first such character is dropped.
  void pre_tokenize(PreTokenizedText& text) const override {
    resplit(text, [&](const Split& split, std::vector<Split>& out) {
      int last = kNoneYet;
      std::uint32_t begin = split.end;
      for (std::uint32_t i = split.begin; i < split.end; ++i) {
        const int script = script_of(text.text.chars[i]);
        if (script == kAny) continue;
        if (last != script) {
          if (begin < i) out.push_back({begin, i});
          begin = i;
        }
        last = script;
      }
      if (begin < split.end) out.push_back({begin, split.end});
    });
  }

 private:
  static constexpr int kNoneYet = -2, kAny = -1;

  // Code points without a script are kAny too, as in the reference's table.
  int script_of(char32_t c) const {
    if (c == 0x30FC) return han_;
    if (c == U' ') return kAny;
    const std::uint8_t script = scripts_.of_in_unicode_9(c);
    if (script == Scripts::kNone) return kAny;
    return script == hiragana_ || script == katakana_ ? han_ : script;
  }

  Scripts scripts_;
  std::uint8_t han_ = Scripts::by_name("Han"), hiragana_ = Scripts::by_name("Hiragana"), katakana_ = Scripts::by_name("Katakana");
};

}  // namespace

PreTokenizerResult read_unicode_scripts(JsonRef json, int depth) { return read_plain<PreTokenizer, UnicodeScripts>(json, depth); }

}  // namespace wattn
