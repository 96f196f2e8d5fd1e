#include "search/vector_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/scan.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostBlockRows = 4096, kLeastBlockRows = 16;
constexpr std::int64_t kBlockBytes = 1 << 19;
constexpr std::int64_t kTileRows = 256;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

bool is_better(RankedRow a, RankedRow b) { return a.score > b.score || (a.score == b.score && a.row < b.row); }

// The best rows of those offered, in a heap: the worst is the first, and each is no better than its children 2 i + 1 and 2 i + 2.
class BestRows {
 public:
  BestRows(RankedRow* rows, std::int64_t most) : rows_(rows), most_(most) {}

  std::int64_t size() const { return size_; }
  // Whether offer() would do nothing.
  bool has_no_place_for(RankedRow row) const { return size_ == most_ && !is_better(row, rows_[0]); }

  void offer(RankedRow row) {
    if (size_ == most_) return sift_down(0, row, size_);
    std::int64_t i = size_++;
    for (; i > 0 && is_better(rows_[(i - 1) / 2], row); i = (i - 1) / 2) rows_[i] = rows_[(i - 1) / 2];
    rows_[i] = row;
  }

  // The best first, after any change of scores. Ends the heap.
  void sort() {
    for (std::int64_t i = size_ / 2 - 1; i >= 0; --i) sift_down(i, rows_[i], size_);
    for (std::int64_t end = size_ - 1; end > 0; --end) sift_down(0, std::exchange(rows_[end], rows_[0]), end);
  }

 private:
  // Puts row at i or below, in the heap [0, end).
  void sift_down(std::int64_t i, RankedRow row, std::int64_t end) {
    for (std::int64_t child = 2 * i + 1; child < end; child = 2 * i + 1) {
      if (child + 1 < end && is_better(rows_[child], rows_[child + 1])) ++child;
      if (!is_better(row, rows_[child])) break;
      rows_[i] = rows_[child];
      i = child;
    }
    rows_[i] = row;
  }

  RankedRow* rows_;
  std::int64_t most_, size_ = 0;
};

}  // namespace

VectorRows::VectorRows(RowPrecision precision, std::int64_t dim, std::byte* memory)
    : precision_(precision), dim_(dim), depth_(dim), memory_(memory) {
  if (precision == RowPrecision::kFloat32) {
    row_bytes_ = 4 * dim;
    query_bytes_ = round_up(row_bytes_, 16);
  } else {
    depth_ = round_up(dim, kScanStep);
    row_bytes_ = depth_;
    if (precision == RowPrecision::kBinary) sign_bytes_ = round_up(depth_ / 8, kScanStep);
    query_bytes_ = round_up(6 * depth_, 16) + sign_bytes_;  // floats, int16, signs
  }
  const std::int64_t bytes = row_bytes_ + sign_bytes_ + (precision == RowPrecision::kFloat32 ? 0 : 4);
  block_rows_ = kMostBlockRows;
  while (block_rows_ > kLeastBlockRows && block_rows_ * bytes > kBlockBytes) block_rows_ /= 2;
  block_bytes_ = block_rows_ * bytes;
}

VectorRows::Block VectorRows::block(std::int64_t index) const {
  std::byte* begin = memory_ + index * block_bytes_;
  std::byte* rows = begin + (precision_ == RowPrecision::kFloat32 ? 0 : 4 * block_rows_);
  return {reinterpret_cast<float*>(begin), rows, reinterpret_cast<std::uint8_t*>(rows + block_rows_ * row_bytes_)};
}

VectorRows::Block VectorRows::at(std::int64_t row) const {
  const Block whole = block(row / block_rows_);
  const std::int64_t i = row % block_rows_;
  return {whole.scales + i, whole.rows + i * row_bytes_, whole.signs + i * sign_bytes_};
}

void VectorRows::finish_row(const Block& row) const {
  std::fill(row.rows + dim_, row.rows + depth_, std::byte{0});
  if (precision_ != RowPrecision::kBinary) return;
  std::fill(row.signs + depth_ / 8, row.signs + sign_bytes_, std::uint8_t{0});
  sign_bits(reinterpret_cast<const std::int8_t*>(row.rows), depth_, row.signs);
}

bool VectorRows::put(std::int64_t at_row, const float* vectors, std::int64_t n) {
  if (!all_within(vectors, n * dim_, kLargestComponent)) return false;
  for (std::int64_t i = 0; i < n; ++i, vectors += dim_) {
    const Block row = at(at_row + i);
    if (precision_ == RowPrecision::kFloat32) {
      std::memcpy(row.rows, vectors, static_cast<std::size_t>(row_bytes_));
    } else {
      *row.scales = quantize_row_q8(vectors, dim_, reinterpret_cast<std::int8_t*>(row.rows));
      finish_row(row);
    }
  }
  return true;
}

bool VectorRows::put_stored(std::int64_t at_row, const std::byte* stored, std::int64_t n) {
  if (precision_ == RowPrecision::kFloat32) return put(at_row, reinterpret_cast<const float*>(stored), n);
  for (std::int64_t i = 0; i < n; ++i, stored += 4 + dim_) {
    const Block row = at(at_row + i);
    std::memcpy(row.scales, stored, 4);
    if (!all_within(row.scales, 1, kLargestComponent) || *row.scales < 0) return false;
    std::memcpy(row.rows, stored + 4, static_cast<std::size_t>(dim_));
    finish_row(row);
  }
  return true;
}

void VectorRows::get_stored(std::int64_t at_row, std::byte* stored, std::int64_t n) const {
  for (std::int64_t i = 0; i < n; ++i) {
    const Block row = at(at_row + i);
    if (precision_ == RowPrecision::kFloat32) {
      std::memcpy(stored, row.rows, static_cast<std::size_t>(row_bytes_));
    } else {
      std::memcpy(stored, row.scales, 4);
      std::memcpy(stored + 4, row.rows, static_cast<std::size_t>(dim_));
    }
    stored += stored_bytes();
  }
}

void VectorRows::copy(std::int64_t to_row, std::int64_t from_row) {
  const Block to = at(to_row), from = at(from_row);
  std::memcpy(to.rows, from.rows, static_cast<std::size_t>(row_bytes_));
  std::memcpy(to.signs, from.signs, static_cast<std::size_t>(sign_bytes_));
  if (precision_ != RowPrecision::kFloat32) *to.scales = *from.scales;
}

void VectorRows::prepare(std::byte* query) const {
  if (precision_ == RowPrecision::kFloat32) return;
  auto* const floats = reinterpret_cast<float*>(query);
  std::fill(floats + dim_, floats + depth_, 0.0f);
  auto* const steps = reinterpret_cast<std::int16_t*>(query + 4 * depth_);
  if (precision_ == RowPrecision::kInt8) return quantize_query(floats, depth_, largest_query_step(depth_), steps);
  auto* const bytes = reinterpret_cast<std::int8_t*>(steps);
  auto* const signs = reinterpret_cast<std::uint8_t*>(query + query_bytes_ - sign_bytes_);
  quantize_row_q8(floats, depth_, bytes);
  std::fill(signs, signs + sign_bytes_, std::uint8_t{0});
  sign_bits(bytes, depth_, signs);
}

void VectorRows::scan(const std::byte* query, const Block& block, std::int64_t first, std::int64_t n, float* out) const {
  const std::byte* rows = block.rows + first * row_bytes_;
  if (precision_ == RowPrecision::kFloat32) {
    return scan_f32(reinterpret_cast<const float*>(query), reinterpret_cast<const float*>(rows), n, dim_, out);
  }
  std::int32_t sums[kTileRows];
  if (precision_ == RowPrecision::kInt8) {
    scan_q8(reinterpret_cast<const std::int16_t*>(query + 4 * depth_), reinterpret_cast<const std::int8_t*>(rows), n, depth_, sums);
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(sums[i]) * block.scales[first + i];
  } else {
    const auto* signs = reinterpret_cast<const std::uint8_t*>(query + query_bytes_ - sign_bytes_);
    scan_bits(signs, block.signs + first * sign_bytes_, n, sign_bytes_, sums);
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(-sums[i]);
  }
}

std::int64_t VectorRows::num_candidates(std::int64_t count, std::int64_t k) const {
  switch (precision_) {
    case RowPrecision::kFloat32:
      return std::min(count, k);
    case RowPrecision::kInt8:
      return std::min(count, std::max<std::int64_t>(4 * k, 64));
    case RowPrecision::kBinary:
      break;
  }
  // Signs give many rows equal scores, and the more rows there are, the more of them come before one of the best.
  return std::min(count, 16 * k + 480 + count / 250);
}

std::int64_t VectorRows::search(std::byte* query, std::int64_t count, std::int64_t k, const std::uint8_t* allowed,
                                RankedRow* ranked) const {
  prepare(query);
  BestRows best(ranked, num_candidates(count, k));
  float tile[kTileRows];
  for (std::int64_t begin = 0, n; begin < count; begin += n) {
    const std::int64_t first = begin % block_rows_;
    n = std::min({kTileRows, block_rows_ - first, count - begin});
    scan(query, block(begin / block_rows_), first, n, tile);
    for (std::int64_t i = 0; i < n; ++i) {
      const RankedRow row{tile[i], static_cast<std::int32_t>(begin + i)};
      if (best.has_no_place_for(row) || (allowed && allowed[begin + i] == 0)) continue;
      best.offer(row);
    }
  }
  if (precision_ != RowPrecision::kFloat32) {
    for (std::int64_t i = 0; i < best.size(); ++i) ranked[i].score = score(reinterpret_cast<const float*>(query), ranked[i].row);
  }
  best.sort();
  return std::min(k, best.size());
}

float VectorRows::score(const float* query, std::int64_t row) const {
  const Block of = at(row);
  float sum;
  if (precision_ == RowPrecision::kFloat32) {
    scan_f32(query, reinterpret_cast<const float*>(of.rows), 1, dim_, &sum);
    return sum;
  }
  return dot_q8(query, reinterpret_cast<const std::int8_t*>(of.rows), depth_) * *of.scales;
}

void VectorRows::scores(std::byte* query, const std::int32_t* rows, std::int64_t n, float* out) const {
  prepare(query);
  for (std::int64_t i = 0; i < n; ++i) out[i] = score(reinterpret_cast<const float*>(query), rows[i]);
}

}  // namespace wattn
