// Truncation: how much of each text remains if both and the special tokens must fit a limit, and how the rest is windowed.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/result.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

// Tokens [begin, end) of one text.
struct TokenWindow {
  std::size_t begin;
  std::size_t end;
};

// The first window of each list remains, the others are the overflow in Python's order.
struct TruncationPlan {
  std::vector<TokenWindow> first;   // at least one window
  std::vector<TokenWindow> second;  // one empty window when there is no second text
};

// num_first, num_second: tokens of the texts (num_second none: not a pair); num_special: tokens that will be added.
Result<TruncationPlan> plan_truncation(std::size_t num_first, std::optional<std::size_t> num_second, std::size_t num_special,
                                       const EncodeOptions& options);

}  // namespace wattn
