// build: -Oz
// vocab.txt: the tokens of a WordPiece, one per line.
#include <algorithm>
#include <vector>

#include "core/utf.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

// Without the whitespace at its end, as the library `tokenizers` reads a line.
std::string_view trimmed(std::string_view line) {
  while (!line.empty()) {
    std::size_t begin = line.size() - 1;
    while (begin > 0 && (line[begin] & 0xC0) == 0x80) --begin;
    const std::u32string last = to_utf32(line.substr(begin));
    if (last.empty() || !has_flag(last[0], kCharWhitespace)) break;
    line = line.substr(0, begin);
  }
  return line;
}

// The text after the last line end is a line unless it is empty.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

}  // namespace

Result<Converted> from_vocab_txt(std::string_view vocab) {
  if (!is_utf8(vocab)) return model_format_error("vocab.txt: expected UTF-8, found other bytes");
  return Converted{std::string(kWordPieceJson), lines_of(vocab)};
}

bool has_capitals(const std::vector<std::string_view>& tokens) {
  return std::any_of(tokens.begin(), tokens.end(), [](std::string_view token) {
    return !(token.starts_with('[') && token.ends_with(']')) && !(token.starts_with('<') && token.ends_with('>')) &&
           std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

}  // namespace wattn
