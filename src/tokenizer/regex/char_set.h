// The character classes of a regular expression: [a-z\p{L}], \s, a single character.
#pragma once

#include <cstdint>
#include <vector>

namespace wattn {

class CharSet {
 public:
  bool contains(char32_t c) const;

  void add(char32_t c) { add(c, c); }
  void add(char32_t first, char32_t last) { items_.push_back({Kind::kRange, false, first, last}); }
  void add_categories(std::uint32_t mask, bool negated) {
    items_.push_back({Kind::kCategories, negated, mask, 0});
  }  // 1 << CharCategory
  void add_script(std::uint8_t script, bool negated) { items_.push_back({Kind::kScript, negated, script, 0}); }
  void add_space(bool negated) { items_.push_back({Kind::kSpace, negated, 0, 0}); }
  void add_word(bool negated) { items_.push_back({Kind::kWord, negated, 0, 0}); }
  void add(CharSet nested) { nested_.push_back(std::move(nested)); }

  void negate() { negated_ = !negated_; }
  void ignore_case() { ignore_case_ = true; }
  void intersect(CharSet with) { intersected_.push_back(std::move(with)); }

  // Whether there are only ASCII characters and ranges, which can be matched without regard to case.
  bool is_plain_ascii() const;
  bool is_char(char32_t c, bool ignore_case) const;  // just this character

 private:
  enum class Kind : std::uint8_t { kRange, kCategories, kScript, kSpace, kWord };
  struct Item {
    Kind kind;
    bool negated;
    std::uint32_t first;  // of a range; the mask of categories; the script
    std::uint32_t last;
  };

  static bool has(const Item& item, char32_t c);
  bool contains_exactly(char32_t c) const;

  std::vector<Item> items_;
  std::vector<CharSet> nested_;
  std::vector<CharSet> intersected_;
  bool negated_ = false;
  bool ignore_case_ = false;
};

}  // namespace wattn
