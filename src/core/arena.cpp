// build: -Oz
#include "core/arena.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace wattn {
namespace {

constexpr std::uint64_t kAlignment = 64;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Result<Arena> Arena::with_bytes(std::uint64_t bytes, std::string_view what) {
  constexpr std::uint64_t kLargest = std::min<std::uint64_t>(SIZE_MAX - 2 * kAlignment, std::uint64_t{1} << 36);
  Arena arena;
  arena.bytes_ = aligned(bytes) + kAlignment;  // never empty
  if (bytes <= kLargest) {
    arena.block_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(arena.bytes_))));
  }
  if (!arena.block_) {
    return out_of_memory_error(std::string(what) + ": needs " + std::to_string(arena.bytes_) + " bytes, which are not available");
  }
#ifndef NDEBUG
  std::memset(arena.block_.get(), 0xFF, static_cast<std::size_t>(arena.bytes_));  // NaN as floats, which no result may contain
#endif
  return arena;
}

Result<Arena> Arena::with_zeros(std::uint64_t bytes, std::string_view what) {
  auto arena = with_bytes(bytes, what);
  if (arena.ok()) std::memset(arena.value().block_.get(), 0, static_cast<std::size_t>(arena.value().bytes_));
  return arena;
}

Result<void> Arena::fits(double bytes, std::string_view what) {
  constexpr double kTooMuch = 1e18;
  const auto room = with_bytes(static_cast<std::uint64_t>(std::min(bytes, kTooMuch)), what);
  return room.ok() ? Result<void>() : room.error();
}

Arena Arena::inside(std::byte* block, std::uint64_t bytes) {
  Arena arena;
  arena.block_ = {block, ArenaFree{.owned = false}};
  arena.bytes_ = bytes;
  return arena;
}

std::byte* Arena::take_bytes(std::uint64_t bytes) {
  const std::uint64_t begin = used_;
  used_ += aligned(bytes);
  assert(!block_ || used_ <= bytes_);
  return block_ ? block_.get() + begin : nullptr;
}

}  // namespace wattn
