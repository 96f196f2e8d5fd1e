// The states of a grammar: which bytes may come next, and the state after them.
#include "constraints/grammar.h"
#include "constraints/sort.h"

#include <algorithm>
#include <set>
#include <utility>

namespace wattn {

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
      // No further element may have the text of this one.
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
