// The texts that are allowed, as expressions: regular expressions over bytes, sequences, alternatives, repetitions, rules that may
// refer to each other, and JSON's objects and arrays. Keys may come in any order. Matching keeps the set of all stacks of what may
// still follow. A stack is a cell with an expression and the cell below it; equal cells and sets have one id.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "constraints/byte_regex.h"
#include "constraints/interner.h"
#include "core/result.h"

namespace wattn {

using ExprId = std::int32_t;
using RuleId = std::int32_t;
using StateId = std::int32_t;

// A key of an object, or all keys of a form.
struct KeySpec {
  RegexId key = 0;  // as JSON, with quotes
  RuleId value = 0;
  bool is_open = false;  // several keys have this form; else one, which occurs once
  bool is_required = false;
  std::vector<std::int32_t> needs{};  // keys that must be there if this one is
};

struct ObjectSpec {
  std::vector<KeySpec> keys{};
  std::int32_t min = 0, max = Regexes::kNoLimit;
};

struct ArraySpec {
  std::vector<RuleId> prefix{};
  RuleId items = 0;  // after those
  std::int32_t min = 0, max = Regexes::kNoLimit;
  // The same for the elements that "contains" counts; their number must be in this range.
  std::vector<RuleId> found_prefix{};
  RuleId found_items = 0;
  std::int32_t min_found = 0, max_found = Regexes::kNoLimit;  // with a limit, prefix and items are what it does not count
  // If it is above kNothing: elements are texts of this expression instead, and no two are the same.
  RegexId unique = Regexes::kNothing;
};

class Grammar {
 public:
  static constexpr ExprId kNever = 0;  // matches no text
  static constexpr StateId kDead = 0;
  static constexpr std::int32_t kNoLimit = Regexes::kNoLimit;

  explicit Grammar(Regexes& regexes);

  ExprId regex(RegexId id);
  ExprId text(std::string_view bytes) { return regex(regexes_.text(bytes)); }
  ExprId sequence(ExprId first, ExprId second);
  ExprId either(std::vector<ExprId> all);
  ExprId repeat(ExprId each, std::int32_t min, std::int32_t max);
  RuleId add_rule();  // matches nothing until it is set
  void set_rule(RuleId rule, ExprId body) { rules_[static_cast<std::size_t>(rule)] = body; }
  ExprId rule(RuleId rule);
  ExprId object(ObjectSpec spec);
  ExprId array(ArraySpec spec);
  // Keys of objects come in the order of their specs, keys without a name last. No effect where keys need others or are counted.
  void keep_order() { is_ordered_ = true; }
  // Allows a space between the tokens of JSON, or a line break and up to 32 spaces.
  void allow_spaces();

  // Removes what cannot be completed. An InputError if nothing is left, an UnsupportedError that names a rule that begins with
  // itself.
  Result<void> finish(ExprId root, const std::vector<std::string>& names);

  // The following are for finished grammars.

  // A space may come before the text.
  void allow_leading_space();
  // Any bytes may come before the text, up to the first time that they end with a mark.
  void begin_after(std::string_view mark);
  StateId start() { return closure(root_cell_); }
  StateId after(StateId state, std::uint8_t byte) {
    const auto& row = rows_[static_cast<std::size_t>(state)];
    const StateId known = row ? (*row)[byte] : kUnknown;
    return known == kUnknown ? first_after(state, byte) : known;
  }
  StateId after(StateId state, std::string_view bytes);
  bool may_end(StateId state) const { return states_.words(state)[0] != 0; }
  bool is_complete(StateId state) const { return may_end(state) && states_.words(state).size() == 1; }
  // Whether the cell below an expression has to know the bytes that match it, and the cell that knows these.
  bool takes(std::int32_t cell) const { return cell >= 0 && exprs_.words(cells_.words(cell)[0])[0] == kTaken; }
  std::int32_t taken(std::int32_t cell, std::string_view bytes);
  // What a state is made of: [regular expressions, the cells below them].
  std::vector<std::pair<RegexId, std::int32_t>> parts(StateId state) const;
  // The state when the expression above a cell has ended.
  StateId closure(std::int32_t cell);
  // The bytes that must follow, at most `most`.
  std::string forced(StateId state, std::size_t most);
  Regexes& regexes() { return regexes_; }
  std::int32_t num_states() const { return states_.size(); }
  // Drops the transitions between states that were computed so far; they can be computed again.
  void forget_rows();
  std::size_t num_rows() const { return num_rows_; }

 private:
  enum Kind : std::int32_t { kNone, kRegex, kSequence, kEither, kRepeat, kRule, kObject, kArray, kTaken };
  static constexpr StateId kUnknown = -1;

  ExprId make(std::vector<std::int32_t> list);
  std::vector<std::int32_t> words(ExprId id) const;
  std::int32_t cell(ExprId expr, std::int32_t below) { return cells_.id(std::array{expr, below}); }
  StateId first_after(StateId state, std::uint8_t byte);
  StateId make_state(bool may_end, std::vector<std::pair<RegexId, std::int32_t>> parts);
  struct Closure;
  void expand(ExprId expr, std::int32_t below, Closure& out);
  void expand_object(const std::vector<std::int32_t>& list, std::int32_t below, Closure& out);
  void expand_array(const std::vector<std::int32_t>& list, std::int32_t below, Closure& out);
  bool can_finish_object(const ObjectSpec& spec, const std::vector<std::int32_t>& seen, std::int32_t count) const;
  bool can_finish_array(const ArraySpec& spec, std::int32_t index, std::int32_t found) const;
  void expand_unique(const std::vector<std::int32_t>& list, std::int32_t below, Closure& out);
  bool is_productive(ExprId expr) const;
  bool find_productive(ExprId expr) const;
  bool object_is_productive(const ObjectSpec& spec) const;
  bool may_be_empty(ExprId expr) const;
  void first_rules(ExprId expr, std::vector<RuleId>& out) const;

  Regexes& regexes_;
  RegexId space_ = Regexes::kEmpty;
  bool is_ordered_ = false;
  Interner exprs_, cells_, states_;
  std::vector<ExprId> rules_;
  std::vector<char> productive_, nullable_;  // [rules]
  bool is_finished_ = false;
  mutable std::vector<signed char> productive_exprs_;  // [exprs] of a finished grammar; -1: unknown
  std::vector<ObjectSpec> objects_;
  std::vector<ArraySpec> arrays_;
  std::int32_t root_cell_ = -1;
  std::vector<StateId> closures_;  // [cells]
  std::vector<std::unique_ptr<std::array<StateId, 256>>> rows_;
  std::size_t num_rows_ = 0;
};

}  // namespace wattn
