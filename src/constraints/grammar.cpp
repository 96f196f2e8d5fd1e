#include "constraints/grammar.h"

#include <algorithm>
#include <utility>

namespace wattn {

Grammar::Grammar(Regexes& regexes) : regexes_(regexes) {
  make({kNone});
  states_.id(std::array{0});  // kDead: cannot end, no parts
  rows_.emplace_back();
}

ExprId Grammar::make(std::vector<std::int32_t> list) { return exprs_.id(list); }

std::vector<std::int32_t> Grammar::words(ExprId id) const {
  const auto found = exprs_.words(id);
  return {found.begin(), found.end()};
}

ExprId Grammar::regex(RegexId id) { return regexes_.is_possible(id) ? make({kRegex, id}) : kNever; }

ExprId Grammar::sequence(ExprId first, ExprId second) {
  if (first == kNever || second == kNever) return kNever;
  const auto a = words(first), b = words(second);
  if (a[0] == kRegex && a[1] == Regexes::kEmpty) return second;
  if (b[0] == kRegex && b[1] == Regexes::kEmpty) return first;
  if (a[0] == kSequence) return sequence(a[1], sequence(a[2], second));
  if (a[0] == kRegex && b[0] == kRegex) return regex(regexes_.concat(a[1], b[1]));
  if (a[0] == kRegex && b[0] == kSequence) {
    const auto next = words(b[1]);
    if (next[0] == kRegex) return make({kSequence, regex(regexes_.concat(a[1], next[1])), b[2]});
  }
  return make({kSequence, first, second});
}

ExprId Grammar::either(std::vector<ExprId> all) {
  std::vector<std::int32_t> list{kEither};
  std::vector<RegexId> regular;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto each = words(all[i]);
    if (each[0] == kEither)
      all.insert(all.end(), each.begin() + 1, each.end());
    else if (each[0] == kRegex)
      regular.push_back(each[1]);
    else if (all[i] != kNever && std::find(list.begin() + 1, list.end(), all[i]) == list.end())
      list.push_back(all[i]);
  }
  if (!regular.empty()) list.push_back(regex(regexes_.either(std::move(regular))));
  if (list.size() == 1) return kNever;
  return list.size() == 2 ? list[1] : make(std::move(list));
}

ExprId Grammar::repeat(ExprId each, std::int32_t min, std::int32_t max) {
  const auto list = words(each);
  if (max == 0) return regex(Regexes::kEmpty);
  if (each == kNever) return min == 0 ? regex(Regexes::kEmpty) : kNever;
  if (min == 1 && max == 1) return each;
  if (list[0] == kRegex) return regex(regexes_.repeat(list[1], min, max));
  return make({kRepeat, each, min, max});
}

RuleId Grammar::add_rule() {
  rules_.push_back(kNever);
  return static_cast<RuleId>(rules_.size()) - 1;
}

ExprId Grammar::rule(RuleId rule) { return make({kRule, rule}); }

void Grammar::allow_spaces() {
  const RegexId blank = regexes_.text(" ");
  const RegexId line = regexes_.concat(regexes_.text("\n"), regexes_.repeat(blank, 0, 32));
  space_ = regexes_.either({Regexes::kEmpty, blank, line});
}

ExprId Grammar::object(ObjectSpec spec) {
  const auto number = static_cast<std::int32_t>(objects_.size());
  objects_.push_back(std::move(spec));
  return make({kObject, number, -1});
}

ExprId Grammar::array(ArraySpec spec) {
  const auto number = static_cast<std::int32_t>(arrays_.size());
  arrays_.push_back(std::move(spec));
  return make({kArray, number, -1, arrays_.back().unique});
}

void Grammar::allow_leading_space() {
  root_cell_ = cell(regex(regexes_.either({Regexes::kEmpty, regexes_.text(" ")})), root_cell_);
}

void Grammar::begin_after(std::string_view mark) {
  const RegexId found = regexes_.concat(Regexes::kAnything, regexes_.text(mark));
  const RegexId later = regexes_.concat({found, regexes_.range(0, 255), Regexes::kAnything});
  root_cell_ = cell(regex(regexes_.both({found, regexes_.no(later)})), root_cell_);
}

bool Grammar::object_is_productive(const ObjectSpec& spec) const { return can_finish_object(spec, {}, 0); }

// A later call sees what an earlier one found, so rules become productive one after the other.
bool Grammar::is_productive(ExprId expr) const {
  if (!is_finished_) return find_productive(expr);
  const auto at = static_cast<std::size_t>(expr);
  if (at >= productive_exprs_.size()) productive_exprs_.resize(static_cast<std::size_t>(exprs_.size()), -1);
  if (productive_exprs_[at] < 0) {
    const bool found = find_productive(expr);
    productive_exprs_[at] = found ? 1 : 0;
  }
  return productive_exprs_[at] != 0;
}

bool Grammar::find_productive(ExprId expr) const {
  const auto list = words(expr);
  switch (list[0]) {
    case kRegex:
      return true;
    case kSequence:
      return is_productive(list[1]) && is_productive(list[2]);
    case kEither:
      return std::any_of(list.begin() + 1, list.end(), [&](ExprId each) { return is_productive(each); });
    case kRepeat:
      return list[2] == 0 || is_productive(list[1]);
    case kRule:
      return productive_[static_cast<std::size_t>(list[1])] != 0;
    case kObject:
      return object_is_productive(objects_[static_cast<std::size_t>(list[1])]);
    case kArray: {
      const ArraySpec& spec = arrays_[static_cast<std::size_t>(list[1])];
      return spec.unique == Regexes::kNothing ? can_finish_array(spec, 0, 0) : regexes_.has_texts(spec.unique, spec.min);
    }
    case kTaken:
      return true;
    default:
      return false;
  }
}

bool Grammar::may_be_empty(ExprId expr) const {
  const auto list = words(expr);
  switch (list[0]) {
    case kRegex:
      return regexes_.may_end(list[1]);
    case kSequence:
      return may_be_empty(list[1]) && may_be_empty(list[2]);
    case kEither:
      return std::any_of(list.begin() + 1, list.end(), [&](ExprId each) { return may_be_empty(each); });
    case kRepeat:
      return list[2] == 0 || may_be_empty(list[1]);
    case kRule:
      return nullable_[static_cast<std::size_t>(list[1])] != 0;
    default:
      return false;
  }
}

// The rules that may come first.
void Grammar::first_rules(ExprId expr, std::vector<RuleId>& out) const {
  const auto list = words(expr);
  if (list[0] == kRule) out.push_back(list[1]);
  if (list[0] == kSequence) {
    first_rules(list[1], out);
    if (may_be_empty(list[1])) first_rules(list[2], out);
  }
  if (list[0] == kRepeat) first_rules(list[1], out);
  if (list[0] == kEither)
    for (std::size_t i = 1; i < list.size(); ++i) first_rules(list[i], out);
}

Result<void> Grammar::finish(ExprId root, const std::vector<std::string>& names) {
  const std::size_t count = rules_.size();
  productive_.assign(count, 0);
  nullable_.assign(count, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < count; ++i) {
      const bool produces = !productive_[i] && is_productive(rules_[i]), vanishes = !nullable_[i] && may_be_empty(rules_[i]);
      if (produces) productive_[i] = 1;
      if (vanishes) nullable_[i] = 1;
      changed |= produces || vanishes;
    }
  }
  if (!is_productive(root)) return input_error("no text satisfies it");
  // A left-recursive rule would be expanded without end.
  std::vector<char> done(count, 0);  // 1: on the way, 2: done
  for (std::size_t i = 0; i < count; ++i) {
    struct Entry {
      RuleId rule;
      std::vector<RuleId> left;
    };
    std::vector<Entry> path;
    const auto enter = [&](RuleId each) {
      if (done[static_cast<std::size_t>(each)] == 2) return true;
      if (done[static_cast<std::size_t>(each)] == 1) return false;
      done[static_cast<std::size_t>(each)] = 1;
      path.push_back({each, {}});
      first_rules(rules_[static_cast<std::size_t>(each)], path.back().left);
      return true;
    };
    enter(static_cast<RuleId>(i));
    while (!path.empty()) {
      Entry& top = path.back();
      if (top.left.empty()) {
        done[static_cast<std::size_t>(top.rule)] = 2;
        path.pop_back();
        continue;
      }
      const RuleId next = top.left.back();
      top.left.pop_back();
      if (!enter(next)) {
        const auto at = static_cast<std::size_t>(next);
        return unsupported_error("rule '" + (at < names.size() ? names[at] : std::to_string(next)) +
                                 "' begins with itself (left recursion), which is not supported");
      }
    }
  }
  is_finished_ = true;
  root_cell_ = cell(root, -1);
  return {};
}

}  // namespace wattn
