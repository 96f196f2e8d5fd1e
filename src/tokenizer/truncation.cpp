// build: -Oz
#include "tokenizer/truncation.h"

#include <algorithm>
#include <string>

namespace wattn {
namespace {

struct Room {
  std::size_t first;
  std::size_t second;
};

// longest_first: the shorter text keeps all its tokens as long as the truncated other one is at least as long. Otherwise each gets
// half, and the longer text gets the odd token.
Room share_room(std::size_t num_first, std::size_t num_second, std::size_t room) {
  const std::size_t shorter = std::min(num_first, num_second);
  std::size_t small = shorter;
  std::size_t large = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (small + large > room) {
    small = room / 2;
    large = small + room % 2;
  }
  return num_first > num_second ? Room{large, small} : Room{small, large};
}

Result<Room> room_for_each(std::size_t num_first, std::optional<std::size_t> num_second, std::size_t room,
                           TruncationStrategy strategy) {
  const std::size_t second = num_second.value_or(0);
  const std::size_t total = num_first + second;
  if (total <= room) return Room{num_first, second};
  if (room == 0) return Room{0, 0};  // whatever the strategy is, as in the reference
  const std::size_t excess = total - room;
  if (strategy == TruncationStrategy::kLongestFirst) {
    return num_second ? share_room(num_first, second, room) : Room{room, 0};
  }
  const bool only_first = strategy == TruncationStrategy::kOnlyFirst;
  if (!only_first && !num_second) return input_error("truncation only_second: there is no second text");
  const std::size_t target = only_first ? num_first : second;
  if (target <= excess) {
    return input_error(std::string("truncation ") + (only_first ? "only_first" : "only_second") + ": " + std::to_string(excess) +
                       " tokens must be removed, but that text has only " + std::to_string(target));
  }
  return only_first ? Room{num_first - excess, second} : Room{num_first, second - excess};
}

Result<std::vector<TokenWindow>> windows_of(std::size_t num_tokens, std::size_t room, const EncodeOptions& options) {
  if (num_tokens <= room) return std::vector<TokenWindow>{{0, num_tokens}};
  const bool left = options.truncation_side == Side::kLeft;
  if (!options.return_overflowing) {
    return std::vector<TokenWindow>{left ? TokenWindow{num_tokens - room, num_tokens} : TokenWindow{0, room}};
  }
  const std::size_t overlap = static_cast<std::size_t>(options.overlap);
  if (overlap >= room) {
    return input_error("overlap " + std::to_string(overlap) + ": expected less than the " + std::to_string(room) +
                       " tokens that fit of this text");
  }
  std::vector<TokenWindow> windows;
  for (std::size_t moved = 0;; moved += room - overlap) {
    const TokenWindow window = left ? TokenWindow{num_tokens - std::min(num_tokens, moved + room), num_tokens - moved}
                                    : TokenWindow{moved, std::min(num_tokens, moved + room)};
    windows.push_back(window);
    if (left ? window.begin == 0 : window.end == num_tokens) return windows;
  }
}

}  // namespace

Result<TruncationPlan> plan_truncation(std::size_t num_first, std::optional<std::size_t> num_second, std::size_t num_special,
                                       const EncodeOptions& options) {
  Room room{num_first, num_second.value_or(0)};
  if (options.max_length) {
    if (*options.max_length < 0 || static_cast<std::size_t>(*options.max_length) < num_special) {
      return input_error("max_length " + std::to_string(*options.max_length) + ": expected at least " +
                         std::to_string(num_special) + ", the number of special tokens");
    }
    const std::size_t for_text = static_cast<std::size_t>(*options.max_length) - num_special;
    if (options.overlap < 0 || (options.return_overflowing && static_cast<std::size_t>(options.overlap) >= for_text)) {
      return input_error("overlap " + std::to_string(options.overlap) + ": expected at least 0, and less than the " +
                         std::to_string(for_text) + " tokens that fit");
    }
    const Result<Room> shared = room_for_each(num_first, num_second, for_text, options.strategy);
    if (!shared.ok()) return shared.error();
    room = shared.value();
  }
  Result<std::vector<TokenWindow>> first = windows_of(num_first, room.first, options);
  if (!first.ok()) return first.error();
  Result<std::vector<TokenWindow>> second = windows_of(num_second.value_or(0), room.second, options);
  if (!second.ok()) return second.error();
  return TruncationPlan{std::move(first).value(), std::move(second).value()};
}

}  // namespace wattn
