#include "tokenizer/decoders/clean_up.h"

#include <utility>

namespace wattn {
namespace {

constexpr std::pair<std::string_view, std::string_view> kBeforeDoNot[] = {{" .", "."},  {" ?", "?"},     {" !", "!"},  {" ,", ","},
                                                                          {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}};
constexpr std::pair<std::string_view, std::string_view> kAfterDoNot[] = {{" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

}  // namespace

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::size_t found = text.find(from);
  if (found == std::string::npos) return;
  std::string out;
  out.reserve(text.size());
  std::size_t position = 0;
  for (; found != std::string::npos; found = text.find(from, position)) {
    out.append(text, position, found - position);
    out += to;
    position = found + from.size();
  }
  out.append(text, position);
  text = std::move(out);
}

bool may_need_clean_up(std::string_view text) {
  for (std::size_t i = 0; i + 2 <= text.size(); ++i) {
    if (text[i] != ' ') continue;
    const char next = text[i + 1];
    if (next == '.' || next == '?' || next == '!' || next == ',' || next == '\'') return true;
    if ((next == 'n' || next == 'd') && text.substr(i + 2).find_first_of("'o") == 0) return true;
  }
  return false;
}

void clean_up_wordpiece(std::string& text) {
  for (const auto& [from, to] : kBeforeDoNot) replace_all(text, from, to);
  replace_all(text, " do not", " don't");
  for (const auto& [from, to] : kAfterDoNot) replace_all(text, from, to);
}

void clean_up_tokenization(std::string& text) {
  for (const auto& [from, to] : kBeforeDoNot) replace_all(text, from, to);
  for (const auto& [from, to] : kAfterDoNot) replace_all(text, from, to);
}

}  // namespace wattn
