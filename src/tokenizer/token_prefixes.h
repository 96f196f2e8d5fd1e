// Whether any token begins with given bytes: a Bloom filter of one bit per hash. A false positive costs a lookup; there are no
// false negatives.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace wattn {

class TokenPrefixes {
 public:
  explicit TokenPrefixes(const Vocabulary& vocabulary) {
    constexpr std::size_t kBitsPerByte = 4;  // of the vocabulary; about one false positive in ten
    std::size_t num_bytes = 0;
    for (std::int32_t id = 0; id < vocabulary.num_ids(); ++id) num_bytes += vocabulary.token(id).value_or("").size();
    words_.assign(std::bit_ceil(num_bytes * kBitsPerByte / 64 + 1), 0);
    for (std::int32_t id = 0; id < vocabulary.num_ids(); ++id) {
      Vocabulary::Hash hash = Vocabulary::kEmptyHash;
      for (const char byte : vocabulary.token(id).value_or("")) {
        hash = Vocabulary::extend(hash, byte);
        words_[word_of(hash)] |= std::uint64_t{1} << bit_of(hash);
      }
    }
  }

  bool may_begin_token(Vocabulary::Hash hash) const { return (words_[word_of(hash)] >> bit_of(hash)) & 1; }

 private:
  std::size_t word_of(Vocabulary::Hash hash) const { return (hash >> 6 ^ hash >> 32) & (words_.size() - 1); }
  static unsigned bit_of(Vocabulary::Hash hash) { return hash & 63; }

  std::vector<std::uint64_t> words_;  // a power of two; has the hashes of all prefixes of tokens
};

}  // namespace wattn
