#include "tokenizer/regex/char_set.h"

#include <algorithm>

#include "tokenizer/scripts.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

// \w as in Oniguruma: without the join controls that Unicode includes, but with the fractions and superscripts of Latin-1.
bool is_word(char32_t c) {
  if (c == 0x200C || c == 0x200D) return false;
  if (c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0xBC && c <= 0xBE)) return true;
  return has_flag(c, kCharWord);
}

bool has_script(char32_t c, std::uint32_t script) {
  static const Scripts scripts;
  return scripts.of(c) == script;
}

}  // namespace

bool CharSet::has(const Item& item, char32_t c) {
  switch (item.kind) {
    case Kind::kRange:
      return c >= item.first && c <= item.last;
    case Kind::kCategories:
      return (item.first >> static_cast<unsigned>(category_of(c)) & 1) != 0;
    case Kind::kScript:
      return has_script(c, item.first);
    case Kind::kSpace:
      return has_flag(c, kCharWhitespace);
    case Kind::kWord:
      return is_word(c);
  }
  return false;
}

bool CharSet::contains_exactly(char32_t c) const {
  const auto holds = [c](const CharSet& set) { return set.contains(c); };
  const bool in = std::any_of(items_.begin(), items_.end(), [c](const Item& item) { return has(item, c) != item.negated; }) ||
                  std::any_of(nested_.begin(), nested_.end(), holds);
  return (in && std::all_of(intersected_.begin(), intersected_.end(), holds)) != negated_;
}

// Unicode's simple case folding of ASCII letters: k also matches the Kelvin sign, and s the long s.
bool CharSet::contains(char32_t c) const {
  if (!ignore_case_) return contains_exactly(c);
  if (c == 0x212A) c = U'k';
  if (c == 0x17F) c = U's';
  const bool letter = (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
  return contains_exactly(c) || (letter && contains_exactly(c ^ 0x20));
}

bool CharSet::is_plain_ascii() const {
  return !negated_ && nested_.empty() && intersected_.empty() &&
         std::all_of(items_.begin(), items_.end(), [](const Item& item) { return item.kind == Kind::kRange && item.last < 0x80; });
}

bool CharSet::is_char(char32_t c, bool ignore_case) const {
  return !negated_ && nested_.empty() && intersected_.empty() && ignore_case_ == ignore_case && items_.size() == 1 &&
         items_[0].kind == Kind::kRange && items_[0].first == c && items_[0].last == c;
}

}  // namespace wattn
