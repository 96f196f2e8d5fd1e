// build: -Os
#include "tokenizer/pre_tokenizers/delimiter.h"

#include <algorithm>
#include <string>

namespace wattn {
namespace {

struct BehaviorName {
  std::string_view name;
  DelimiterBehavior behavior;
};

constexpr BehaviorName kBehaviorNames[] = {
    {"Removed", DelimiterBehavior::kRemoved},
    {"Isolated", DelimiterBehavior::kIsolated},
    {"MergedWithPrevious", DelimiterBehavior::kMergedWithPrevious},
    {"MergedWithNext", DelimiterBehavior::kMergedWithNext},
    {"Contiguous", DelimiterBehavior::kContiguous},
};

}  // namespace

Result<DelimiterBehavior> read_delimiter_behavior(JsonRef json) {
  const Result<std::string_view> name = json.as_string();
  if (!name.ok()) return name.error();
  for (const BehaviorName& known : kBehaviorNames) {
    if (known.name == name.value()) return known.behavior;
  }
  return unsupported_error(json.where() + ": unknown behavior \"" + std::string(name.value()) + "\"");
}

void apply_delimiters(const std::vector<DelimiterMatch>& matches, DelimiterBehavior behavior, std::vector<Split>& out) {
  const std::size_t out_begin = out.size();
  bool joins = false;  // whether this match extends the last split
  bool previous = false;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const DelimiterMatch& match = matches[i];
    switch (behavior) {
      case DelimiterBehavior::kRemoved:
        if (!match.is_delimiter) out.push_back({match.begin, match.end});
        continue;
      case DelimiterBehavior::kIsolated:
        joins = false;
        break;
      case DelimiterBehavior::kContiguous:
        joins = match.is_delimiter == previous;
        break;
      case DelimiterBehavior::kMergedWithPrevious:
        joins = match.is_delimiter && !previous;
        break;
      case DelimiterBehavior::kMergedWithNext:  // only the last delimiter before other text joins it
        joins = !match.is_delimiter && previous;
        break;
    }
    previous = match.is_delimiter;
    if (joins && out.size() > out_begin) {
      out.back().end = match.end;
    } else {
      out.push_back({match.begin, match.end});
    }
  }
  const auto is_empty = [](const Split& split) { return split.begin == split.end; };  // from regexes that match the empty text
  out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(out_begin), out.end(), is_empty), out.end());
}

}  // namespace wattn
