// Rows of vectors in memory of the caller, and the nearest of them to a query by dot product. Rows are in blocks of a fixed number,
// so that the memory grows at its end and no row ever moves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wattn {

enum class RowPrecision : std::uint8_t {
  kFloat32,
  kInt8,    // a scale for each row (kernels/scan.h). All rows are compared with the query in 16 bits, the best again with it in
            // floats.
  kBinary,  // int8, and the signs: all rows are compared by them, the best again as with int8
};

struct RankedRow {
  float score;
  std::int32_t row;
};

// Components of larger magnitude could sum to infinity.
inline constexpr float kLargestComponent = 1e15f;
inline constexpr std::int64_t kMostDims = 65536;

class VectorRows {
 public:
  constexpr VectorRows() = default;
  // dim: 1 to kMostDims. memory: where the blocks begin, a multiple of 16. The caller makes room for the rows it writes.
  VectorRows(RowPrecision precision, std::int64_t dim, std::byte* memory);

  std::int64_t block_rows() const { return block_rows_; }
  std::int64_t block_bytes() const { return block_bytes_; }
  // A row in its stored form, little endian: dim floats, or the scale as a float and dim int8.
  std::int64_t stored_bytes() const { return precision_ == RowPrecision::kFloat32 ? 4 * dim_ : 4 + dim_; }

  // Writes n rows from row `at` on: vectors [n, dim], or rows in the stored form. false: a component or a scale is no number or of
  // a magnitude above kLargestComponent, or a scale is negative.
  bool put(std::int64_t at, const float* vectors, std::int64_t n);
  bool put_stored(std::int64_t at, const std::byte* stored, std::int64_t n);
  void get_stored(std::int64_t at, std::byte* stored, std::int64_t n) const;
  void copy(std::int64_t to, std::int64_t from);

  // Bytes of a query: [dim] floats by the caller, and room for its other forms. A multiple of 16.
  std::int64_t query_bytes() const { return query_bytes_; }
  // How many rows of `count` search() keeps to find the best k.
  std::int64_t num_candidates(std::int64_t count, std::int64_t k) const;
  // The k best of the rows [0, count), best first; equal scores keep the order of rows. allowed: [count], 0 for rows to leave out,
  // or null. ranked: [num_candidates], begins with the answer. Returns its length. k is at most count.
  std::int64_t search(std::byte* query, std::int64_t count, std::int64_t k, const std::uint8_t* allowed, RankedRow* ranked) const;
  // The scores that search() gives those rows, [n].
  void scores(std::byte* query, const std::int32_t* rows, std::int64_t n, float* out) const;

 private:
  // A block: scales [block_rows], rows [block_rows, depth] of floats or bytes, signs [block_rows, sign_bytes]. float32 has only
  // rows.
  struct Block {
    float* scales;
    std::byte* rows;
    std::uint8_t* signs;
  };
  Block block(std::int64_t index) const;
  // The parts of a block for one row of it.
  Block at(std::int64_t row) const;
  // The sums of n rows of a block, from its row `first` on, in the form that all rows are compared in.
  void scan(const std::byte* query, const Block& block, std::int64_t first, std::int64_t n, float* out) const;
  float score(const float* query, std::int64_t row) const;
  // Fills the padding of a query, and writes its other forms.
  void prepare(std::byte* query) const;
  void finish_row(const Block& row) const;

  RowPrecision precision_ = RowPrecision::kFloat32;
  std::int64_t dim_ = 0, depth_ = 0;  // depth: dim with padding
  std::int64_t row_bytes_ = 0, sign_bytes_ = 0, query_bytes_ = 0;
  std::int64_t block_rows_ = 0, block_bytes_ = 0;
  std::byte* memory_ = nullptr;
};

}  // namespace wattn
