// Arena: one block of memory, handed out from front to back and released all at once. Allocations are aligned to 64 bytes. A
// measuring arena only counts, so that the same function can measure a layout and allocate it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace wattn {

struct ArenaFree {
  bool owned = true;
  void operator()(std::byte* block) const {
    if (owned) std::free(block);
  }
};

class Arena {
 public:
  Arena() = default;  // measuring

  // The contents are not initialised: systems commit memory when it is first touched, and most of this may never be. what: names
  // the arena in the message of an OutOfMemoryError.
  static Result<Arena> with_bytes(std::uint64_t bytes, std::string_view what);
  // The same, zero-initialised.
  static Result<Arena> with_zeros(std::uint64_t bytes, std::string_view what);

  // Whether this much memory is available, for vectors that are allocated next: a vector that cannot get its memory ends the
  // program. bytes is a double, so a product that exceeds 64 bits can be passed as it is.
  static Result<void> fits(double bytes, std::string_view what);

  // An arena inside memory that someone else owns, aligned to 64 bytes.
  static Arena inside(std::byte* block, std::uint64_t bytes);

  // Memory for count elements of T; null while measuring. The caller never takes more than it measured.
  template <class T>
  T* take(std::int64_t count) {
    return reinterpret_cast<T*>(take_bytes(static_cast<std::uint64_t>(count) * sizeof(T)));
  }

  // Everything taken so far; empty while measuring.
  std::span<std::byte> taken() const { return {block_.get(), block_ ? static_cast<std::size_t>(used_) : 0}; }

  void reset() { used_ = 0; }
  // Releases everything taken since used() had this value.
  void rewind(std::uint64_t used) { used_ = used; }
  std::uint64_t used() const { return used_; }
  std::uint64_t bytes() const { return bytes_; }
  bool measuring() const { return !block_; }

 private:
  std::byte* take_bytes(std::uint64_t bytes);

  std::unique_ptr<std::byte, ArenaFree> block_;
  std::uint64_t bytes_ = 0;  // 64 bits on wasm32 too: a measured size may exceed the address space
  std::uint64_t used_ = 0;
};

}  // namespace wattn
