// A cache of ids, for words of up to 31 bytes: two of byte_cache.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tokenizer/models/byte_cache.h"

namespace wattn {

class WordIds {
  using Short = ByteCache<2, 14>;  // 1 MB
  using Long = ByteCache<4, 13>;   // 1 MB

 public:
  static constexpr std::size_t kBytesRead = Long::kBytesRead;  // of each word, whatever its size is
  static constexpr std::size_t kRoom = Long::kMostIds + 1;     // of what get() writes

  static constexpr std::size_t kAbsent = SIZE_MAX;

  // Writes a word's ids and returns their number, or kAbsent. mark: see ByteCache.
  std::size_t get(const char* word, std::size_t size, unsigned mark, std::int32_t* out) const {
    if (size <= Short::kMostBytes) {
      const std::size_t count = short_.get(Short::key_of(word, size, mark), out);
      if (count != Short::kMany) return count == kNoIds ? 0 : count - 1 < Short::kMostIds ? count : kAbsent;
    }
    const std::size_t count = size <= Long::kMostBytes ? long_.get(Long::key_of(word, size, mark), out) : 0;
    return count == 0 ? kAbsent : count;
  }

  void put(const char* word, std::size_t size, unsigned mark, const std::int32_t* ids, std::size_t count) {
    if (size <= Short::kMostBytes) {
      short_.put(Short::key_of(word, size, mark), ids, count == 0 ? kNoIds : std::min(count, Short::kMany));
      if (count < Short::kMany) return;
    }
    if (size <= Long::kMostBytes && count - 1 < Long::kMostIds) long_.put(Long::key_of(word, size, mark), ids, count);
  }

 private:
  static constexpr std::size_t kNoIds = Short::kMany + 1;  // what Short has for a word without ids

  Short short_;
  Long long_;  // and short words of many tokens
};

}  // namespace wattn
