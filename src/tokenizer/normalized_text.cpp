#include "tokenizer/normalized_text.h"

#include <algorithm>
#include <cstdint>

#include "core/utf.h"

namespace wattn {

void NormalizedText::append(const NormalizedText& from, std::size_t begin, std::size_t end) {
  chars.append(from.chars, begin, end - begin);
  spans.insert(spans.end(), from.spans.begin() + static_cast<std::ptrdiff_t>(begin),
               from.spans.begin() + static_cast<std::ptrdiff_t>(end));
}

void TextRewriter::keep(std::size_t count) {
  if (count > out_.size() - size_) out_.resize(2 * (size_ + count));
  std::copy_n(text_.chars.begin() + static_cast<std::ptrdiff_t>(next_), count,
              out_.chars.begin() + static_cast<std::ptrdiff_t>(size_));
  std::copy_n(text_.spans.begin() + static_cast<std::ptrdiff_t>(next_), count,
              out_.spans.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += count;
  next_ += count;
}

void TextRewriter::finish() {
  out_.resize(size_);
  out_.origin = text_.origin;
  text_ = std::move(out_);
}

NormalizedText read_utf16(std::u16string_view text) {
  NormalizedText out;
  out.resize(text.size());
  std::size_t size = 0;
  for (std::size_t position = 0; position < text.size(); ++size) {
    const std::size_t begin = position;
    out.chars[size] = next_code_point(text, position);
    out.spans[size] = {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(position)};
  }
  out.resize(size);
  return out;
}

NormalizedText read_utf8(std::string_view text) {
  NormalizedText out;
  out.chars = to_utf32(text);
  out.spans.resize(out.chars.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.spans[i] = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + 1)};
  }
  return out;
}

}  // namespace wattn
