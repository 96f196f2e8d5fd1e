// Text on its way through the stages: code points, each with its span in the original text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "tokenizer/encoding.h"

namespace wattn {

struct NormalizedText {
  std::u32string chars;         // [chars]
  std::vector<TextSpan> spans;  // [chars] in the original; begins and ends never decrease
  std::int32_t origin = 0;      // where the text begins in the original: the position of what is inserted before it
  // The stages of a file can let a text grow without end. At most this many characters, or twice those of a text that is longer to
  // begin with: 800 MB. A text that would exceed them stays as it is, and is_too_long.
  static constexpr std::size_t kMostChars = std::size_t{1} << 26;
  std::size_t most = kMostChars;
  bool is_too_long = false;

  std::size_t size() const { return chars.size(); }
  // An empty text in the same place, for the next version of this one.
  NormalizedText next() const {
    NormalizedText out;
    out.origin = origin;
    out.most = most;
    out.is_too_long = is_too_long;
    return out;
  }
  void push(char32_t c, TextSpan span);
  void reserve(std::size_t size) {
    chars.reserve(size);
    spans.reserve(size);
  }
  void resize(std::size_t size) {
    chars.resize(size);
    spans.resize(size);
  }
  // Appends [begin, end) of another text.
  void append(const NormalizedText& from, std::size_t begin, std::size_t end);
  // The span in the original of [begin, end); begin < end.
  TextSpan span_of(std::size_t begin, std::size_t end) const { return {spans[begin].begin, spans[end - 1].end}; }
};

// For a text that is_too_long.
Error too_long_error();

// Code points of a JS string with spans in UTF-16 units; a lone surrogate becomes U+FFFD.
NormalizedText read_utf16(std::u16string_view text);
// Code points of UTF-8 text, for strings from files; the spans count code points.
NormalizedText read_utf8(std::string_view text);

// Writes a new version of a text and gives every new character its span, by the reference's rule of changes. A character may
// replace the next old one (0), or be inserted (1, with the span of the old one before it). It may also replace the next old one
// and remove the n after it (-n). Changes belong to positions, not to characters, so after reordering the spans are those of the
// positions, as in the reference.
class TextRewriter {
 public:
  explicit TextRewriter(NormalizedText& text) : text_(text), out_(text.next()) {
    out_.resize(std::min(text.size() + text.size() / 8 + 8, text.most));
  }

  void put(char32_t c, int change) {
    if (size_ >= out_.size() && !make_room(1)) return;
    out_.chars[size_] = c;
    if (change > 0) {
      out_.spans[size_++] = next_ == 0 ? TextSpan{text_.origin, text_.origin} : text_.spans[next_ - 1];
    } else {
      out_.spans[size_++] = text_.spans[next_];
      next_ += 1 + static_cast<std::size_t>(-change);
    }
  }
  // Copies the next old characters.
  void keep(std::size_t count);
  void finish();

 private:
  bool make_room(std::size_t count);

  NormalizedText& text_;
  NormalizedText out_;  // [0, size_) is written
  std::size_t size_ = 0;
  std::size_t next_ = 0;  // old characters consumed so far
};

// Drops every character for which drop(c) holds.
template <class Drop>
void erase_chars(NormalizedText& text, Drop drop) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (drop(text.chars[i])) continue;
    text.chars[kept] = text.chars[i];
    text.spans[kept++] = text.spans[i];
  }
  text.resize(kept);
}

}  // namespace wattn
