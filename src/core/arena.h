// Arena: one block of memory, given out from front to back, all taken back at once. Blocks start on 64-byte lines and
// are zero when the arena is made. A measuring arena gives out nothing and counts, so that one function both sizes and
// carves a layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace wattn {

class Arena {
 public:
  Arena() = default;  // measuring

  // what: for the message of an OutOfMemoryError.
  static Result<Arena> with_bytes(std::size_t bytes, std::string_view what);

  // Room for count elements of T; null while measuring. The caller never takes more than it measured.
  template <class T>
  T* take(std::int64_t count) {
    const std::size_t begin = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    assert(!block_ || used_ <= bytes_);
    return block_ ? reinterpret_cast<T*>(block_.get() + begin) : nullptr;
  }

  void reset() { used_ = 0; }
  std::size_t used() const { return used_; }
  std::size_t bytes() const { return bytes_; }
  bool measuring() const { return !block_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };

  std::unique_ptr<std::byte, Free> block_;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
};

}  // namespace wattn
