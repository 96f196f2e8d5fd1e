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
  if (const Result<void> known = allow_only(json, {"type", "pattern", "content"}); !known.ok()) return known.error();
  const JsonRef pattern = json["pattern"];
  if (pattern["Regex"].exists()) {
    return unsupported_error(pattern["Regex"].where() + ": regular expressions are not supported here yet, found " +
                             pattern["Regex"].describe());
  }
  if (const Result<void> known = allow_only(pattern, {"String"}); !known.ok()) return known.error();
  const Result<std::string_view> from = pattern["String"].as_string();
  if (!from.ok()) return from.error();
  if (from.value().empty()) return pattern["String"].mismatch("a string that is not empty");
  const Result<std::string_view> content = json["content"].as_string();
  if (!content.ok()) return content.error();
  return NormalizerResult(std::make_unique<ReplaceString>(to_utf32(from.value()), to_utf32(content.value())));
}

}  // namespace wattn
