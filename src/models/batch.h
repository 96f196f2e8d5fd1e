// Batch: sequences packed end to end. No padding exists anywhere below the seam.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wattn {

struct Batch {
  std::vector<std::int32_t> input_ids;       // [tokens]
  std::vector<std::int32_t> token_type_ids;  // [tokens]
  std::vector<std::int32_t> position_ids;    // [tokens] 0, 1, 2, ... in each sequence
  std::vector<std::int32_t> seq_start{0};    // [batch + 1]

  std::int64_t tokens() const { return seq_start.back(); }
  std::int64_t batch() const { return static_cast<std::int64_t>(seq_start.size()) - 1; }

  void add_sequence(std::span<const std::int32_t> ids, std::span<const std::int32_t> type_ids) {
    input_ids.insert(input_ids.end(), ids.begin(), ids.end());
    token_type_ids.insert(token_type_ids.end(), type_ids.begin(), type_ids.end());
    for (std::size_t i = 0; i < ids.size(); ++i) position_ids.push_back(static_cast<std::int32_t>(i));
    seq_start.push_back(static_cast<std::int32_t>(input_ids.size()));
  }
};

}  // namespace wattn
