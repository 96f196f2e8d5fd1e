// build: -Os
// Replace: replaces every match of a string or regular expression, left to right, with a string.
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pattern.h"

namespace wattn {
namespace {

// The new characters share the span of the last character they replace (or of the one before an empty match), as in the reference.
class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::u32string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void normalize(NormalizedText& text) const override {
    if (text.size() == 0) return;
    std::vector<TextMatch> matches;
    pattern_.find_all(text.chars, matches);
    if (matches.empty()) return;
    NormalizedText out = text.next();
    out.reserve(text.size());
    std::size_t position = 0;
    for (const TextMatch& match : matches) {
      out.append(text, position, match.begin);
      position = match.end;
      const TextSpan span = position > 0 ? text.spans[position - 1] : TextSpan{text.origin, text.origin};
      for (const char32_t c : content_) out.push(c, span);
      if (out.is_too_long) break;
    }
    out.append(text, position, text.size());
    text = std::move(out);
  }
  bool is_local(AsciiSet& tied) const override { return pattern_.is_local(tied); }

 private:
  Pattern pattern_;
  std::u32string content_;
};

}  // namespace

NormalizerResult read_replace(JsonRef json, int) {
  Fields fields(json, {"pattern", "content"});
  const std::string_view content = fields.string("content");
  Pattern pattern = fields.take(Pattern::from_json(fields["pattern"]));
  return make_component<Normalizer, Replace>(fields, std::move(pattern), to_utf32(content));
}

}  // namespace wattn
