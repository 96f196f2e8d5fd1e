// Encoding: the tokens of one text or one pair. One entry per token in every vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wattn {

// A range of the original text in UTF-16 units, end exclusive: text.slice(begin, end) in JS.
struct TextSpan {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

struct Encoding {
  std::vector<std::int32_t> ids;                  // [tokens]
  std::vector<std::int32_t> type_ids;             // [tokens] token_type_ids: 0 or 1 for BERT
  std::vector<TextSpan> offsets;                  // [tokens] {0, 0} for added special tokens
  std::vector<std::uint8_t> special_tokens_mask;  // [tokens] 1 for tokens added by the post-processor
  std::vector<std::int32_t> word_ids;             // [tokens] index of the pre-token, -1 for added special tokens
  std::vector<std::int32_t> sequence_ids;         // [tokens] 0 first text, 1 second text, -1 added special tokens
  std::vector<std::string> tokens;                // [tokens] their strings, if requested
  std::int32_t num_tokens_untruncated = 0;        // tokens without truncation, including special tokens
  float unknown = 0;                              // share of the untruncated text's tokens that are the unknown token
  std::vector<Encoding> overflowing;              // further windows, if requested

  std::size_t size() const { return ids.size(); }
  void reserve(std::size_t size) {
    ids.reserve(size);
    type_ids.reserve(size);
    offsets.reserve(size);
    special_tokens_mask.reserve(size);
    word_ids.reserve(size);
    sequence_ids.reserve(size);
  }
  bool truncated() const { return num_tokens_untruncated > static_cast<std::int32_t>(ids.size()); }
};

}  // namespace wattn
