// Batch: sequences packed end to end, without padding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace wattn {

struct Batch {
  std::vector<std::int32_t> input_ids;       // [tokens]
  std::vector<std::int32_t> token_type_ids;  // [tokens]
  std::vector<std::int32_t> position_ids;    // [tokens] consecutive in each sequence, from 0 or from the length of its slot
  std::vector<std::int32_t> seq_start{0};    // [batch + 1]
  std::vector<std::int32_t> slots;           // [batch] of the cache, which the sequences extend; empty: no cache
  std::vector<std::int32_t> sources;         // [batch] slots of the cross keys and values; empty without cross attention
  std::vector<std::int32_t> key_start;       // [batch + 1] the tokens with keys and values, if not all have; without a cache

  std::int64_t tokens() const { return seq_start.back(); }
  std::int64_t batch() const { return static_cast<std::int64_t>(seq_start.size()) - 1; }
  std::int64_t length(std::int64_t i) const { return seq_start[i + 1] - seq_start[i]; }
  std::int64_t longest() const {
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < batch(); ++i) most = std::max(most, length(i));
    return most;
  }

  void add_sequence(std::span<const std::int32_t> ids, std::span<const std::int32_t> type_ids) {
    token_type_ids.insert(token_type_ids.end(), type_ids.begin(), type_ids.end());
    add_ids(ids, 0);
  }
  // Tokens of a slot from position on.
  void add_to_slot(std::int32_t slot, std::int32_t position, std::span<const std::int32_t> ids) {
    slots.push_back(slot);
    add_ids(ids, position);
  }
  void clear() {
    for (auto* list : {&input_ids, &token_type_ids, &position_ids, &slots, &sources, &key_start}) list->clear();
    seq_start.resize(1);
  }

 private:
  void add_ids(std::span<const std::int32_t> ids, std::int32_t position) {
    input_ids.insert(input_ids.end(), ids.begin(), ids.end());
    for (std::size_t i = 0; i < ids.size(); ++i) position_ids.push_back(position++);
    seq_start.push_back(static_cast<std::int32_t>(input_ids.size()));
  }
};

// visit(token, row): the row of a token's position in a table of positions after padding. It is padding for that token,
// and padding + i for the i-th other token of its sequence, from 1.
template <class Visit>
void each_position_after_padding(const Batch& batch, std::int32_t padding, const Visit& visit) {
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    std::int32_t last = padding;
    for (std::int32_t token = batch.seq_start[i]; token < batch.seq_start[i + 1]; ++token) {
      visit(token, batch.input_ids[token] == padding ? padding : ++last);
    }
  }
}

}  // namespace wattn
