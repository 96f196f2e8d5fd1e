// RowTable: some rows of a large table. A row is zero-initialised and takes memory only once it was added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.h"

namespace wattn {

class RowTable {
 public:
  RowTable() = default;  // has no rows
  RowTable(std::int64_t rows, std::int64_t width) : width_(width), places_(static_cast<std::size_t>(rows), -1) {}

  // Adds the rows that are missing. After an OutOfMemoryError the earlier rows are still there.
  Result<void> add(std::span<const std::int32_t> rows) {
    for (const std::int32_t row : rows) {
      std::int32_t& place = places_[static_cast<std::size_t>(row)];
      if (place >= 0) continue;
      if (ids_.size() == blocks_.size() * kBlock) {
        auto block = Arena::with_bytes(block_bytes(), "rows of a table");
        if (!block.ok()) return block.error();
        float* first = block.value().take<float>(static_cast<std::int64_t>(kBlock) * width_);
        blocks_.push_back({std::move(block).value(), first});
      }
      place = static_cast<std::int32_t>(ids_.size());
      ids_.push_back(row);
      std::fill_n(find(row), width_, 0.0f);
    }
    return {};
  }
  // A row, [width]; null if it was not added.
  float* find(std::int32_t row) const {
    const std::int32_t place = places_[static_cast<std::size_t>(row)];
    if (place < 0) return nullptr;
    const auto at = static_cast<std::size_t>(place);
    return blocks_[at / kBlock].rows + static_cast<std::int64_t>(at % kBlock) * width_;
  }
  // In the order in which they were added.
  std::span<const std::int32_t> ids() const { return ids_; }
  // Removes all rows but keeps their memory for new ones.
  void clear() {
    for (const std::int32_t id : ids_) places_[static_cast<std::size_t>(id)] = -1;
    ids_.clear();
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(places_.size()); }
  std::int64_t width() const { return width_; }
  // The memory of a table with this many added rows.
  std::uint64_t bytes_of(std::int64_t rows) const {
    const auto blocks = (static_cast<std::uint64_t>(std::min(rows, this->rows())) + kBlock - 1) / kBlock;
    return blocks * block_bytes() + places_.size() * sizeof(std::int32_t);
  }

 private:
  static constexpr std::size_t kBlock = 64;  // rows
  struct Block {
    Arena memory;
    float* rows;  // [kBlock, width]
  };

  std::uint64_t block_bytes() const { return kBlock * static_cast<std::uint64_t>(width_) * sizeof(float); }

  std::int64_t width_ = 0;
  std::vector<std::int32_t> places_;  // [rows] in the order of ids_, or -1
  std::vector<std::int32_t> ids_;
  std::vector<Block> blocks_;
};

}  // namespace wattn
