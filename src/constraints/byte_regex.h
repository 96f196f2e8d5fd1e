// Regular expressions over bytes with "and" and "not", matched by derivatives: what may follow after a byte is again an expression
// (Brzozowski, Derivatives of Regular Expressions, 1964). Equal expressions have one id, so a text is matched as by an automaton
// whose states are made when they are first reached.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraints/interner.h"

namespace wattn {

using RegexId = std::int32_t;

class Regexes {
 public:
  static constexpr RegexId kNothing = 0;   // matches no text
  static constexpr RegexId kEmpty = 1;     // matches the empty text
  static constexpr RegexId kAnything = 2;  // matches every text
  static constexpr std::int32_t kNoLimit = -1;

  Regexes();

  RegexId range(std::uint8_t first, std::uint8_t last);
  RegexId text(std::string_view bytes);
  RegexId one_of(std::vector<std::string> texts);
  RegexId concat(RegexId first, RegexId second);
  RegexId concat(std::initializer_list<RegexId> all);
  RegexId either(std::vector<RegexId> all);
  RegexId both(std::vector<RegexId> all);  // all of them
  RegexId no(RegexId other);               // every text that other does not match
  RegexId repeat(RegexId each, std::int32_t min, std::int32_t max);
  // Decimal digits, with a point among them if decimals > 0, of a number whose product with 10^decimals is a multiple of divisor.
  RegexId multiple(std::int32_t divisor, std::int32_t decimals);

  bool may_end(RegexId id) const { return facts_[static_cast<std::size_t>(id)].may_end; }
  // What may follow a byte: kNothing if no text with it is matched.
  RegexId after(RegexId id, std::uint8_t byte) {
    const Facts& facts = facts_[static_cast<std::size_t>(id)];
    if (!facts.is_pruned) return first_after(id, byte);
    return nexts_[static_cast<std::size_t>(facts.row) + maps_[static_cast<std::size_t>(facts.map)][byte]];
  }
  RegexId after(RegexId id, std::string_view bytes);
  bool matches(RegexId id, std::string_view bytes) { return may_end(after(id, bytes)); }
  // An expression that matches the same texts of at most `most` bytes and the same beginnings; it does not tell higher counts
  // apart. Only for expressions without "and" and "not"; others are returned unchanged.
  RegexId clipped(RegexId id, std::int32_t most);
  // Whether at least so many texts are matched.
  bool has_texts(RegexId id, std::int32_t count);
  // Whether any text is matched.
  bool is_possible(RegexId id);
  // Whether that search gave up, in which case its answer was "no"; see kMostSearched.
  bool gave_up() const { return gave_up_; }
  std::int32_t size() const { return nodes_.size(); }

 private:
  enum Kind : std::int32_t { kNone, kEnd, kAll, kSet, kConcat, kEither, kBoth, kNot, kRepeat, kMultiple };
  using ByteSet = std::array<std::int32_t, 8>;  // 256 bits
  using Map = std::array<std::uint8_t, 256>;    // the class of each byte
  struct Facts {
    bool may_end = false;
    bool is_plain = true;                                             // made without "and" and "not": something matches
    enum : std::uint8_t { kUnknown, kYes, kNo } possible = kUnknown;  // of those that are not
    bool is_pruned = false;                                           // nothing in its row is impossible but kNothing
    std::int32_t row = -1;                                            // where its next expressions begin
    std::int32_t map = -1;
  };
  static constexpr std::size_t kMostSearched = 300'000;

  RegexId make(Kind kind, std::span<const std::int32_t> rest);
  RegexId make_set(const ByteSet& set);
  std::vector<std::int32_t> words(RegexId id) const;
  RegexId derive(RegexId id, std::uint8_t byte);
  // Marks the bytes at which what may follow changes.
  void find_classes(RegexId id, std::array<bool, 257>& begins) const;
  RegexId first_after(RegexId id, std::uint8_t byte);
  void make_row(RegexId id);

  Interner nodes_;
  std::vector<Facts> facts_;
  std::vector<RegexId> nexts_;
  Interner map_ids_;
  std::vector<Map> maps_;
  bool gave_up_ = false;
};

}  // namespace wattn
