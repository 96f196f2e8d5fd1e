#include "tokenizer/graphemes.h"

#include "tokenizer/unicode.h"

namespace wattn {
namespace {

enum class Hangul { kNone, kLead, kVowel, kTrail, kLeadVowel, kLeadVowelTrail };

Hangul hangul_of(char32_t c) {
  if (is_hangul_syllable(c)) return (c - kHangulFirst) % 28 == 0 ? Hangul::kLeadVowel : Hangul::kLeadVowelTrail;
  if ((c >= 0x1100 && c <= 0x115F) || (c >= 0xA960 && c <= 0xA97C)) return Hangul::kLead;
  if ((c >= 0x1160 && c <= 0x11A7) || (c >= 0xD7B0 && c <= 0xD7C6)) return Hangul::kVowel;
  if ((c >= 0x11A8 && c <= 0x11FF) || (c >= 0xD7CB && c <= 0xD7FB)) return Hangul::kTrail;
  return Hangul::kNone;
}

bool hangul_joins(char32_t before, char32_t c) {
  if (c < 0x1100) return false;
  const Hangul left = hangul_of(before), right = hangul_of(c);
  if (left == Hangul::kLead) return right != Hangul::kNone && right != Hangul::kTrail;
  if (left == Hangul::kLeadVowel || left == Hangul::kVowel) return right == Hangul::kVowel || right == Hangul::kTrail;
  return (left == Hangul::kLeadVowelTrail || left == Hangul::kTrail) && right == Hangul::kTrail;
}

// The scripts whose consonants a virama joins (Devanagari, Bengali, Gujarati, Oriya, Telugu, Malayalam) lay out their blocks of 128
// code points alike.
bool has_conjuncts(char32_t c) {
  const char32_t block = c >> 7;
  return block == 0x900 >> 7 || block == 0x980 >> 7 || block == 0xA80 >> 7 || block == 0xB00 >> 7 || block == 0xC00 >> 7 ||
         block == 0xD00 >> 7;
}
bool is_virama(char32_t c) { return (c & 0x7F) == 0x4D && has_conjuncts(c); }
bool is_consonant(char32_t c) {
  const char32_t place = c & 0x7F;
  return has_conjuncts(c) && ((place >= 0x15 && place <= 0x39) || (place >= 0x58 && place <= 0x5F)) &&
         category_of(c) == CharCategory::kLo;
}

}  // namespace

std::size_t grapheme_end(std::u32string_view text, std::size_t begin) {
  char32_t before = text[begin];
  GraphemeKind kind_before = grapheme_kind(before);
  if (before == U'\r' && begin + 1 < text.size() && text[begin + 1] == U'\n') return begin + 2;
  bool after_pictograph = kind_before == GraphemeKind::kPictograph;  // marks may stand between
  bool after_consonant = is_consonant(before), after_virama = false;
  std::size_t end = begin + 1;
  for (; end < text.size() && kind_before != GraphemeKind::kControl; ++end) {
    const char32_t c = text[end];
    const GraphemeKind kind = grapheme_kind(c);
    if (kind == GraphemeKind::kControl) break;
    if (kind == GraphemeKind::kJoinsBefore) {
      after_virama = after_virama || (after_consonant && is_virama(c));
    } else {
      const bool joins = kind_before == GraphemeKind::kPrepend || hangul_joins(before, c) ||
                         (after_pictograph && before == 0x200D && kind == GraphemeKind::kPictograph) ||
                         (after_virama && is_consonant(c));
      if (!joins) break;
      after_pictograph = kind == GraphemeKind::kPictograph;
      after_consonant = is_consonant(c);
      after_virama = false;
    }
    before = c;
    kind_before = kind;
  }
  return end;
}

}  // namespace wattn
