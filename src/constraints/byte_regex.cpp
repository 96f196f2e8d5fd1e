#include "constraints/byte_regex.h"
#include "constraints/sort.h"

#include <algorithm>
#include <utility>

namespace wattn {
namespace {

bool has(std::span<const std::int32_t> set, unsigned byte) {
  return (static_cast<std::uint32_t>(set[byte / 32]) >> byte % 32 & 1) != 0;
}

std::int64_t power_of_10(std::int32_t exponent) {
  std::int64_t out = 1;
  while (exponent-- > 0) out *= 10;
  return out;
}

}  // namespace

Regexes::Regexes() {
  make(kNone, {});
  make(kEnd, {});
  make(kAll, {});
}

std::vector<std::int32_t> Regexes::words(RegexId id) const {
  const auto found = nodes_.words(id);
  return {found.begin(), found.end()};
}

RegexId Regexes::make(Kind kind, std::span<const std::int32_t> rest) {
  std::vector<std::int32_t> list{kind};
  list.insert(list.end(), rest.begin(), rest.end());
  const RegexId id = nodes_.id(list);
  if (static_cast<std::size_t>(id) < facts_.size()) return id;
  Facts facts;
  const auto of = [&](std::int32_t child) -> const Facts& { return facts_[static_cast<std::size_t>(child)]; };
  const auto children =
      kind == kSet || kind == kMultiple ? std::span<const std::int32_t>() : rest.first(kind == kRepeat ? 1 : rest.size());
  facts.is_plain = kind != kBoth && kind != kNot && kind != kMultiple;
  for (const std::int32_t child : children) facts.is_plain = facts.is_plain && of(child).is_plain;
  const auto ends = [&](std::int32_t child) { return of(child).may_end; };
  switch (kind) {
    case kEnd:
    case kAll:
      facts.may_end = true;
      break;
    case kConcat:
    case kBoth:
      facts.may_end = std::all_of(rest.begin(), rest.end(), ends);
      break;
    case kEither:
      facts.may_end = std::any_of(rest.begin(), rest.end(), ends);
      break;
    case kNot:
      facts.may_end = !ends(rest[0]);
      break;
    case kRepeat:
      facts.may_end = rest[1] == 0;
      break;
    case kMultiple:  // divisor, remainder, decimals that may follow, whether the point was read
      facts.may_end = rest[1] * power_of_10(rest[2]) % rest[0] == 0;
      break;
    default:
      break;
  }
  facts_.push_back(facts);
  return id;
}

RegexId Regexes::make_set(const ByteSet& set) {
  return std::all_of(set.begin(), set.end(), [](std::int32_t word) { return word == 0; }) ? kNothing : make(kSet, set);
}

RegexId Regexes::range(std::uint8_t first, std::uint8_t last) {
  ByteSet set{};
  for (unsigned byte = first; byte <= last; ++byte) set[byte / 32] |= static_cast<std::int32_t>(std::uint32_t{1} << byte % 32);
  return make_set(set);
}

RegexId Regexes::text(std::string_view bytes) {
  RegexId out = kEmpty;
  for (std::size_t i = bytes.size(); i-- > 0;)
    out = concat(range(static_cast<std::uint8_t>(bytes[i]), static_cast<std::uint8_t>(bytes[i])), out);
  return out;
}

// A tree of their common beginnings, so that a state has few alternatives.
RegexId Regexes::one_of(std::vector<std::string> texts) {
  sort_unique(texts);
  const auto make_tree = [&](auto&& self, std::size_t begin, std::size_t end, std::size_t depth) -> RegexId {
    if (end - begin == 1) return text(std::string_view(texts[begin]).substr(depth));
    std::vector<RegexId> branches;
    if (begin < end && texts[begin].size() == depth) {
      branches.push_back(kEmpty);
      ++begin;
    }
    while (begin < end) {
      const char byte = texts[begin][depth];
      std::size_t until = begin;
      while (until < end && texts[until][depth] == byte) ++until;
      branches.push_back(
          concat(range(static_cast<std::uint8_t>(byte), static_cast<std::uint8_t>(byte)), self(self, begin, until, depth + 1)));
      begin = until;
    }
    return either(std::move(branches));
  };
  return make_tree(make_tree, 0, texts.size(), 0);
}

RegexId Regexes::concat(RegexId first, RegexId second) {
  if (first == kNothing || second == kNothing) return kNothing;
  if (first == kEmpty) return second;
  if (second == kEmpty) return first;
  if (first == kAnything && second == kAnything) return kAnything;
  const auto list = words(first);
  if (list[0] == kConcat) return concat(list[1], concat(list[2], second));
  return make(kConcat, std::array{first, second});
}

RegexId Regexes::concat(std::initializer_list<RegexId> all) {
  RegexId out = kEmpty;
  for (auto each = std::rbegin(all); each != std::rend(all); ++each) out = concat(*each, out);
  return out;
}

RegexId Regexes::either(std::vector<RegexId> all) {
  ByteSet set{};
  std::vector<RegexId> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto list = words(all[i]);
    if (list[0] == kAll) return kAnything;
    if (list[0] == kEither) all.insert(all.end(), list.begin() + 1, list.end());
    if (list[0] == kSet)
      for (std::size_t word = 0; word < 8; ++word) set[word] |= list[word + 1];
    if (list[0] != kNone && list[0] != kEither && list[0] != kSet) out.push_back(all[i]);
  }
  if (const RegexId one = make_set(set); one != kNothing) out.push_back(one);
  sort_unique(out);
  if (std::any_of(out.begin(), out.end(), [&](RegexId each) { return each != kEmpty && may_end(each); })) std::erase(out, kEmpty);
  if (out.empty()) return kNothing;
  return out.size() == 1 ? out[0] : make(kEither, out);
}

RegexId Regexes::both(std::vector<RegexId> all) {
  ByteSet set;
  set.fill(-1);
  bool has_set = false;
  std::vector<RegexId> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto list = words(all[i]);
    if (list[0] == kNone) return kNothing;
    if (list[0] == kBoth) all.insert(all.end(), list.begin() + 1, list.end());
    if (list[0] == kSet) {
      has_set = true;
      for (std::size_t word = 0; word < 8; ++word) set[word] &= list[word + 1];
    }
    if (list[0] != kAll && list[0] != kBoth && list[0] != kSet) out.push_back(all[i]);
  }
  if (has_set) out.push_back(make_set(set));
  sort_unique(out);
  if (out.empty()) return kAnything;
  if (out[0] == kNothing) return kNothing;
  if (out[0] == kEmpty) return std::all_of(out.begin(), out.end(), [&](RegexId each) { return may_end(each); }) ? kEmpty : kNothing;
  for (const RegexId each : out) {
    const auto list = words(each);
    if (list[0] == kNot && std::binary_search(out.begin(), out.end(), list[1])) return kNothing;
  }
  return out.size() == 1 ? out[0] : make(kBoth, out);
}

RegexId Regexes::no(RegexId other) {
  if (other == kNothing) return kAnything;
  if (other == kAnything) return kNothing;
  const auto list = words(other);
  return list[0] == kNot ? list[1] : make(kNot, std::array{other});
}

RegexId Regexes::repeat(RegexId each, std::int32_t min, std::int32_t max) {
  if (max == 0 || each == kEmpty) return kEmpty;
  if (each == kNothing) return min == 0 ? kEmpty : kNothing;
  if (each == kAnything) return kAnything;
  if (min == 1 && max == 1) return each;
  if (may_end(each)) min = 0;
  const auto list = words(each);
  const bool is_any = list[0] == kSet && std::all_of(list.begin() + 1, list.end(), [](std::int32_t word) { return word == -1; });
  if (is_any && min == 0 && max == kNoLimit) return kAnything;
  return make(kRepeat, std::array{each, min, max});
}

RegexId Regexes::multiple(std::int32_t divisor, std::int32_t decimals) {
  return make(kMultiple, std::array{divisor, 0, decimals, 0});
}

RegexId Regexes::derive(RegexId id, std::uint8_t byte) {
  const auto list = words(id);
  std::vector<RegexId> parts;
  switch (list[0]) {
    case kAll:
      return kAnything;
    case kSet:
      return has(std::span(list).subspan(1), byte) ? kEmpty : kNothing;
    case kConcat: {
      const RegexId first = concat(derive(list[1], byte), list[2]);
      return may_end(list[1]) ? either({first, derive(list[2], byte)}) : first;
    }
    case kEither:
    case kBoth:
      for (std::size_t i = 1; i < list.size(); ++i) {
        parts.push_back(derive(list[i], byte));
        if (list[0] == kBoth && parts.back() == kNothing) return kNothing;
      }
      return list[0] == kBoth ? both(std::move(parts)) : either(std::move(parts));
    case kNot:
      return no(derive(list[1], byte));
    case kRepeat: {
      const RegexId first = derive(list[1], byte);
      if (first == kNothing) return kNothing;
      return concat(first, repeat(list[1], std::max(list[2] - 1, 0), list[3] == kNoLimit ? kNoLimit : list[3] - 1));
    }
    case kMultiple: {
      const auto [divisor, remainder, decimals, after_point] = std::array{list[1], list[2], list[3], list[4]};
      if (byte == '.' && decimals > 0 && after_point == 0) return make(kMultiple, std::array{divisor, remainder, decimals, 1});
      if (byte < '0' || byte > '9' || (after_point == 1 && decimals == 0)) return kNothing;
      const auto next = static_cast<std::int32_t>((std::int64_t{10} * remainder + byte - '0') % divisor);
      return make(kMultiple, std::array{divisor, next, decimals - after_point, after_point});
    }
    default:
      return kNothing;
  }
}

void Regexes::find_classes(RegexId id, std::array<bool, 257>& begins) const {
  const auto list = nodes_.words(id);
  switch (list[0]) {
    case kSet:
      for (unsigned byte = 1; byte < 256; ++byte)
        begins[byte] = begins[byte] || has(list.subspan(1), byte) != has(list.subspan(1), byte - 1);
      return;
    case kMultiple:
      for (unsigned byte = '.'; byte <= '9' + 1; ++byte) begins[byte] = true;
      return;
    case kConcat:
      find_classes(list[1], begins);
      if (may_end(list[1])) find_classes(list[2], begins);
      return;
    case kRepeat:
      return find_classes(list[1], begins);
    case kEither:
    case kBoth:
    case kNot:
      for (const RegexId child : list.subspan(1)) find_classes(child, begins);
      return;
    default:
      return;
  }
}

void Regexes::make_row(RegexId id) {
  std::array<bool, 257> begins{};
  begins[0] = true;
  find_classes(id, begins);
  std::vector<RegexId> nexts;  // of each class
  Map map{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (begins[byte]) {
      const RegexId next = derive(id, static_cast<std::uint8_t>(byte));
      const auto found = std::find(nexts.begin(), nexts.end(), next);
      map[byte] = static_cast<std::uint8_t>(found - nexts.begin());
      if (found == nexts.end()) nexts.push_back(next);
    } else {
      map[byte] = map[byte - 1];
    }
  }
  std::array<std::int32_t, 256> wide{};
  std::copy(map.begin(), map.end(), wide.begin());
  Facts& facts = facts_[static_cast<std::size_t>(id)];
  facts.map = map_ids_.id(wide);
  if (static_cast<std::size_t>(facts.map) == maps_.size()) maps_.push_back(map);
  facts.row = static_cast<std::int32_t>(nexts_.size());
  nexts_.insert(nexts_.end(), nexts.begin(), nexts.end());
}

RegexId Regexes::first_after(RegexId id, std::uint8_t byte) {
  if (facts_[static_cast<std::size_t>(id)].row < 0) make_row(id);
  const auto row = static_cast<std::size_t>(facts_[static_cast<std::size_t>(id)].row);
  // What cannot be completed is nothing.
  const Map& map = maps_[static_cast<std::size_t>(facts_[static_cast<std::size_t>(id)].map)];
  for (std::size_t i = row, end = row + 1 + *std::max_element(map.begin(), map.end()); i < end; ++i) {
    if (!is_possible(nexts_[i])) nexts_[i] = kNothing;
  }
  facts_[static_cast<std::size_t>(id)].is_pruned = true;
  return after(id, byte);
}

RegexId Regexes::after(RegexId id, std::string_view bytes) {
  for (const char byte : bytes) id = after(id, static_cast<std::uint8_t>(byte));
  return id;
}

RegexId Regexes::clipped(RegexId id, std::int32_t most) {
  if (!facts_[static_cast<std::size_t>(id)].is_plain) return id;
  const auto list = words(id);
  if (list[0] == kConcat) return concat(clipped(list[1], most), clipped(list[2], most));
  if (list[0] == kRepeat) {
    const bool is_open = list[3] == kNoLimit || list[3] > most + 1;
    return repeat(clipped(list[1], most), std::min(list[2], most + 1), is_open ? kNoLimit : list[3]);
  }
  if (list[0] != kEither) return id;
  std::vector<RegexId> parts;
  for (std::size_t i = 1; i < list.size(); ++i) parts.push_back(clipped(list[i], most));
  return either(std::move(parts));
}

// Counts the ways to each expression, by the length of the text: different ways are different texts.
bool Regexes::has_texts(RegexId id, std::int32_t count) {
  if (count <= 1) return is_possible(id);
  std::vector<std::int32_t> level{id}, ways{1};
  for (std::int32_t found = 0; !level.empty();) {
    std::vector<std::int32_t> longer, longer_ways;
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (may_end(level[i])) found += ways[i];
      if (found >= count) return true;
      for (int byte = 0; byte < 256; ++byte) {
        const RegexId next = after(level[i], static_cast<std::uint8_t>(byte));
        if (next == kNothing) continue;
        const auto at = static_cast<std::size_t>(std::find(longer.begin(), longer.end(), next) - longer.begin());
        if (at == longer.size()) {
          longer.push_back(next);
          longer_ways.push_back(0);
        }
        longer_ways[at] = std::min(longer_ways[at] + ways[i], count);
      }
    }
    level = std::move(longer);
    ways = std::move(longer_ways);
  }
  return false;
}

// A search for a text that ends. Every expression on the way to one is possible; if there is none, all that were seen are not.
bool Regexes::is_possible(RegexId id) {
  const auto known = [&](RegexId each) {
    const Facts& facts = facts_[static_cast<std::size_t>(each)];
    if (facts.is_plain) return each == kNothing ? Facts::kNo : Facts::kYes;
    return facts.may_end ? Facts::kYes : facts.possible;
  };
  if (known(id) != Facts::kUnknown) return known(id) == Facts::kYes;
  struct Entry {
    RegexId id;
    std::int32_t next;  // of its row
  };
  std::vector<Entry> path{{id, 0}};
  std::vector<RegexId> seen;
  const auto leave = [&](bool found) {
    for (const RegexId each : seen) facts_[static_cast<std::size_t>(each)].possible = found ? Facts::kUnknown : Facts::kNo;
    if (found)
      for (const Entry& each : path) facts_[static_cast<std::size_t>(each.id)].possible = Facts::kYes;
    return found;
  };
  const auto enter = [&](RegexId each) {
    facts_[static_cast<std::size_t>(each)].possible = Facts::kNo;  // it is on the way, or was left without a result
    seen.push_back(each);
    if (facts_[static_cast<std::size_t>(each)].row < 0) make_row(each);
  };
  enter(id);
  while (!path.empty()) {
    Entry& top = path.back();
    const Facts& facts = facts_[static_cast<std::size_t>(top.id)];
    const Map& map = maps_[static_cast<std::size_t>(facts.map)];
    const std::int32_t count = 1 + *std::max_element(map.begin(), map.end());
    if (top.next == count) {
      path.pop_back();
      continue;
    }
    const RegexId next = nexts_[static_cast<std::size_t>(facts.row + top.next++)];
    const auto answer = known(next);
    if (answer == Facts::kYes) return leave(true);
    if (answer == Facts::kNo) continue;
    if (seen.size() >= kMostSearched) {
      gave_up_ = true;
      return leave(false);
    }
    enter(next);
    path.push_back({next, 0});
  }
  return leave(false);
}

}  // namespace wattn
