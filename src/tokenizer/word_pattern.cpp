// build: -Os
#include "tokenizer/word_pattern.h"

namespace wattn {
namespace {

struct Char {
  std::uint8_t kind;
  std::uint8_t size;
};

// Reads a character beyond ASCII from valid UTF-8.
Char read_long(const char* at) {
  const auto byte = [at](int i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
  const char32_t first = byte(0);
  if (first < 0xE0) return {char_kind((first & 0x1F) << 6 | (byte(1) & 0x3F)), 2};
  if (first < 0xF0) return {char_kind((first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)), 3};
  return {char_kind((first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F)), 4};
}

Char read_char(const char* at) {
  const auto byte = static_cast<unsigned char>(*at);
  return byte < 0x80 ? Char{kAsciiKinds[byte], 1} : read_long(at);
}

// The end of the characters for which holds(kind).
template <class Holds>
const char* skip(const char* at, const char* end, Holds holds) {
  while (at < end) {
    const Char c = read_char(at);
    if (!holds(c.kind)) break;
    at += c.size;
  }
  return at;
}
const char* skip_any_of(const char* at, const char* end, std::uint8_t kinds) {
  return skip(at, end, [kinds](std::uint8_t kind) { return (kind & kinds) != 0; });
}
const char* skip_none_of(const char* at, const char* end, std::uint8_t kinds) {
  return skip(at, end, [kinds](std::uint8_t kind) { return (kind & kinds) == 0; });
}

// After an apostrophe at `at`: the end of 's 't 're 've 'm 'll 'd, or nullptr.
const char* short_end(const char* at, const char* end, bool any_case) {
  const std::ptrdiff_t left = end - at;
  if (left < 2) return nullptr;
  const auto letter = [&](int i) { return static_cast<char>(any_case ? at[i] | 0x20 : at[i]); };
  switch (letter(1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return at + 2;
    case 'r':
    case 'v':
      return left > 2 && letter(2) == 'e' ? at + 3 : nullptr;
    case 'l':
      return left > 2 && letter(2) == 'l' ? at + 3 : nullptr;
    default:  // the long s is an s in another case
      return any_case && left > 2 && at[1] == '\xC5' && at[2] == '\xBF' ? at + 3 : nullptr;
  }
}

// Letters by case: those that may be capitals, then at least one that may be small, or else capitals. nullptr: none.
const char* cased_end(const char* at, const char* end, bool may_be_capitals) {
  const char* after_small = nullptr;  // after the last that may be small
  for (const char* begin = at;;) {
    const Char c = at < end ? read_char(at) : Char{0, 0};
    if (!(c.kind & (kKindUpper | kKindMark))) {
      if (c.kind & kKindLower) return skip_any_of(at + c.size, end, kKindLower | kKindMark);
      return after_small ? after_small : may_be_capitals && at > begin ? at : nullptr;
    }
    at += c.size;
    if (c.kind & (kKindLower | kKindMark)) after_small = at;
  }
}

// What Digits has cut out before.
std::uint8_t digits_of(const WordPattern& pattern) { return pattern.digits_first ? kKindNumber | kKindNewNumber : 0; }

const char* space_end(const WordPattern& pattern, const char* begin, const char* end) {
  const char* last = begin;  // the last space
  const char* after_newline = nullptr;
  const char* at = begin;
  std::uint8_t kind = 0;
  while (at < end) {
    const Char c = read_char(at);
    kind = c.kind;
    if (!(kind & kKindSpace)) break;
    last = at;
    at += c.size;
    if (kind & kKindNewline) after_newline = at;
  }
  if (pattern.divides_newlines && after_newline) return after_newline;
  const bool ends = at == end || (kind & digits_of(pattern)) != 0;
  return ends || last == begin ? at : last;
}

const char* other_end(const WordPattern& pattern, const char* at, const char* end) {
  const std::uint8_t marks = pattern.marks_are_letters ? kKindMark : 0;
  at = skip_none_of(at, end, static_cast<std::uint8_t>(kKindLetter | kKindNumber | kKindSpace | marks | digits_of(pattern)));
  if (pattern.newlines_after_others) {
    while (at < end && (*at == '\r' || *at == '\n' || (pattern.slashes_after_others && *at == '/'))) ++at;
  }
  return at;
}

const char* number_end(const WordPattern& pattern, const char* at, const char* end) {
  if (pattern.most_digits == 0) return skip_any_of(at, end, kKindNumber);
  for (int i = 0; i < pattern.most_digits && at < end; ++i) {
    const Char c = read_char(at);
    if (!(c.kind & kKindNumber)) break;
    at += c.size;
  }
  return at;
}

// The end of a word of letters, or nullptr. c: the character at `at`.
const char* letters_end(const WordPattern& pattern, Char c, const char* at, const char* end) {
  const char* next = at + c.size;
  const bool may_precede = !(c.kind & (kKindLetter | kKindNumber | kKindNewline));
  if (pattern.letters == WordPattern::Letters::kCased) {
    const char* found = nullptr;
    const bool is_mark = (c.kind & kKindMark) != 0, is_letter = (c.kind & kKindLetter) != 0;
    if (is_letter) {
      found = cased_end(at, end, true);
    } else if (may_precede && next < end) {
      found = cased_end(next, end, !is_mark);
    }
    if (!found && is_mark) found = cased_end(at, end, true);
    if (found && pattern.shorts == WordPattern::Short::kAfterAnyCase && found < end && *found == '\'') {
      const char* after = short_end(found, end, true);
      if (after) found = after;
    }
    return found;
  }
  const std::uint8_t letters = static_cast<std::uint8_t>(kKindLetter | (pattern.marks_are_letters ? kKindMark : 0));
  if (c.kind & letters) return skip_any_of(next, end, letters);
  if (next == end || !(pattern.letters == WordPattern::Letters::kAny ? may_precede : *at == ' ')) return nullptr;
  const Char first = read_char(next);
  return first.kind & letters ? skip_any_of(next + first.size, end, letters) : nullptr;
}

}  // namespace

const char* WordPattern::any_word_end(const char* at, const char* end) const {
  const Char c = read_char(at);
  if (*at == '\'' && (shorts == Short::kBefore || shorts == Short::kBeforeAnyCase)) {
    if (const char* found = short_end(at, end, shorts == Short::kBeforeAnyCase)) return found;
  }
  if (const char* found = letters_end(*this, c, at, end)) return found;
  if (c.kind & digits_of(*this)) return at + c.size;
  if (c.kind & kKindNumber) return number_end(*this, at, end);
  if (!(c.kind & kKindSpace)) return other_end(*this, at, end);
  if (*at == ' ' && at + 1 < end) {
    const Char next = read_char(at + 1);
    if (next.kind & (kKindNumber | digits_of(*this))) {
      if (most_digits == 0 && !digits_first) return number_end(*this, at + 1, end);
    } else if (!(next.kind & kKindSpace)) {
      return other_end(*this, at + 1, end);
    }
  }
  return space_end(*this, at, end);
}

std::optional<WordPattern> WordPattern::read(std::string_view regex) {
  WordPattern out;
  const auto take = [&](std::string_view part) {
    if (!regex.starts_with(part)) return false;
    regex.remove_prefix(part.size());
    return true;
  };
  constexpr std::string_view kAnyCase = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))", kBefore = R"([^\r\n\p{L}\p{N}]?)";
  constexpr std::string_view kUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", kLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  if (take("'s|'t|'re|'ve|'m|'ll|'d|") || take("'(?:[sdmt]|ll|ve|re)|")) {
    out.shorts = Short::kBefore;
  } else if (regex.starts_with(kAnyCase) || regex.starts_with("'(?i:[sdmt]|ll|ve|re)")) {
    take(regex.substr(0, regex.find(')') + 1));
    out.shorts = Short::kBeforeAnyCase;
    if (!take("|")) return std::nullopt;
  }
  if (take(R"( ?\p{L}+|)")) {
    out.letters = Letters::kSpaced;
  } else if (!take(kBefore)) {
    return std::nullopt;
  } else if (take(R"(\p{L}+|)")) {
    out.letters = Letters::kAny;
  } else if (take(R"([\p{L}\p{M}]+|)")) {
    out.letters = Letters::kAny;
    out.marks_are_letters = true;
  } else {
    out.letters = Letters::kCased;
    if (out.shorts != Short::kNone || !take(kUpper) || !take("*") || !take(kLower) || !take("+")) return std::nullopt;
    const auto take_after = [&] { return take(kAnyCase) && take("?"); };
    if (take_after()) out.shorts = Short::kAfterAnyCase;
    if (!take("|") || !take(kBefore) || !take(kUpper) || !take("+") || !take(kLower) || !take("*")) return std::nullopt;
    if (take_after() != (out.shorts == Short::kAfterAnyCase) || !take("|")) return std::nullopt;
  }
  if (take(R"(\p{N}{1,3}|)")) {
    out.most_digits = 3;
  } else if (take(R"(\p{N}|)")) {
    out.most_digits = 1;
  } else if (!take(R"( ?\p{N}+|)")) {
    return std::nullopt;
  }
  if (!take(out.marks_are_letters ? R"( ?[^\s\p{L}\p{M}\p{N}]+)" : R"( ?[^\s\p{L}\p{N}]+)")) return std::nullopt;
  out.slashes_after_others = take(R"([\r\n/]*)");
  out.newlines_after_others = out.slashes_after_others || take(R"([\r\n]*)");
  if (!take("|")) return std::nullopt;
  out.divides_newlines = take(R"(\s*[\r\n]+|)");
  return regex == R"(\s+(?!\S)|\s+)" ? std::optional(out) : std::nullopt;
}

}  // namespace wattn
