#include "search/vector_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace wattn {
namespace {

constexpr RowPrecision kPrecisions[] = {RowPrecision::kFloat32, RowPrecision::kInt8, RowPrecision::kBinary};
const std::vector<std::int64_t> kDims{1, 15, 16, 17, 129, 384, 768};

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& x : out) x = normal(generator);
  return out;
}

struct alignas(16) Sixteen {
  std::byte bytes[16];
};

// Rows with memory for `most` of them, which ends right behind the last block.
struct Rows {
  std::vector<Sixteen> memory;
  VectorRows rows;
  std::int64_t dim;

  Rows(RowPrecision precision, std::int64_t dim, std::int64_t most) : dim(dim) {
    const VectorRows measure(precision, dim, nullptr);
    const std::int64_t blocks = (most + measure.block_rows() - 1) / measure.block_rows();
    memory.resize(static_cast<std::size_t>(blocks * measure.block_bytes() / 16));
    rows = VectorRows(precision, dim, reinterpret_cast<std::byte*>(memory.data()));
  }

  // A query with room for its other forms.
  std::vector<Sixteen> query(const float* values) const {
    std::vector<Sixteen> out(static_cast<std::size_t>(rows.query_bytes() / 16));
    std::memset(static_cast<void*>(out.data()), 0xFF, out.size() * sizeof(Sixteen));
    std::memcpy(out.data(), values, static_cast<std::size_t>(4 * dim));
    return out;
  }
  std::vector<RankedRow> search(const float* values, std::int64_t count, std::int64_t k,
                                const std::uint8_t* allowed = nullptr) const {
    std::vector<Sixteen> q = query(values);
    std::vector<RankedRow> ranked(static_cast<std::size_t>(rows.num_candidates(count, k)));
    const std::int64_t found =
        rows.search(reinterpret_cast<std::byte*>(q.data()), count, std::min(k, count), allowed, ranked.data());
    ranked.resize(static_cast<std::size_t>(found));
    return ranked;
  }
  std::vector<float> scores(const float* values, const std::vector<std::int32_t>& wanted) const {
    std::vector<Sixteen> q = query(values);
    std::vector<float> out(wanted.size());
    rows.scores(reinterpret_cast<std::byte*>(q.data()), wanted.data(), static_cast<std::int64_t>(wanted.size()), out.data());
    return out;
  }
  std::vector<Sixteen> stored(std::int64_t first, std::int64_t n) const {
    std::vector<Sixteen> out(static_cast<std::size_t>(n * rows.stored_bytes() / 16 + 1));
    rows.get_stored(first, reinterpret_cast<std::byte*>(out.data()), n);
    return out;
  }
};

TEST(VectorRows, BlocksAreMultiplesOf16BytesAndHoldPowersOfTwo) {
  for (const RowPrecision precision : kPrecisions) {
    for (const std::int64_t dim : {1, 2, 17, 128, 384, 4096, 65536}) {
      const VectorRows rows(precision, dim, nullptr);
      EXPECT_EQ(rows.block_bytes() % 16, 0);
      EXPECT_EQ(rows.query_bytes() % 16, 0);
      EXPECT_GE(rows.block_rows(), 16);
      EXPECT_EQ(rows.block_rows() & (rows.block_rows() - 1), 0);
      EXPECT_GE(rows.block_bytes(), rows.block_rows() * rows.stored_bytes());
    }
  }
}

TEST(VectorRows, FindsWhatSortingAllScoresFinds) {
  constexpr std::int64_t kCount = 5000;  // more than one block of each dim
  for (const RowPrecision precision : kPrecisions) {
    for (const std::int64_t dim : kDims) {
      Rows rows(precision, dim, kCount);
      const std::vector<float> vectors = random_floats(kCount * dim, 1), query = random_floats(dim, 2);
      ASSERT_TRUE(rows.rows.put(0, vectors.data(), 3000));
      ASSERT_TRUE(rows.rows.put(3000, vectors.data() + 3000 * dim, kCount - 3000));
      std::vector<std::int32_t> order(kCount);
      for (std::int32_t i = 0; i < kCount; ++i) order[i] = i;
      const std::vector<float> scores = rows.scores(query.data(), order);
      for (std::int64_t i = 0; i < kCount; i += 97) {
        double exact = 0;
        for (std::int64_t j = 0; j < dim; ++j) exact += double(query[j]) * vectors[i * dim + j];
        // Components up to 0.25: half a step of 0.25 / 127 each for bytes.
        const double bound = precision == RowPrecision::kFloat32 ? 1e-6 : 0.25 / 127 / 2 * 0.25 * double(dim);
        ASSERT_NEAR(scores[i], exact, bound) << "dim " << dim << " row " << i;
      }
      std::sort(order.begin(), order.end(),
                [&](int a, int b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); });
      // Binary search keeps candidates by signs: with all rows as candidates it finds the same.
      const std::int64_t count = precision == RowPrecision::kBinary ? rows.rows.num_candidates(kCount, 1) : kCount;
      order.erase(std::remove_if(order.begin(), order.end(), [&](int row) { return row >= count; }), order.end());
      for (const std::int64_t k : {std::int64_t{1}, std::int64_t{10}, count}) {
        const std::vector<RankedRow> found = rows.search(query.data(), count, k);
        ASSERT_EQ(found.size(), static_cast<std::size_t>(k));
        for (std::int64_t i = 0; i < k; ++i) {
          ASSERT_EQ(found[i].row, order[i]) << "dim " << dim << " rank " << i;
          ASSERT_EQ(found[i].score, scores[order[i]]);
        }
      }
    }
  }
}

TEST(VectorRows, BlocksOfFewRowsAreReadToTheirEnds) {
  constexpr std::int64_t kDim = 9000, kCount = 100;
  for (const RowPrecision precision : kPrecisions) {
    Rows rows(precision, kDim, kCount);
    ASSERT_LT(rows.rows.block_rows(), 64);
    const std::vector<float> vectors = random_floats(kCount * kDim, 6);
    ASSERT_TRUE(rows.rows.put(0, vectors.data(), kCount));
    for (std::int64_t i = 0; i < kCount; i += 11) {
      const std::vector<RankedRow> found = rows.search(vectors.data() + i * kDim, kCount, 1);
      ASSERT_EQ(found[0].row, i);
      ASSERT_EQ(found[0].score, rows.scores(vectors.data() + i * kDim, {static_cast<std::int32_t>(i)})[0]);
    }
  }
}

TEST(VectorRows, BinaryChoosesTheRowsWithTheFewestOtherSigns) {
  constexpr std::int64_t kDim = 129, kCount = 4000;
  Rows rows(RowPrecision::kBinary, kDim, kCount);
  const std::vector<float> vectors = random_floats(kCount * kDim, 7), query = random_floats(kDim, 8);
  ASSERT_TRUE(rows.rows.put(0, vectors.data(), kCount));
  const std::vector<Sixteen> stored = rows.stored(0, kCount);
  const auto* bytes = reinterpret_cast<const std::int8_t*>(stored.data());
  const auto most =
      std::abs(*std::max_element(query.begin(), query.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
  std::vector<std::pair<int, std::int32_t>> order;  // signs that differ, row
  for (std::int32_t i = 0; i < kCount; ++i) {
    int differ = 0;
    for (std::int64_t j = 0; j < kDim; ++j) {
      differ += (query[j] > 0.5f * most / 127) != (bytes[i * rows.rows.stored_bytes() + 4 + j] > 0);
    }
    order.emplace_back(differ, i);
  }
  std::sort(order.begin(), order.end());
  for (const std::int64_t k : {1, 10}) {
    std::vector<std::int32_t> kept;
    for (std::int64_t i = 0; i < rows.rows.num_candidates(kCount, k); ++i) kept.push_back(order[i].second);
    std::sort(kept.begin(), kept.end());
    const std::vector<float> scores = rows.scores(query.data(), kept);
    const std::vector<RankedRow> found = rows.search(query.data(), kCount, k);
    ASSERT_EQ(found.size(), static_cast<std::size_t>(k));
    ASSERT_EQ(found[0].score, *std::max_element(scores.begin(), scores.end()));
    for (const RankedRow& row : found) ASSERT_TRUE(std::binary_search(kept.begin(), kept.end(), row.row));
  }
  // A copy of a row has its signs: the query's opposite makes place for its nearest.
  std::vector<float> opposite = query;
  for (float& x : opposite) x = -x;
  ASSERT_TRUE(rows.rows.put(5, opposite.data(), 1));
  ASSERT_TRUE(rows.rows.put(3999, query.data(), 1));
  rows.rows.copy(5, 3999);
  const std::vector<RankedRow> both = rows.search(query.data(), kCount, 2);
  EXPECT_EQ(both[0].row, 5);
  EXPECT_EQ(both[1].row, 3999);
}

TEST(VectorRows, LeavesOutWhatIsNotAllowedAndKeepsTheOrderOfEqualRows) {
  for (const RowPrecision precision : kPrecisions) {
    Rows rows(precision, 20, 3000);
    const std::vector<float> vector = random_floats(20, 3);
    for (std::int64_t i = 0; i < 3000; ++i) ASSERT_TRUE(rows.rows.put(i, vector.data(), 1));
    std::vector<std::uint8_t> allowed(3000, 1);
    for (int i = 0; i < 3000; i += 3) allowed[i] = 0;
    const std::vector<RankedRow> found = rows.search(vector.data(), 3000, 500, allowed.data());
    ASSERT_EQ(found.size(), 500u);
    for (int i = 0; i < 500; ++i) ASSERT_EQ(found[i].row, i / 2 * 3 + 1 + i % 2);
    std::fill(allowed.begin(), allowed.end(), 0);
    EXPECT_TRUE(rows.search(vector.data(), 3000, 5, allowed.data()).empty());
    allowed[2999] = 1;
    ASSERT_EQ(rows.search(vector.data(), 3000, 5, allowed.data()).size(), 1u);
    EXPECT_TRUE(rows.search(vector.data(), 0, 0).empty());
  }
}

TEST(VectorRows, TheStoredFormGivesTheSameRows) {
  for (const RowPrecision precision : kPrecisions) {
    for (const std::int64_t dim : kDims) {
      Rows rows(precision, dim, 100), again(precision, dim, 100);
      // What was in the memory before does not matter.
      std::memset(static_cast<void*>(again.memory.data()), 0xFF, again.memory.size() * sizeof(Sixteen));
      const std::vector<float> vectors = random_floats(100 * dim, 4), query = random_floats(dim, 5);
      ASSERT_TRUE(rows.rows.put(0, vectors.data(), 100));
      const std::vector<Sixteen> bytes = rows.stored(0, 100);
      ASSERT_TRUE(again.rows.put_stored(0, reinterpret_cast<const std::byte*>(bytes.data()), 100));
      const std::size_t size = static_cast<std::size_t>(100 * rows.rows.stored_bytes());
      EXPECT_EQ(std::memcmp(again.stored(0, 100).data(), bytes.data(), size), 0);
      if (precision == RowPrecision::kFloat32) {
        EXPECT_EQ(std::memcmp(bytes.data(), vectors.data(), size), 0);
      }
      const std::vector<RankedRow> a = rows.search(query.data(), 100, 100), b = again.search(query.data(), 100, 100);
      for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(a[i].row, b[i].row);
        ASSERT_EQ(a[i].score, b[i].score);
      }
      rows.rows.copy(3, 99);
      const std::vector<Sixteen> third = rows.stored(3, 1), last = rows.stored(99, 1);
      EXPECT_EQ(std::memcmp(third.data(), last.data(), static_cast<std::size_t>(rows.rows.stored_bytes())), 0);
      EXPECT_EQ(rows.scores(query.data(), {3})[0], rows.scores(query.data(), {99})[0]);
    }
  }
}

TEST(VectorRows, RefuseWhatIsNoNumber) {
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 2 * kLargestComponent};
  for (const RowPrecision precision : kPrecisions) {
    Rows rows(precision, 4, 2);
    std::vector<float> vectors(8, 0.5f);
    ASSERT_TRUE(rows.rows.put(0, vectors.data(), 2));
    for (const float x : bad) {
      std::vector<float> with = vectors;
      with[7] = x;
      EXPECT_FALSE(rows.rows.put(0, with.data(), 2));
      std::vector<Sixteen> stored = rows.stored(0, 2);
      std::memcpy(reinterpret_cast<std::byte*>(stored.data()) + rows.rows.stored_bytes(), &x, 4);
      EXPECT_FALSE(rows.rows.put_stored(0, reinterpret_cast<const std::byte*>(stored.data()), 2));
    }
    std::vector<Sixteen> stored = rows.stored(0, 1);
    const float negative = -0.5f;
    std::memcpy(stored.data(), &negative, 4);
    EXPECT_EQ(rows.rows.put_stored(0, reinterpret_cast<const std::byte*>(stored.data()), 1), precision == RowPrecision::kFloat32);
  }
}

}  // namespace
}  // namespace wattn
