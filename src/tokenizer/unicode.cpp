#include "tokenizer/unicode.h"

#include <algorithm>
#include <cstddef>

namespace wattn {

using namespace unicode_tables;

namespace {

// Hangul syllables are computed (Unicode 3.12): leading consonant, vowel, trailing consonant.
constexpr char32_t kLeadFirst = 0x1100, kVowelFirst = 0x1161, kTrailFirst = 0x11A7;  // kTrailFirst itself means "none"
constexpr char32_t kNumLeads = 19, kNumVowels = 21, kNumTrails = 28;

// The index of a key in a sorted array, or size if it is absent.
std::size_t find_key(const char32_t* keys, std::size_t size, char32_t key) {
  const char32_t* found = std::lower_bound(keys, keys + size, key);
  return found != keys + size && *found == key ? static_cast<std::size_t>(found - keys) : size;
}

}  // namespace

int to_lowercase(char32_t code_point, char32_t out[2]) {
  out[0] = code_point;
  if (code_point < 0x80) {
    if (code_point >= U'A' && code_point <= U'Z') out[0] = code_point + 0x20;
    return 1;
  }
  if (!has_flag(code_point, kCharHasLowercase)) return 1;
  if (code_point == 0x130) {  // LATIN CAPITAL LETTER I WITH DOT ABOVE: the dot becomes a combining mark
    out[0] = U'i';
    out[1] = 0x307;
    return 2;
  }
  const LowercaseRun* end = kLowercaseRuns + kNumLowercaseRuns;
  const auto starts_after = [](char32_t value, const LowercaseRun& run) { return value < run.first; };
  const LowercaseRun* run = std::upper_bound(kLowercaseRuns, end, code_point, starts_after) - 1;
  out[0] = static_cast<char32_t>(static_cast<std::int32_t>(code_point) + run->distance);
  return 1;
}

int decompose(char32_t code_point, bool compatibility, char32_t out[kLongestDecomposition]) {
  if (is_hangul_syllable(code_point)) {
    const char32_t index = code_point - kHangulFirst;
    out[0] = kLeadFirst + index / (kNumVowels * kNumTrails);
    out[1] = kVowelFirst + index / kNumTrails % kNumVowels;
    out[2] = kTrailFirst + index % kNumTrails;
    return index % kNumTrails == 0 ? 2 : 3;
  }
  const std::uint16_t flags = char_properties(code_point).flags;
  if (compatibility && (flags & kCharDecomposesCompat)) {
    const std::size_t index = find_key(kCompatKeys, kNumCompatKeys, code_point);
    const std::size_t begin = index == 0 ? 0 : kCompatEnds[index - 1];
    const std::size_t length = kCompatEnds[index] - begin;
    for (std::size_t i = 0; i < length; ++i) out[i] = kCompatData[begin + i];
    return static_cast<int>(length);
  }
  if (!(flags & kCharDecomposes)) {
    out[0] = code_point;
    return 1;
  }
  // Only the first part of a decomposition step decomposes further, so the parts are found last to first.
  int length = 0;
  for (std::size_t index; (index = find_key(kCanonicalKeys, kNumCanonicalKeys, code_point)) != kNumCanonicalKeys;) {
    if (kCanonicalSecond[index] != 0) out[length++] = kCanonicalSecond[index];
    code_point = kCanonicalFirst[index];
  }
  out[length++] = code_point;
  std::reverse(out, out + length);
  return length;
}

char32_t compose(char32_t first, char32_t second) {
  if (first >= kLeadFirst && first < kLeadFirst + kNumLeads && second >= kVowelFirst && second < kVowelFirst + kNumVowels) {
    return kHangulFirst + ((first - kLeadFirst) * kNumVowels + (second - kVowelFirst)) * kNumTrails;
  }
  if (is_hangul_syllable(first) && (first - kHangulFirst) % kNumTrails == 0 && second > kTrailFirst &&
      second < kTrailFirst + kNumTrails) {
    return first + (second - kTrailFirst);
  }
  if (!has_flag(second, kCharComposesBackward)) return 0;
  const auto before = [&](std::uint16_t index, int) {
    return kCanonicalFirst[index] != first ? kCanonicalFirst[index] < first : kCanonicalSecond[index] < second;
  };
  const std::uint16_t* end = kCompositionOrder + kNumCompositionOrder;
  const std::uint16_t* found = std::lower_bound(kCompositionOrder, end, 0, before);
  if (found == end || kCanonicalFirst[*found] != first || kCanonicalSecond[*found] != second) return 0;
  return kCanonicalKeys[*found];
}

}  // namespace wattn
