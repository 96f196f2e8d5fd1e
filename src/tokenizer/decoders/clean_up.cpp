// build: -Oz
#include "tokenizer/decoders/clean_up.h"

#include <utility>

namespace wattn {
namespace {

constexpr std::pair<std::string_view, std::string_view> kBeforeDoNot[] = {{" .", "."},  {" ?", "?"},     {" !", "!"},  {" ,", ","},
                                                                          {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}};
constexpr std::pair<std::string_view, std::string_view> kAfterDoNot[] = {{" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

// Whether what follows a space is a short form of a word.
bool is_short_form(const char* at, const char* end) {
  const auto is = [&](std::string_view form) { return std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(form); };
  return *at == 'n' ? is("n't") : *at == '\'' && (is("'m") || is("'s") || is("'ve") || is("'re"));
}

// Writes the text anew without what `step` leaves out: it writes a character or none, and moves on by as many as it has read.
template <class Step>
void rewrite(std::string& text, Step step) {
  const char* in = text.data();
  const char* const end = in + text.size();
  char* out = text.data();
  while (in != end) {
    if (*in == ' ' && in + 1 != end) {
      in += step(in + 1, end, out);
    } else {
      *out++ = *in++;
    }
  }
  text.resize(static_cast<std::size_t>(out - text.data()));
}

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

// Each replacement of a mark removes a space, and none makes or breaks a match of another, so one pass does them all. The same
// holds for the short forms, after the separate apostrophes.
void clean_up_tokenization(std::string& text) {
  bool has_apostrophes = false;
  rewrite(text, [&](const char* next, const char* end, char*& out) {
    const char c = *next;
    if (c == '.' || c == '?' || c == '!' || c == ',') return 1;
    has_apostrophes = has_apostrophes || c == '\'' || (c == 'n' && next + 1 != end && next[1] == '\'');
    *out++ = ' ';
    return 1;
  });
  if (!has_apostrophes) return;
  rewrite(text, [](const char* next, const char* end, char*& out) {
    const bool is_alone = *next == '\'' && next + 1 != end && next[1] == ' ';
    *out++ = is_alone ? '\'' : ' ';
    return is_alone ? 3 : 1;
  });
  rewrite(text, [](const char* next, const char* end, char*& out) {
    if (!is_short_form(next, end)) *out++ = ' ';
    return 1;
  });
}

}  // namespace wattn
