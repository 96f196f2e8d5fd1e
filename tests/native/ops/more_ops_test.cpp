// Rare ops and their derivatives, in whole numbers, which float32 adds exactly.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/part.h"
#include "ops/norm.h"
#include "ops/op_gradient.h"

namespace wattn {
namespace {

using Floats = std::vector<float>;

// Sequences of one token at both ends and between others.
Batch ragged() {
  Batch batch;
  for (const std::size_t length : {1, 5, 1, 1, 2, 70, 1}) {
    batch.add_sequence(std::vector<std::int32_t>(length), std::vector<std::int32_t>(length));
  }
  return batch;
}

Floats numbers(std::int64_t count, int seed) {
  Floats out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(static_cast<int>(i * i * 7 + i * 3 + seed) % 13 - 6);
  return out;
}

double product(const Floats& a, const Floats& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

TEST(Windows, HaveZerosOutsideOfTheirSequence) {
  const Batch batch = ragged();
  const std::int64_t width = 3, tokens = batch.tokens();
  const Floats x = numbers(tokens * width, 1);
  for (const std::int64_t count : {1, 3, 5, 63}) {
    for (const bool backwards : {false, true}) {
      SCOPED_TRACE(testing::Message() << count << (backwards ? " backwards" : ""));
      ThreadTeam alone;
      const Compute compute{exact_kernels(), alone};
      const PassInput pass{.compute = &compute, .batch = &batch};
      OpCall call{.pass = pass, .variant = static_cast<std::uint8_t>(backwards), .factor = static_cast<float>(count)};
      Floats out(static_cast<std::size_t>(tokens * width * count), 99.0f), expected;
      call.rows = tokens, call.x_width = width, call.width = width * count, call.x = x.data(), call.out = out.data();
      op_row(Op::kWindows).forward(call);
      for (std::int64_t i = 0; i < batch.batch(); ++i) {
        for (std::int64_t token = batch.seq_start[i]; token < batch.seq_start[i + 1]; ++token) {
          for (std::int64_t k = 0; k < count; ++k) {
            const std::int64_t row = token + (backwards ? -1 : 1) * (k - count / 2);
            const bool inside = row >= batch.seq_start[i] && row < batch.seq_start[i + 1];
            for (std::int64_t j = 0; j < width; ++j) expected.push_back(inside ? x[static_cast<std::size_t>(row * width + j)] : 0);
          }
        }
      }
      ASSERT_EQ(out, expected);
      // The derivative is the transposed map.
      Floats d_out = numbers(std::ssize(out), 5), d_x(x.size());
      const double forward = product(out, d_out);
      gradient_row(Op::kWindows).backward({.forward = call, .d_out = d_out.data(), .d_x = d_x.data()});
      EXPECT_EQ(product(x, d_x), forward);
    }
  }
}

TEST(Affine, IsAWeightAndABias) {
  const std::int64_t width = 5, rows = 67;
  const PassInput pass;
  Floats gamma = numbers(width, 2), beta = numbers(width, 4), d_gamma(gamma.size(), 1.0f), d_beta(beta.size(), 2.0f);
  const LayerNorm weight{width, 0, gamma.data(), beta.data()}, gradient{width, 0, d_gamma.data(), d_beta.data()};
  const Floats x = numbers(rows * width, 1), d_out = numbers(rows * width, 8);
  Floats out = x;  // in place
  OpCall call{.pass = pass, .weight = &weight};
  call.rows = rows, call.x_width = call.width = width, call.x = out.data(), call.out = out.data();
  op_row(Op::kAffine).forward(call);
  Floats sum_gamma(gamma.size(), 1.0f), sum_beta(beta.size(), 2.0f), expected_d_x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t j = i % gamma.size();
    ASSERT_EQ(out[i], gamma[j] * x[i] + beta[j]);
    sum_gamma[j] += d_out[i] * x[i];
    sum_beta[j] += d_out[i];
    expected_d_x.push_back(gamma[j] * d_out[i]);
  }
  Floats d = d_out;
  call.x = x.data();
  gradient_row(Op::kAffine).backward({.forward = call, .gradient = &gradient, .d_out = d.data(), .d_x = d.data()});
  EXPECT_EQ(d, expected_d_x);
  EXPECT_EQ(d_gamma, sum_gamma);
  EXPECT_EQ(d_beta, sum_beta);
}

TEST(Join, PutsColumnsSideBySide) {
  const std::int64_t first = 4, second = 3, rows = 9;
  const PassInput pass;
  const Floats x = numbers(rows * first, 1), other = numbers(rows * second, 2), d_out = numbers(rows * (first + second), 3);
  Floats out(d_out.size()), d_x(x.size()), d_other(other.size()), again = d_out;
  OpCall call{.pass = pass};
  call.rows = rows, call.x_width = first, call.width = first + second, call.x = x.data(), call.other = other.data();
  call.out = out.data();
  op_row(Op::kJoin).forward(call);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < first + second; ++j) {
      const float expected =
          j < first ? x[static_cast<std::size_t>(i * first + j)] : other[static_cast<std::size_t>(i * second + j - first)];
      ASSERT_EQ(out[static_cast<std::size_t>(i * (first + second) + j)], expected);
    }
  }
  gradient_row(Op::kJoin).backward({.forward = call, .d_out = again.data(), .d_x = d_x.data(), .d_other = d_other.data()});
  EXPECT_EQ(product(x, d_x) + product(other, d_other), product(out, d_out));
}

}  // namespace
}  // namespace wattn
