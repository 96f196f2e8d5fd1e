// The regular expressions by which byte-level tokenizers divide texts into words, run over UTF-8 without a regular expression. They
// are GPT-2's, cl100k's and o200k's, and those of Llama 3, Qwen, Tekken and others, which differ in details. Others are left to
// Regex.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "tokenizer/unicode.h"

namespace wattn {

// What the patterns distinguish. A letter without case is both kUpper and kLower.
enum CharKind : std::uint8_t {
  kKindOther = 0,
  kKindUpper = 1,  // Lu, Lt
  kKindLower = 2,  // Ll
  kKindLetter = kKindUpper | kKindLower,
  kKindMark = 4,
  kKindNumber = 8,
  kKindSpace = 16,
  kKindNewline = 32,    // \r and \n, which are kKindSpace too
  kKindNewNumber = 64,  // a number for the pre-tokenizer Digits, whose Unicode is newer than that of \p{N}
};

inline CharKind char_kind(char32_t c) {
  // By category: Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No, seven of punctuation, four of symbols, Zs Zl Zp, controls and the like.
  static constexpr std::array<std::uint8_t, 32> kKinds{0, 1, 2, 1, 3, 3, 4, 4,  4,  8,  8, 8, 0, 0, 0, 0,
                                                       0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 0, 0, 0, 0, 0, 0};
  if (c == 0x85) return kKindSpace;
  const auto category = static_cast<std::size_t>(category_of(c));
  if (category == 0 && has_flag(c, kCharNumber)) return kKindNewNumber;
  return static_cast<CharKind>(kKinds[category]);
}

// [byte] 0 beyond ASCII.
inline constexpr std::array<std::uint8_t, 256> kAsciiKinds = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (char c = 'A'; c <= 'Z'; ++c) kinds[static_cast<std::size_t>(c)] = kKindUpper;
  for (char c = 'a'; c <= 'z'; ++c) kinds[static_cast<std::size_t>(c)] = kKindLower;
  for (char c = '0'; c <= '9'; ++c) kinds[static_cast<std::size_t>(c)] = kKindNumber;
  for (const char c : {' ', '\t', '\v', '\f'}) kinds[static_cast<std::size_t>(c)] = kKindSpace;
  for (const char c : {'\r', '\n'}) kinds[static_cast<std::size_t>(c)] = kKindSpace | kKindNewline;
  return kinds;
}();

struct WordPattern {
  enum class Letters : std::uint8_t {
    kSpaced,  // ` ?\p{L}+`
    kAny,     // any character that is no newline, letter or number, then letters
    kCased,   // the same, divided where a capital follows a small letter
  };
  enum class Short : std::uint8_t { kNone, kBefore, kBeforeAnyCase, kAfterAnyCase };  // 's 't 're 've 'm 'll 'd

  Letters letters = Letters::kSpaced;
  Short shorts = Short::kNone;
  bool marks_are_letters = false;      // for kAny
  std::uint8_t most_digits = 0;        // of a word; 0: any number, after a space
  bool newlines_after_others = false;  // `[\r\n]*` after punctuation
  bool slashes_after_others = false;   // `[\r\n/]*`
  bool divides_newlines = false;       // `\s*[\r\n]+`
  bool digits_first = false;           // each digit is cut out before the pattern is applied

  // Nothing for one that has other parts.
  static std::optional<WordPattern> read(std::string_view regex);

  // The end of the word that begins at `at`, before `end`, in valid UTF-8.
  const char* word_end(const char* at, const char* end) const {
    const char* found = plain_word_end(at, end);
    return found ? found : any_word_end(at, end);
  }

  const char* any_word_end(const char* at, const char* end) const;
  // word_end() for a word of ASCII letters or punctuation, perhaps after a space, and for spaces and line feeds; nullptr for most
  // others. Eight letters at once: no branch depends on the length of a short word, which processors cannot predict.
  const char* plain_word_end(const char* at, const char* end) const {
    const bool is_cased = letters == Letters::kCased;
    if (end - at < 10) return nullptr;
    const char* const begin = at;
    at += *at == ' ';
    if (!(kind(*at) & kKindLetter)) return plain_other_end(begin, at, end);
    const std::uint64_t any_case = is_cased ? 0 : kOnes * 0x20;  // where case counts, a capital may only be the first
    for (++at; end - at > 8; at += 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, at, sizeof bytes);
      // The high bit of each byte that is no letter, or no small one.
      const std::uint64_t low = (bytes | any_case) & ~kHigh;
      const std::uint64_t others = ~((low + (0x80 - 'a') * kOnes) & ~(low + (0x80 - 'z' - 1) * kOnes) & ~bytes) & kHigh;
      if (others == 0) continue;
      at += std::countr_zero(others) / 8;
      const bool goes_on = static_cast<signed char>(*at) < 0 || (is_cased && ((kind(*at) & kKindLetter) || *at == '\''));
      return goes_on ? nullptr : at;
    }
    return nullptr;
  }
  // The same for two spaces and more.
  const char* plain_space_end(const char* begin, const char* end) const {
    const char* next = begin;
    const char* after_newline = nullptr;
    for (; next < end && (kind(*next) & kKindSpace); ++next) {
      if (kind(*next) & kKindNewline) after_newline = next + 1;
    }
    if (next == end || static_cast<signed char>(*next) < 0 || digits_first) return nullptr;
    return divides_newlines && after_newline ? after_newline : next - 1;
  }
  // The same for what begins with no letter at `at`, after a space or at `begin`.
  const char* plain_other_end(const char* begin, const char* at, const char* end) const {
    const auto is_ascii = [](char c) { return static_cast<signed char>(c) >= 0; };
    if (kind(*begin) & kind(begin[1]) & kKindSpace) return plain_space_end(begin, end);
    if (*begin == '\n') return is_ascii(begin[1]) ? begin + 1 : nullptr;
    const char* next = at;
    while (next + 1 < end && is_ascii(*next) && kind(*next) == 0 && *next != '\'') ++next;
    if (next == at || kind(*next) == 0) return nullptr;
    const bool may_go_on = newlines_after_others && (kind(*next) & kKindNewline) != 0;
    const bool may_precede = letters != Letters::kSpaced && next == begin + 1 && (kind(*next) & kKindLetter) != 0;
    return may_go_on || may_precede ? nullptr : next;
  }
  static std::uint8_t kind(char c) { return kAsciiKinds[static_cast<unsigned char>(c)]; }
  static constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x80 * kOnes;
};

}  // namespace wattn
