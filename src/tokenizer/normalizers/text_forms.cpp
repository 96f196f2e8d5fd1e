#include "tokenizer/normalizers/text_forms.h"

#include <cstdint>
#include <vector>

#include "core/utf.h"
#include "tokenizer/heap_sort.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

struct Unit {
  char32_t c;
  std::int32_t change;  // as TextRewriter takes it
  std::uint32_t place;  // index among the marks of its starter, before sorting
  std::uint8_t combining_class;

  static bool before(const Unit& a, const Unit& b) {
    return a.combining_class != b.combining_class ? a.combining_class < b.combining_class : a.place < b.place;
  }
};

bool is_compatibility(NormalForm form) { return form == NormalForm::kNfkd || form == NormalForm::kNfkc; }
bool is_composed(NormalForm form) { return form == NormalForm::kNfc || form == NormalForm::kNfkc; }

// Characters that a normal form keeps and that nothing before them can change. Only the text between them needs work.
class StableChars {
 public:
  explicit StableChars(NormalForm form)
      : suspicious_(static_cast<std::uint16_t>((is_composed(form) ? kCharComposesBackward | kCharNotComposed : kCharDecomposes) |
                                               (is_compatibility(form) ? kCharDecomposesCompat : 0))),
        hangul_decomposes_(!is_composed(form)) {}

  bool has(char32_t c) const {
    if (c < 0x80) return true;
    const CharProperties properties = char_properties(c);
    return !(properties.flags & suspicious_) && properties.combining_class == 0 && !(hangul_decomposes_ && is_hangul_syllable(c));
  }

 private:
  std::uint16_t suspicious_;
  bool hangul_decomposes_;
};

// Takes the characters of a stretch one by one and writes their normal form. It holds back only a starter, with what was composed
// into it, and the marks since then.
class FormWriter {
 public:
  FormWriter(NormalForm form, TextRewriter& out) : form_(form), out_(out) {}

  void take(char32_t c) {
    char32_t parts[kLongestDecomposition];
    const int num_parts = decompose(c, is_compatibility(form_), parts);
    for (int i = 0; i < num_parts; ++i) take_part(parts[i], i == 0 ? 0 : 1);
  }

  void flush() {
    settle_marks();
    write_held();
    has_starter_ = false;
  }

 private:
  void take_part(char32_t c, std::int32_t change) {
    const std::uint8_t combining_class = char_properties(c).combining_class;
    if (combining_class != 0) {
      marks_.push_back({c, change, static_cast<std::uint32_t>(marks_.size()), combining_class});
      return;
    }
    settle_marks();
    if (has_starter_ && marks_.empty() && join({c, change, 0, 0})) return;
    write_held();
    starter_ = {c, change, 0, 0};
    has_starter_ = true;
  }

  // Sorts the marks by class, keeping the order of equal classes. Then each mark is composed with the starter unless a mark of its
  // own class, or one that cannot be composed, stands between.
  void settle_marks() {
    if (marks_.size() > 1) heap_sort(marks_.begin(), marks_.end(), Unit::before);
    if (!has_starter_ || !is_composed(form_)) return;
    std::size_t kept = 0;
    for (const Unit& mark : marks_) {
      const bool blocked = kept > 0 && marks_[kept - 1].combining_class >= mark.combining_class;
      if (!blocked && join(mark)) continue;
      marks_[kept++] = mark;
    }
    marks_.resize(kept);
  }

  // A composite covers the old text of both its parts.
  bool join(const Unit& unit) {
    const char32_t composite = is_composed(form_) ? compose(starter_.c, unit.c) : 0;
    if (composite == 0) return false;
    starter_.c = composite;
    starter_.change += unit.change - 1;
    return true;
  }

  void write_held() {
    if (has_starter_) out_.put(starter_.c, starter_.change);
    for (const Unit& mark : marks_) out_.put(mark.c, mark.change);
    marks_.clear();
  }

  NormalForm form_;
  TextRewriter& out_;
  Unit starter_{};
  bool has_starter_ = false;
  std::vector<Unit> marks_;
};

}  // namespace

void apply_normal_form(NormalizedText& text, NormalForm form) {
  const StableChars stable(form);
  const std::u32string_view chars = text.chars;
  const auto next = [&](std::size_t from, bool wanted) {
    while (from < chars.size() && stable.has(chars[from]) != wanted) ++from;
    return from;
  };
  std::size_t unstable = next(0, false);
  if (unstable == chars.size()) return;
  TextRewriter rewriter(text);
  FormWriter writer(form, rewriter);
  std::size_t done = 0;
  while (unstable < chars.size()) {
    const std::size_t begin = unstable > done ? unstable - 1 : unstable;  // may compose with the stable character before it
    rewriter.keep(begin - done);
    done = next(unstable, true);
    for (std::size_t i = begin; i < done; ++i) writer.take(chars[i]);
    writer.flush();
    unstable = next(done, false);
  }
  rewriter.keep(chars.size() - done);
  rewriter.finish();
}

bool surely_has_normal_form(std::string_view text, NormalForm form) {
  const StableChars stable(form);
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
    } else if (!stable.has(next_code_point(text, at))) {
      return false;
    }
  }
  return true;
}

void apply_lowercase(NormalizedText& text) {
  char32_t lower[2];
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    char32_t& c = text.chars[i];
    if (c < 0x80) {
      if (c >= U'A' && c <= U'Z') c += 0x20;
    } else {
      if (to_lowercase(c, lower) != 1) break;
      c = lower[0];
    }
  }
  if (i == text.size()) return;
  TextRewriter rewriter(text);
  rewriter.keep(i);
  for (; i < text.size(); ++i) {
    const int num_lower = to_lowercase(text.chars[i], lower);
    rewriter.put(lower[0], 0);
    if (num_lower == 2) rewriter.put(lower[1], 1);
  }
  rewriter.finish();
}

}  // namespace wattn
