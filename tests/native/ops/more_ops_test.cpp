// Rare ops and their derivatives, in whole numbers, which float32 adds exactly.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "core/part.h"
#include "ops/linear.h"
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

TEST(Depthwise, SumsTheTokensAroundByWeightsOfEachColumn) {
  const Batch batch = ragged();
  const std::int64_t tokens = batch.tokens();
  for (const std::int64_t width : {1, 8, 13}) {
    for (const std::int64_t kernel : {1, 3, 9, 63}) {
      SCOPED_TRACE(testing::Message() << width << " columns, " << kernel << " tokens");
      const Floats x = numbers(tokens * width, 1), weights = numbers(width * kernel, 2);
      Arena arena = Arena::with_zeros(1 << 16, "test").value();
      const LinearWeights filter = take_linear(arena, exact_kernels(), WeightType::kF32, kernel, width, false);
      const LinearWeights gradient = take_linear(arena, exact_kernels(), WeightType::kF32, kernel, width, false);
      for (std::int64_t j = 0; j < width; ++j) set_weight_row(filter, j, weights.data() + j * kernel);
      ThreadTeam alone;
      const Compute compute{exact_kernels(), alone};
      const PassInput pass{.compute = &compute, .batch = &batch};
      Floats out(x.size(), 99.0f), expected, d_x(x.size(), 99.0f);
      OpCall call{.pass = pass, .weight = &filter};
      call.rows = tokens, call.x_width = call.width = width, call.x = x.data(), call.out = out.data();
      op_row(Op::kDepthwise).forward(call);
      Floats d_out = numbers(std::ssize(out), 5), expected_d_weights(weights.size());
      for (std::int64_t i = 0; i < batch.batch(); ++i) {
        for (std::int64_t token = batch.seq_start[i]; token < batch.seq_start[i + 1]; ++token) {
          for (std::int64_t j = 0; j < width; ++j) {
            float sum = 0;
            for (std::int64_t k = 0; k < kernel; ++k) {
              const std::int64_t row = token + k - kernel / 2;
              if (row < batch.seq_start[i] || row >= batch.seq_start[i + 1]) continue;
              sum += weights[static_cast<std::size_t>(j * kernel + k)] * x[static_cast<std::size_t>(row * width + j)];
              expected_d_weights[static_cast<std::size_t>(j * kernel + k)] +=
                  d_out[static_cast<std::size_t>(token * width + j)] * x[static_cast<std::size_t>(row * width + j)];
            }
            expected.push_back(sum);
          }
        }
      }
      ASSERT_EQ(out, expected);
      const double forward = product(out, d_out);
      gradient_row(Op::kDepthwise).backward({.forward = call, .gradient = &gradient, .d_out = d_out.data(), .d_x = d_x.data()});
      EXPECT_EQ(product(x, d_x), forward);  // the transposed map
      Floats row(static_cast<std::size_t>(kernel)), d_weights;
      for (std::int64_t j = 0; j < width; ++j) {
        get_weight_row(gradient, j, row.data());
        d_weights.insert(d_weights.end(), row.begin(), row.end());
      }
      EXPECT_EQ(d_weights, expected_d_weights);
    }
  }
}

// A step along the gradient, in double precision: the loss changes by its length.
TEST(DynamicConvolution, SumsTheTokensAroundByTheSoftmaxOfATokensLogits) {
  const Batch batch = ragged();
  const std::int64_t tokens = batch.tokens();
  for (const std::int64_t heads : {1, 3}) {
    for (const std::int64_t kernel : {1, 3, 9, 63}) {
      SCOPED_TRACE(testing::Message() << heads << " heads, " << kernel << " tokens");
      const std::int64_t columns = 5, width = heads * columns;
      Floats x = numbers(tokens * width, 1), logits = numbers(tokens * heads * kernel, 2), out(x.size(), 99.0f);
      for (float& logit : logits) logit /= 4;
      const Floats d_out = numbers(std::ssize(x), 5);
      // The sum of d_out times the result, in double precision.
      const auto loss = [&](const Floats& values, const Floats& of, Floats* result) {
        double sum = 0;
        for (std::int64_t i = 0; i < batch.batch(); ++i) {
          for (std::int64_t token = batch.seq_start[i]; token < batch.seq_start[i + 1]; ++token) {
            for (std::int64_t j = 0; j < width; ++j) {
              const float* own = of.data() + (token * heads + j / columns) * kernel;
              double all = 0, at = 0;
              for (std::int64_t k = 0; k < kernel; ++k) {
                const std::int64_t row = token + k - kernel / 2;
                all += std::exp(static_cast<double>(own[k]));
                if (row < batch.seq_start[i] || row >= batch.seq_start[i + 1]) continue;
                at += std::exp(static_cast<double>(own[k])) * values[static_cast<std::size_t>(row * width + j)];
              }
              if (result) result->push_back(static_cast<float>(at / all));
              sum += at / all * d_out[static_cast<std::size_t>(token * width + j)];
            }
          }
        }
        return sum;
      };
      ThreadTeam alone;
      const Compute compute{exact_kernels(), alone};
      const PassInput pass{.compute = &compute, .batch = &batch};
      const AttentionStep step{.shape = {.heads = heads, .kv_heads = heads, .head_dim = columns}};
      OpCall call{.pass = pass, .attention = &step, .factor = static_cast<float>(kernel)};
      call.rows = tokens, call.x_width = call.width = width, call.x = x.data(), call.other = logits.data(), call.out = out.data();
      op_row(Op::kDynamicConvolution).forward(call);
      Floats expected;
      loss(x, logits, &expected);
      ASSERT_EQ(out.size(), expected.size());
      // A weight, a product and a sum of `kernel` numbers of at most 6, with as many roundings.
      const double bound = 6.0 * static_cast<double>(kernel + 8) * 0x1p-24;
      for (std::size_t k = 0; k < out.size(); ++k) ASSERT_NEAR(out[k], expected[k], bound) << k;
      Floats d = d_out, d_x(x.size(), 1.0f), d_logits(logits.size(), 2.0f);  // added to
      gradient_row(Op::kDynamicConvolution)
          .backward({.forward = call, .d_out = d.data(), .d_x = d_x.data(), .d_other = d_logits.data()});
      double length = 0;
      Floats to_x = x, to_logits = logits, back_x = x, back_logits = logits;
      const double by = 0x1p-10;
      for (std::size_t k = 0; k < x.size(); ++k) {
        const float slope = d_x[k] - 1;
        length += static_cast<double>(slope) * slope;
        to_x[k] += static_cast<float>(by * slope), back_x[k] -= static_cast<float>(by * slope);
      }
      for (std::size_t k = 0; k < logits.size(); ++k) {
        const float slope = d_logits[k] - 2;
        length += static_cast<double>(slope) * slope;
        to_logits[k] += static_cast<float>(by * slope), back_logits[k] -= static_cast<float>(by * slope);
      }
      const double change = (loss(to_x, to_logits, nullptr) - loss(back_x, back_logits, nullptr)) / (2 * by);
      EXPECT_NEAR(change, length, 1e-3 * length);
    }
  }
}

// Against a double loop, at every place where the queries of a window or the tokens beside it change how they are read.
TEST(GlobalAttention, ReadsAWindowAndTheGlobalTokens) {
  const std::int64_t window = 4, heads = 2, dim = 3, width = heads * dim, separator = 7;
  const AttentionStep step{.shape = {.heads = heads, .kv_heads = heads, .head_dim = dim},
                           .scale = 0.25f,
                           .window_before = window,
                           .window_after = window};
  for (const bool is_first : {true, false}) {
    Batch batch;
    std::vector<std::int64_t> global;
    const auto add = [&](std::size_t length, std::size_t at) {
      std::vector<std::int32_t> ids(length, 1);
      if (at < length) ids[at] = separator;
      batch.add_sequence(ids, std::vector<std::int32_t>(length));
      global.push_back(is_first ? 1 : at < length ? static_cast<std::int64_t>(at) : 0);
    };
    for (const std::size_t length : {1, 2, 5, 6, 95, 96, 97, 98, 195}) add(length, length / 3);
    for (const std::size_t at : {0, 1, 127, 128, 129, 150}) add(200, at);
    add(120, 500);
    const std::int64_t tokens = batch.tokens();
    const Floats x = numbers(tokens * 3 * width, 1), other = numbers(tokens * 3 * width, 4);
    Floats out(static_cast<std::size_t>(tokens * width), 99.0f);
    ThreadTeam alone;
    const Compute compute{exact_kernels(), alone};
    const PassInput pass{
        .compute = &compute, .batch = &batch, .sizes = {.tokens = tokens, .keys = batch.longest(), .own_keys = batch.longest()}};
    OpCall call{.pass = pass, .attention = &step};
    call.variant = static_cast<std::uint8_t>(is_first ? GlobalTokens::kFirst : GlobalTokens::kBeforeSeparator);
    call.factor = static_cast<float>(separator);
    call.rows = tokens, call.x_width = 3 * width, call.width = width;
    call.x = x.data(), call.other = other.data(), call.out = out.data();
    Arena scratch = Arena::with_bytes(1 << 22, "test").value();
    call.scratch = &scratch;
    op_row(Op::kGlobalAttention).forward(call);
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      const std::int64_t begin = batch.seq_start[i], length = batch.length(i), count = global[static_cast<std::size_t>(i)];
      for (std::int64_t query = 0; query < length; ++query) {
        const Floats& rows = query < count ? other : x;
        for (std::int64_t head = 0; head < heads; ++head) {
          const auto part = [&](std::int64_t token, std::int64_t which) {
            return rows.data() + ((begin + token) * 3 + which) * width + head * dim;
          };
          double all = 0;
          std::vector<double> sums(static_cast<std::size_t>(dim));
          for (std::int64_t key = 0; key < length; ++key) {
            if (query >= count && key >= count && std::abs(key - query) > window) continue;
            double score = 0;
            for (std::int64_t j = 0; j < dim; ++j) score += 0.25 * static_cast<double>(part(query, 0)[j]) * part(key, 1)[j];
            all += std::exp(score);
            for (std::int64_t j = 0; j < dim; ++j) sums[static_cast<std::size_t>(j)] += std::exp(score) * part(key, 2)[j];
          }
          for (std::int64_t j = 0; j < dim; ++j) {
            const float found = out[static_cast<std::size_t>((begin + query) * width + head * dim + j)];
            // Scores are up to 27, of which exp() doubles the relative error, and values up to 6.
            ASSERT_NEAR(found, sums[static_cast<std::size_t>(j)] / all, 6 * 2 * 27 * 0x1p-23) << i << ": " << query;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace wattn
