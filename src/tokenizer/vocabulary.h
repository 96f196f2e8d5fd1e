// The vocabulary of a model: token to id and back. Open addressing over one buffer of strings. Ids come from a file, so they are
// checked to be unique, and dense enough for a table by id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

class Vocabulary {
 public:
  using Hash = std::uint64_t;
  // FNV-1a, byte by byte, so that one pass hashes all prefixes of a word.
  static constexpr Hash kEmptyHash = 0xCBF29CE484222325;
  static constexpr Hash extend(Hash hash, char byte) { return (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3; }
  static Hash hash_of(std::string_view text, Hash from = kEmptyHash) {
    for (const char byte : text) from = extend(from, byte);
    return from;
  }

  // json: an object of token to id. Negative, repeated or sparse ids, or anything other than ids, are a ModelFormatError.
  static Result<Vocabulary> from_json(JsonRef json);
  // Tokens in the order of their ids; find() returns the last of equal ones.
  static Result<Vocabulary> from_list(const std::vector<std::string_view>& tokens);

  std::int32_t num_tokens() const { return num_tokens_; }
  std::int32_t num_ids() const { return static_cast<std::int32_t>(begins_.size()) - 1; }  // 1 + the largest id
  std::size_t longest_token() const { return longest_token_; }                            // bytes

  static constexpr std::int32_t kAbsent = -1;
  // The id of the token prefix + rest, or kAbsent. hash: of both together.
  std::int32_t find(Hash hash, std::string_view prefix, std::string_view rest) const {
    for (std::size_t slot = slot_of(hash);; slot = (slot + 1) & mask_) {
      const Slot& candidate = slots_[slot];
      if (candidate.id == kAbsent) return kAbsent;
      if (candidate.tag == tag_of(hash) && equals(candidate.id, prefix, rest)) return candidate.id;
    }
  }
  std::int32_t find(std::string_view token) const { return find(hash_of(token), {}, token); }

  // The token of an id; nothing if no token has it.
  std::optional<std::string_view> token(std::int32_t id) const;

 private:
  struct Slot {
    std::uint32_t tag = 0;  // the half of the hash that does not determine the slot
    std::int32_t id = kAbsent;
  };

  static std::uint32_t tag_of(Hash hash) { return static_cast<std::uint32_t>(hash >> 32); }
  std::size_t slot_of(Hash hash) const { return static_cast<std::size_t>(hash ^ (hash >> 20)) & mask_; }
  std::string_view bytes_of(std::int32_t id) const {
    const std::size_t begin = begins_[static_cast<std::size_t>(id)];
    return std::string_view(bytes_).substr(begin, begins_[static_cast<std::size_t>(id) + 1] - begin);
  }
  bool equals(std::int32_t id, std::string_view prefix, std::string_view rest) const {
    const std::string_view token = bytes_of(id);
    if (token.size() != prefix.size() + rest.size()) return false;
    const char* byte = token.data();  // tokens have only a few bytes: a loop is faster than two calls
    for (const std::string_view part : {prefix, rest}) {
      for (const char expected : part) {
        if (*byte++ != expected) return false;
      }
    }
    return true;
  }
  // tokens: [num_ids]; those without data() are gaps.
  static Vocabulary from_tokens(const std::vector<std::string_view>& tokens, std::size_t num_bytes);
  void insert(std::int32_t id);

  std::string bytes_;                  // all tokens, in the order of their ids
  std::vector<std::uint32_t> begins_;  // [num_ids + 1] where each token begins in bytes_
  std::vector<Slot> slots_;            // a power of two, at most half full
  std::size_t mask_ = 0;
  std::int32_t num_tokens_ = 0;
  std::size_t longest_token_ = 0;
};

}  // namespace wattn
