#include "tokenizer/normalizers/text_forms.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tokenizer/unicode.h"

namespace wattn {

namespace {

struct Unit {
  char32_t c;
  int change;  // as TextRewriter takes it
  std::uint8_t combining_class;
};

bool is_compatibility(NormalForm form) { return form == NormalForm::kNfkd || form == NormalForm::kNfkc; }
bool is_composed(NormalForm form) { return form == NormalForm::kNfc || form == NormalForm::kNfkc; }

// True when no character can make the text differ from its normal form.
bool is_surely_normal(const NormalizedText& text, NormalForm form) {
  const std::uint16_t suspicious =
      static_cast<std::uint16_t>((is_composed(form) ? kCharComposesBackward | kCharNotComposed : kCharDecomposes) |
                                 (is_compatibility(form) ? kCharDecomposesCompat : 0));
  for (const char32_t c : text.chars) {
    if (c < 0x80) continue;
    const CharProperties properties = char_properties(c);
    if ((properties.flags & suspicious) || properties.combining_class != 0) return false;
    if (!is_composed(form) && is_hangul_syllable(c)) return false;
  }
  return true;
}

// Marks after a starter stand in the order of their classes; equal classes keep their order.
void sort_marks(std::vector<Unit>& units, std::size_t begin) {
  const auto by_class = [](const Unit& a, const Unit& b) { return a.combining_class < b.combining_class; };
  const auto first = units.begin() + static_cast<std::ptrdiff_t>(begin);
  if (!std::is_sorted(first, units.end(), by_class)) std::stable_sort(first, units.end(), by_class);
}

std::vector<Unit> decompose_all(const NormalizedText& text, bool compatibility) {
  std::vector<Unit> units;
  units.reserve(text.size() + text.size() / 8);
  std::size_t marks_begin = 0;  // the marks since the last starter
  for (const char32_t c : text.chars) {
    char32_t parts[kLongestDecomposition];
    const int num_parts = decompose(c, compatibility, parts);
    for (int i = 0; i < num_parts; ++i) {
      const std::uint8_t combining_class = char_properties(parts[i]).combining_class;
      if (combining_class == 0) sort_marks(units, marks_begin);
      units.push_back({parts[i], i == 0 ? 0 : 1, combining_class});
      if (combining_class == 0) marks_begin = units.size();
    }
  }
  sort_marks(units, marks_begin);
  return units;
}

// Canonical composition in place. A composite takes up what both its parts took up of the old text.
void compose_all(std::vector<Unit>& units) {
  std::size_t kept = 0;
  std::size_t starter = units.size();  // index of the last starter kept; none yet
  int last_class = -1;                 // class of the last mark kept after it; -1 when nothing stands between
  for (const Unit& unit : units) {
    if (starter < kept && last_class < unit.combining_class) {
      if (const char32_t composite = compose(units[starter].c, unit.c)) {
        units[starter].c = composite;
        units[starter].change += unit.change - 1;
        continue;
      }
    }
    if (unit.combining_class == 0) {
      starter = kept;
      last_class = -1;
    } else {
      last_class = unit.combining_class;
    }
    units[kept++] = unit;
  }
  units.resize(kept);
}

}  // namespace

void apply_normal_form(NormalizedText& text, NormalForm form) {
  if (is_surely_normal(text, form)) return;
  std::vector<Unit> units = decompose_all(text, is_compatibility(form));
  if (is_composed(form)) compose_all(units);
  TextRewriter rewriter(text);
  for (const Unit& unit : units) rewriter.put(unit.c, unit.change);
  rewriter.finish();
}

void apply_lowercase(NormalizedText& text) {
  std::size_t i = 0;
  for (char32_t lower[2]; i < text.size(); ++i) {
    if (to_lowercase(text.chars[i], lower) != 1) break;
    text.chars[i] = lower[0];
  }
  if (i == text.size()) return;
  TextRewriter rewriter(text);
  for (const char32_t c : text.chars) {
    char32_t lower[2];
    const int num_lower = to_lowercase(c, lower);
    rewriter.put(lower[0], 0);
    if (num_lower == 2) rewriter.put(lower[1], 1);
  }
  rewriter.finish();
}

}  // namespace wattn
