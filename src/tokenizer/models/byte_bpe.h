// BPE over the bytes of a word, for byte-level tokenizers whose vocabulary has every byte: the same tokens as Bpe's, from UTF-8.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/models/byte_cache.h"
#include "tokenizer/models/merges.h"
#include "tokenizer/vocabulary.h"

namespace wattn {

// Where merges may join what is before with what is after.
class Joins {
 public:
  // A merge of two tokens' bytes.
  void add(std::string_view left, std::string_view right);
  // Between word[at - 1] and word[at]; false is sure.
  bool may_be(const char* word, std::size_t at, std::size_t size) const {
    const std::size_t pair = pair_of(word[at - 1], word[at]);
    if (pairs_[pair >> 6] >> (pair & 63) & 1) return true;
    if (!begins_char(word[at]) || at < 3 || size - at < 3) return false;
    const std::size_t bit = bit_of({word + at - 3, 3}, {word + at, 3});
    return (chars_[bit >> 6] >> (bit & 63) & 1) != 0;
  }

 private:
  static bool begins_char(char c) { return static_cast<unsigned char>(c) >= 0xC2; }
  static std::size_t pair_of(char left, char right) {
    return std::size_t{static_cast<unsigned char>(left)} << 8 | static_cast<unsigned char>(right);
  }
  static std::size_t bit_of(std::string_view left, std::string_view right);

  // Before a character beyond ASCII, a merge of tokens of three bytes or more is told by three bytes on either side, most often two
  // whole characters. All other merges are told by one byte.
  static constexpr int kBits = 19;
  std::array<std::uint64_t, (1 << 16) / 64> pairs_{};
  std::vector<std::uint64_t> chars_ = std::vector<std::uint64_t>((1 << kBits) / 64);
};

// The tokens of at most 15 bytes by their bytes: one look at memory tells whether a new word is a token.
class ShortTokens {
 public:
  using Key = ByteCache<2, 13>::Key;

  void reserve(std::size_t count);
  // The last of equal ones counts.
  void add(const Key& key, std::int32_t id);
  // The id, or Vocabulary::kAbsent.
  std::int32_t find(const Key& key) const {
    for (std::size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      const Slot& found = slots_[slot];
      if (((found.key[0] ^ key[0]) | (found.key[1] ^ key[1])) == 0) return found.id;
      if (found.key[1] == 0) return Vocabulary::kAbsent;
    }
  }

 private:
  struct Slot {
    Key key{};  // all zero: free
    std::int32_t id = Vocabulary::kAbsent;
  };
  std::size_t slot_of(const Key& key) const {
    return static_cast<std::size_t>(((key[0] * 0x9E3779B97F4A7C15) ^ key[1]) * 0x9E3779B97F4A7C15 >> 32) & mask_;
  }

  std::vector<Slot> slots_;  // a power of two, at most two thirds full
  std::size_t mask_ = 0;
};

class ByteBpe {
  using ShortestWords = ByteCache<1, 12>;  // 128 kB, which a near memory holds
  using ShortWords = ByteCache<2, 13>;     // 512 kB
  using LongWords = ByteCache<4, 12>;      // 512 kB

 public:
  static constexpr std::size_t kBytesAhead = LongWords::kBytesRead;  // readable after each word
  static constexpr std::size_t kRoom = LongWords::kMostIds + 1;      // of what is written, beyond an id for each byte

  // whole_words: a word in the vocabulary becomes that token, whatever the merges are. The others must outlive it.
  ByteBpe(const Vocabulary& vocabulary, const Merges& merges, bool whole_words);

  bool is_complete() const { return is_complete_; }  // otherwise the vocabulary lacks a byte, and nothing else may be called

  // Writes the ids of a word and returns where they end.
  std::int32_t* tokenize(const char* word, std::size_t size, std::int32_t* out) const {
    if (size > ShortestWords::kMostBytes) {
      return size > ShortWords::kMostBytes ? put_long(word, size, false, out) : put_short(word, size, false, out);
    }
    const ShortestWords::Key key = ShortestWords::key_of(word, size, 0);
    const std::size_t count = shortest_words_.get(key, out);
    if (count - 1 < ShortestWords::kMostIds) return out + count;
    std::int32_t* const end = put_short(word, size, false, out);
    if (end == out + 1) shortest_words_.put(key, out, 1);
    return end;
  }

  // Bytes of a token that tokenize() writes.
  std::uint32_t bytes_of(std::int32_t id) const;

 private:
  std::int32_t* put_short(const char* word, std::size_t size, bool is_part, std::int32_t* out) const {
    const ShortWords::Key key = ShortWords::key_of(word, size, is_part && whole_words_);
    const std::size_t count = short_words_.get(key, out);
    if (count - 1 < ShortWords::kMostIds) return out + count;
    return count == 0 ? put_new(word, size, is_part, out) : put_long(word, size, is_part, out);
  }
  std::int32_t* put_long(const char* word, std::size_t size, bool is_part, std::int32_t* out) const;
  std::int32_t* put_new(const char* word, std::size_t size, bool is_part, std::int32_t* out) const;
  std::int32_t* put_parts(const char* word, std::size_t size, std::int32_t* out) const;
  std::int32_t* merge(const char* word, std::size_t size, std::int32_t* out) const;
  std::int32_t whole(const char* word, std::size_t size) const;
  void read_tokens();

  const Vocabulary& vocabulary_;
  const Merges& merges_;
  bool whole_words_;
  bool is_complete_ = true;
  std::array<std::int32_t, 256> ids_;  // [byte]
  Joins joins_;
  ShortTokens short_tokens_;
  std::vector<Merges::Merge> pairs_;      // [byte][byte]
  mutable ShortestWords shortest_words_;  // of one token
  mutable ShortWords short_words_;
  mutable LongWords long_words_;                    // and short ones of many tokens
  mutable std::vector<BpeSymbol> symbols_;          // scratch
  mutable std::vector<std::uint32_t> token_bytes_;  // [ids] made when first asked for
};

}  // namespace wattn
