// Properties of code points. All are those of the reference library (Hugging Face's `tokenizers`), whose parts follow different
// versions of Unicode; tools/make_unicode_tables.py has the list. Values past U+10FFFF have no property.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/unicode_tables.h"

namespace wattn {

// Order and names as FLAGS in tools/make_unicode_tables.py.
enum CharFlag : std::uint16_t {
  kCharRemoved = 1 << 0,            // removed by BertNormalizer's clean_text: controls, formats, private use, U+FFFD
  kCharWhitespace = 1 << 1,         // White_Space
  kCharPunctuation = 1 << 2,        // punctuation, and every ASCII symbol
  kCharAccent = 1 << 3,             // removed by BertNormalizer's strip_accents: nonspacing marks
  kCharMark = 1 << 4,               // removed by StripAccents: all combining marks
  kCharWord = 1 << 5,               // \w
  kCharNumber = 1 << 6,             // all numbers, not only digits
  kCharChinese = 1 << 7,            // BertNormalizer's handle_chinese_chars puts spaces around it
  kCharHasLowercase = 1 << 8,       // to_lowercase changes it
  kCharDecomposes = 1 << 9,         // has a canonical decomposition (Hangul syllables have one without this flag)
  kCharDecomposesCompat = 1 << 10,  // its compatibility decomposition is not its canonical one
  kCharComposesBackward = 1 << 11,  // NFC may compose it with a character before it
  kCharNotComposed = 1 << 12,       // NFC decomposes it and does not compose it again
};

inline CharProperties char_properties(char32_t code_point) {
  using namespace unicode_tables;
  if (code_point > 0x10FFFF) return {0, 0};
  const std::size_t block = code_point >> 7 < kNumStage1 ? code_point >> 7 : kNumStage1 - 1;
  return kRecords[kStage2[(std::size_t{kStage1[block]} << 7) | (code_point & 0x7F)]];
}

inline bool has_flag(char32_t code_point, CharFlag flag) { return (char_properties(code_point).flags & flag) != 0; }

// General categories as of Unicode 16.0, by their index in kCategoryNames. Only those with a use of their own have a name.
inline constexpr std::string_view kCategoryNames = "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCoCs";
enum class CharCategory : std::uint8_t { kLo = 5, kNd = 9 };
// A character's role in grapheme clusters (Unicode 17.0, UAX 29), except Hangul and flags.
enum class GraphemeKind : std::uint8_t { kOther, kJoinsBefore, kPrepend, kControl, kPictograph };

inline std::uint8_t char_type(char32_t code_point) {
  using namespace unicode_tables;
  if (code_point > 0x10FFFF) return 0;
  const std::size_t block = code_point >> 8 < kNumTypeStage1 ? code_point >> 8 : kNumTypeStage1 - 1;
  return kTypeStage2[(std::size_t{kTypeStage1[block]} << 8) | (code_point & 0xFF)];
}
inline CharCategory category_of(char32_t code_point) { return static_cast<CharCategory>(char_type(code_point) & 31); }
inline GraphemeKind grapheme_kind(char32_t code_point) { return static_cast<GraphemeKind>(char_type(code_point) >> 5); }

// Full lowercase of one code point: one code point, or two (only for U+0130). Returns how many were written to out.
int to_lowercase(char32_t code_point, char32_t out[2]);

inline constexpr char32_t kHangulFirst = 0xAC00;
inline constexpr char32_t kHangulLast = 0xD7A3;
inline bool is_hangul_syllable(char32_t code_point) { return code_point >= kHangulFirst && code_point <= kHangulLast; }

inline constexpr int kLongestDecomposition = 18;  // U+FDFA, compatibility

// Full canonical (or compatibility) decomposition, including Hangul, before canonical ordering. Returns the number of code points.
int decompose(char32_t code_point, bool compatibility, char32_t out[kLongestDecomposition]);

// The primary composite of two code points, including Hangul, or 0 if NFC does not compose them.
char32_t compose(char32_t first, char32_t second);

}  // namespace wattn
