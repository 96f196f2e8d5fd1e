#include "tokenizer/normalized_text.h"

#include <algorithm>
#include <cstdint>

#include "core/utf.h"

namespace wattn {

void NormalizedText::push(char32_t c, TextSpan span) {
  if (size() >= most) {
    is_too_long = true;
    return;
  }
  chars.push_back(c);
  spans.push_back(span);
}

void NormalizedText::append(const NormalizedText& from, std::size_t begin, std::size_t end) {
  if (end - begin > most - std::min(most, size())) {
    is_too_long = true;
    return;
  }
  chars.append(from.chars, begin, end - begin);
  spans.insert(spans.end(), from.spans.begin() + static_cast<std::ptrdiff_t>(begin),
               from.spans.begin() + static_cast<std::ptrdiff_t>(end));
}

bool TextRewriter::make_room(std::size_t count) {
  if (count > out_.most - std::min(out_.most, size_)) {
    out_.is_too_long = true;
    return false;
  }
  out_.resize(std::min(2 * (size_ + count), out_.most));
  return true;
}

void TextRewriter::keep(std::size_t count) {
  if (count > out_.size() - size_ && !make_room(count)) return;
  std::copy_n(text_.chars.begin() + static_cast<std::ptrdiff_t>(next_), count,
              out_.chars.begin() + static_cast<std::ptrdiff_t>(size_));
  std::copy_n(text_.spans.begin() + static_cast<std::ptrdiff_t>(next_), count,
              out_.spans.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += count;
  next_ += count;
}

void TextRewriter::finish() {
  out_.resize(size_);
  text_ = std::move(out_);
}

Error too_long_error() {
  return out_of_memory_error(
      "text: expected a normalizer and a pre-tokenizer that let it grow to at most 2^26 characters (or twice its "
      "length, if that is more), found more");
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
  out.most = std::max(out.most, 2 * size);
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
