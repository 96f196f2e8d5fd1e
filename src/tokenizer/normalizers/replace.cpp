// Replace: every occurrence of a string, left to right, by another.
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/normalizers/readers.h"

namespace wattn {

namespace {

// The new characters share the span of the last character they replace, as in the reference.
class ReplaceString : public Normalizer {
 public:
  ReplaceString(std::u32string pattern, std::u32string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void normalize(NormalizedText& text) const override {
    std::size_t found = text.chars.find(pattern_);
    if (found == std::u32string::npos) return;
    NormalizedText out;
    out.reserve(text.size());
    std::size_t position = 0;
    for (; found != std::u32string::npos; found = text.chars.find(pattern_, position)) {
      out.append(text, position, found);
      position = found + pattern_.size();
      for (const char32_t c : content_) out.push(c, text.spans[position - 1]);
    }
    out.append(text, position, text.size());
    text = std::move(out);
  }

 private:
  std::u32string pattern_;
  std::u32string content_;
};

}  // namespace

NormalizerResult read_replace(JsonRef json, int) {
  Fields fields(json, {"pattern", "content"});
  const std::string_view content = fields.string("content");
  if (const JsonRef regex = fields["pattern"]["Regex"]; regex.exists()) {
    return unsupported_error(regex.where() + ": regular expressions are not supported here yet, found " + regex.describe());
  }
  Fields pattern(fields["pattern"], {"String"});
  const std::string_view from = pattern.string("String");
  if (pattern.ok() && from.empty()) pattern.fail(pattern["String"].mismatch("a string that is not empty"));
  if (!fields.ok()) return fields.error();
  if (!pattern.ok()) return pattern.error();
  return NormalizerResult(std::make_unique<ReplaceString>(to_utf32(from), to_utf32(content)));
}

}  // namespace wattn
