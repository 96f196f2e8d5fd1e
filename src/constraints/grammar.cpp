#include "constraints/grammar.h"
#include "constraints/sort.h"

#include <algorithm>
#include <map>
#include <set>
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
  // A rule that may come first in itself would be expanded without end.
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

// What may come next: the parts of a state, found by depth-first expansion.
struct Grammar::Closure {
  bool may_end = false;
  std::vector<std::pair<RegexId, std::int32_t>> parts{};
  std::set<std::pair<ExprId, std::int32_t>> seen{};
};

StateId Grammar::make_state(bool may_end, std::vector<std::pair<RegexId, std::int32_t>> parts) {
  sort_unique(parts);
  std::vector<std::int32_t> list{may_end ? 1 : 0};
  for (const auto& [regex, below] : parts) {
    list.push_back(regex);
    list.push_back(below);
  }
  const StateId id = states_.id(list);
  if (static_cast<std::size_t>(id) == rows_.size()) rows_.emplace_back();
  return id;
}

std::vector<std::pair<RegexId, std::int32_t>> Grammar::parts(StateId state) const {
  const auto list = states_.words(state);
  std::vector<std::pair<RegexId, std::int32_t>> out;
  for (std::size_t i = 1; i < list.size(); i += 2) out.emplace_back(list[i], list[i + 1]);
  return out;
}

void Grammar::expand(ExprId expr, std::int32_t below, Closure& out) {
  if (!is_productive(expr) || !out.seen.emplace(expr, below).second) return;
  const auto list = words(expr);
  switch (list[0]) {
    case kRegex:
      if (list[1] != Regexes::kEmpty) out.parts.emplace_back(list[1], below);
      if (!regexes_.may_end(list[1])) return;
      if (below < 0)
        out.may_end = true;
      else
        expand(cells_.words(below)[0], cells_.words(below)[1], out);
      return;
    case kSequence:
      return expand(list[1], cell(list[2], below), out);
    case kEither:
      for (std::size_t i = 1; i < list.size(); ++i) expand(list[i], below, out);
      return;
    case kRepeat: {
      if (list[2] == 0) expand(regex(Regexes::kEmpty), below, out);
      const std::int32_t most = list[3] == kNoLimit ? kNoLimit : list[3] - 1;
      if (most == 0) return expand(list[1], below, out);
      return expand(list[1], cell(make({kRepeat, list[1], std::max(list[2] - 1, 0), most}), below), out);
    }
    case kRule:
      return expand(rules_[static_cast<std::size_t>(list[1])], below, out);
    case kObject:
      return expand_object(list, below, out);
    case kArray:
      return expand_array(list, below, out);
    case kTaken: {
      // No further element has the text of this one.
      std::string own;
      for (std::size_t i = 4; i < list.size(); ++i) own += static_cast<char>(list[i]);
      const RegexId left = regexes_.both({list[3], regexes_.no(regexes_.text(own))});
      return expand(make({kArray, list[1], list[2], left}), below, out);
    }
    default:
      return;
  }
}

// Whether what is missing still fits, and may come.
bool Grammar::can_finish_object(const ObjectSpec& spec, const std::vector<std::int32_t>& seen, std::int32_t count) const {
  std::vector<char> wanted(spec.keys.size(), 0);
  std::vector<std::int32_t> left;
  const auto want = [&](std::int32_t key) {
    if (std::exchange(wanted[static_cast<std::size_t>(key)], 1) == 0) left.push_back(key);
  };
  bool is_open = false;
  std::int32_t possible = 0, missing = 0;
  for (std::size_t i = 0; i < spec.keys.size(); ++i) {
    const KeySpec& key = spec.keys[i];
    const bool is_seen = std::binary_search(seen.begin(), seen.end(), static_cast<std::int32_t>(i));
    if (key.is_required || is_seen) want(static_cast<std::int32_t>(i));
    if (is_seen || !productive_[static_cast<std::size_t>(key.value)]) continue;
    if (key.is_open)
      is_open = true;
    else
      ++possible;
  }
  while (!left.empty()) {
    const std::int32_t i = left.back();
    left.pop_back();
    const KeySpec& key = spec.keys[static_cast<std::size_t>(i)];
    for (const std::int32_t need : key.needs) want(need);
    if (std::binary_search(seen.begin(), seen.end(), i)) continue;
    if (!productive_[static_cast<std::size_t>(key.value)]) return false;
    ++missing;
  }
  if (spec.max != kNoLimit && count + missing > spec.max) return false;
  return is_open || count + possible >= spec.min;
}

// list: kObject, the object's number, how many members there are (-1: before "{"), and the keys that were there.
void Grammar::expand_object(const std::vector<std::int32_t>& list, std::int32_t below, Closure& out) {
  const std::int32_t count = list[2];
  if (count < 0) {
    auto next = list;
    next[2] = 0;
    return expand(text("{"), cell(make(std::move(next)), below), out);
  }
  const ObjectSpec& spec = objects_[static_cast<std::size_t>(list[1])];
  const std::vector<std::int32_t> seen(list.begin() + 3, list.end());
  const auto is_there = [&](std::int32_t key) { return std::binary_search(seen.begin(), seen.end(), key); };
  bool may_close = count >= spec.min;
  for (std::size_t i = 0; i < spec.keys.size() && may_close; ++i) {
    const KeySpec& key = spec.keys[i];
    const auto number = static_cast<std::int32_t>(i);
    if (key.is_required) may_close = is_there(number);
    if (is_there(number)) may_close = may_close && std::all_of(key.needs.begin(), key.needs.end(), is_there);
  }
  if (may_close) expand(regex(regexes_.concat(space_, regexes_.text("}"))), below, out);
  if (spec.max != kNoLimit && count >= spec.max) return;
  // Beyond these numbers members need not be counted.
  const std::int32_t counted = std::max(spec.min, spec.max);
  // What is left out cannot come later, so counts and needs would have to look ahead.
  const auto is_free = [](const KeySpec& key) { return key.needs.empty(); };
  const bool is_ordered = is_ordered_ && spec.min <= 1 && std::all_of(spec.keys.begin(), spec.keys.end(), is_free);
  for (std::size_t i = 0; i < spec.keys.size(); ++i) {
    const KeySpec& key = spec.keys[i];
    const auto number = static_cast<std::int32_t>(i);
    if (is_ordered) {
      if (!seen.empty() && number < seen.back() && !key.is_open) continue;
      // None comes before a required one that is missing.
      const auto is_missing = [&](std::size_t other) {
        return spec.keys[other].is_required && !is_there(static_cast<std::int32_t>(other));
      };
      if (i > 0 && is_missing(i - 1)) break;
    }
    if (!productive_[static_cast<std::size_t>(key.value)] || (!key.is_open && is_there(number))) continue;
    auto next_seen = seen;
    if (!key.is_open) next_seen.insert(std::lower_bound(next_seen.begin(), next_seen.end(), number), number);
    if (!can_finish_object(spec, next_seen, count + 1)) continue;
    std::vector<std::int32_t> next{kObject, list[1], std::max(1, std::min(count + 1, counted))};
    next.insert(next.end(), next_seen.begin(), next_seen.end());
    const RegexId begin = regexes_.concat(count > 0 ? regexes_.concat(regexes_.text(","), space_) : space_, key.key);
    const ExprId member = regex(regexes_.concat({begin, regexes_.text(":"), space_}));
    expand(member, cell(rule(key.value), cell(make(std::move(next)), below)), out);
  }
}

bool Grammar::can_finish_array(const ArraySpec& spec, std::int32_t index, std::int32_t found) const {
  const auto can = [&](RuleId rule) { return productive_[static_cast<std::size_t>(rule)] != 0; };
  // Elements are taken as "contains" counts them where that is possible, and as few as possible.
  for (std::int32_t at = index;; ++at) {
    if (at >= spec.min && found >= spec.min_found) return true;
    if (spec.max != kNoLimit && at >= spec.max) return false;
    const auto place = static_cast<std::size_t>(at);
    const bool in_prefix = place < spec.prefix.size();
    const bool may_count = can(in_prefix ? spec.found_prefix[place] : spec.found_items);
    const bool can_be_other = can(in_prefix ? spec.prefix[place] : spec.items);
    if (may_count && (spec.min_found > found || (!can_be_other && spec.max_found > found))) {
      ++found;
    } else if (!can_be_other || (!in_prefix && found < spec.min_found && !can(spec.found_items))) {
      return false;
    }
  }
}

std::int32_t Grammar::taken(std::int32_t below, std::string_view bytes) {
  const auto words_of_cell = cells_.words(below);
  const std::int32_t next = words_of_cell[1];
  auto list = words(words_of_cell[0]);
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return cell(make(std::move(list)), next);
}

// list: kArray, the array's number, how many elements there are, and what further ones may be. kTaken has the same, and the bytes
// of an element so far.
void Grammar::expand_unique(const std::vector<std::int32_t>& list, std::int32_t below, Closure& out) {
  const ArraySpec& spec = arrays_[static_cast<std::size_t>(list[1])];
  const std::int32_t index = list[2], left = list[3];
  if (index >= spec.min) expand(regex(regexes_.concat(space_, regexes_.text("]"))), below, out);
  if ((spec.max != kNoLimit && index >= spec.max) || !regexes_.has_texts(left, std::max(1, spec.min - index))) return;
  const std::int32_t counted = std::max({spec.min, spec.max, 1});
  const std::int32_t rest = cell(make({kTaken, list[1], std::min(index + 1, counted), left}), below);
  expand(regex(regexes_.concat(index > 0 ? regexes_.text(",") : Regexes::kEmpty, space_)), cell(regex(left), rest), out);
}

// list: kArray, the array's number, how many elements there are (-1: before "["), and how many of them "contains" counted.
void Grammar::expand_array(const std::vector<std::int32_t>& list, std::int32_t below, Closure& out) {
  const std::int32_t index = list[2], found = list[3];
  if (index < 0) return expand(text("["), cell(make({kArray, list[1], 0, found}), below), out);
  const ArraySpec& spec = arrays_[static_cast<std::size_t>(list[1])];
  if (spec.unique != Regexes::kNothing) return expand_unique(list, below, out);
  if (index >= spec.min && found >= spec.min_found) expand(regex(regexes_.concat(space_, regexes_.text("]"))), below, out);
  if (spec.max != kNoLimit && index >= spec.max) return;
  const std::int32_t counted = std::max({spec.min, spec.max, static_cast<std::int32_t>(spec.prefix.size()), 1});
  const bool in_prefix = static_cast<std::size_t>(index) < spec.prefix.size();
  const auto place = static_cast<std::size_t>(index);
  const ExprId begin = regex(regexes_.concat(index > 0 ? regexes_.text(",") : Regexes::kEmpty, space_));
  const auto add = [&](RuleId value, std::int32_t next_found) {
    if (!productive_[static_cast<std::size_t>(value)] || !can_finish_array(spec, index + 1, next_found)) return;
    const ExprId rest = make({kArray, list[1], std::min(index + 1, counted), next_found});
    expand(begin, cell(rule(value), cell(rest, below)), out);
  };
  add(in_prefix ? spec.prefix[place] : spec.items, found);
  if (found < std::max(spec.min_found, spec.max_found)) add(in_prefix ? spec.found_prefix[place] : spec.found_items, found + 1);
}

StateId Grammar::closure(std::int32_t cell) {
  if (cell < 0) return make_state(true, {});
  if (static_cast<std::size_t>(cell) >= closures_.size()) closures_.resize(static_cast<std::size_t>(cells_.size()), kUnknown);
  if (closures_[static_cast<std::size_t>(cell)] != kUnknown) return closures_[static_cast<std::size_t>(cell)];
  Closure found;
  const std::int32_t expr = cells_.words(cell)[0], below = cells_.words(cell)[1];
  expand(expr, below, found);
  const StateId id = make_state(found.may_end, std::move(found.parts));
  closures_[static_cast<std::size_t>(cell)] = id;
  return id;
}

StateId Grammar::first_after(StateId state, std::uint8_t byte) {
  bool ends = false;
  std::vector<std::pair<RegexId, std::int32_t>> next;
  for (const auto& [regex, cell] : parts(state)) {
    const RegexId rest = regexes_.after(regex, byte);
    if (rest == Regexes::kNothing) continue;
    const char taken_byte = static_cast<char>(byte);
    const std::int32_t below = takes(cell) ? taken(cell, {&taken_byte, 1}) : cell;
    if (rest != Regexes::kEmpty) next.emplace_back(rest, below);
    if (!regexes_.may_end(rest)) continue;
    const StateId ended = closure(below);
    ends = ends || may_end(ended);
    const auto more = parts(ended);
    next.insert(next.end(), more.begin(), more.end());
  }
  const StateId id = !ends && next.empty() ? kDead : make_state(ends, std::move(next));
  auto& row = rows_[static_cast<std::size_t>(state)];
  if (!row) {
    row = std::make_unique<std::array<StateId, 256>>();
    row->fill(kUnknown);
    ++num_rows_;
  }
  (*row)[byte] = id;
  return id;
}

StateId Grammar::after(StateId state, std::string_view bytes) {
  for (const char byte : bytes) state = after(state, static_cast<std::uint8_t>(byte));
  return state;
}

std::string Grammar::forced(StateId state, std::size_t most) {
  std::string out;
  while (out.size() < most && !may_end(state)) {
    int only = -1;
    for (int byte = 0; byte < 256; ++byte) {
      if (after(state, static_cast<std::uint8_t>(byte)) == kDead) continue;
      if (only >= 0) return out;
      only = byte;
    }
    if (only < 0) return out;
    out += static_cast<char>(only);
    state = after(state, static_cast<std::uint8_t>(only));
  }
  return out;
}

void Grammar::forget_rows() {
  for (auto& row : rows_) row.reset();
  num_rows_ = 0;
}

}  // namespace wattn
