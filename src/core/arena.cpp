#include "core/arena.h"

#include <cstring>

namespace wattn {

Result<Arena> Arena::with_bytes(std::size_t bytes, std::string_view what) {
  Arena arena;
  arena.bytes_ = (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;  // never empty
  arena.block_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, arena.bytes_)));
  if (!arena.block_) {
    return out_of_memory_error(std::string(what) + ": needs " + std::to_string(arena.bytes_) + " bytes, which are not to be had");
  }
  std::memset(arena.block_.get(), 0, arena.bytes_);
  return arena;
}

}  // namespace wattn
