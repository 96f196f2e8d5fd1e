// attention_backward() against central differences of the formula in double precision, and past two blocks of queries against the
// derivative in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "native/ops/attention_problem.h"
#include "native/support/team.h"

namespace wattn::test {
namespace {

struct Gradients {
  std::vector<float> queries, kv, bias, relative;
};

// Gradients begin at 0, or at those of `before`, to which they are added.
Gradients run(const Problem& p, const std::vector<float>& d_context, const Compute& compute, Gradients before = {}) {
  Gradients out = std::move(before);
  out.queries.resize(p.queries.size());
  out.kv.resize(p.kv.size());
  out.bias.resize(p.bias_values.size());
  out.relative.resize(p.relative_rows.size());
  const auto floats = static_cast<std::size_t>(attention_backward_scratch(p.shape, kMostTokens, p.relative.count));
  std::vector<std::vector<float>> memory(static_cast<std::size_t>(compute.team.threads()), std::vector<float>(floats, NAN));
  std::vector<float*> scratch;
  scratch.reserve(memory.size());
  for (auto& of_thread : memory) scratch.push_back(of_thread.data());
  DistanceBias d_bias{kMostTokens, out.bias.data()};
  attention_backward(compute, p.shape, p.terms, p.input(), scratch,
                     {.d_context = d_context.data(),
                      .d_queries = out.queries.data(),
                      .d_keys = out.kv.data(),
                      .d_values = out.kv.data() + p.shape.kv_width(),
                      .d_bias = p.c.bias ? &d_bias : nullptr,
                      .d_relative = p.c.relative ? out.relative.data() : nullptr});
  return out;
}

Gradients run(const Problem& p, const std::vector<float>& d_context) {
  ThreadTeam alone;
  return run(p, d_context, {exact_kernels(), alone});
}

double sum_of_products(const Problem& p, const std::vector<float>& weights) {
  const Expected expected = exact(p);
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += expected.context[i] * weights[i];
  return sum;
}

// Exact in double but for the third derivative, times h^2 / 6.
double central_difference(const Problem& p, float& x, const std::vector<float>& weights) {
  const float middle = x;
  x = middle + 0x1p-12f;
  const double above = x, more = sum_of_products(p, weights);
  x = middle - 0x1p-12f;
  const double below = x, less = sum_of_products(p, weights);
  x = middle;
  return (more - less) / (above - below);
}

void expect_near_largest(const std::vector<float>& got, const std::vector<double>& expected, const std::string& what) {
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5 * largest) << what << ", " << i;
}

// The derivative of exact()'s context, in double precision.
struct ExactGradients {
  std::vector<double> queries, kv, bias, relative;
};

void add_row(const Problem& p, const std::vector<float>& d_context, const std::vector<double>& probs, std::int64_t sequence,
             std::int64_t head, std::int64_t query, ExactGradients& out) {
  const std::int64_t n = p.key_lengths[sequence], dim = p.shape.head_dim, value_dim = p.shape.value_size();
  const std::int64_t kv_head = head / p.shape.group(), values = p.shape.kv_width() + kv_head * value_dim;
  const double* row = probs.data() + (head * p.lengths[sequence] + query) * n;
  const float* dy = d_context.data() + (p.seq_start[sequence] + query) * p.shape.context_width() + head * value_dim;
  const double factor = p.c.head_mask ? p.head_mask[head] : 1;
  std::vector<double> d_probs(static_cast<std::size_t>(n));
  double sum = 0;
  for (std::int64_t key = 0; key < n; ++key) {
    const std::int64_t at = (p.key_start[sequence] + key) * p.kv_stride + values;
    for (std::int64_t x = 0; x < value_dim; ++x) {
      const double kept = p.factor(sequence, head, query, key);
      out.kv[at + x] += kept * row[key] * dy[x];
      d_probs[key] += kept * factor * dy[x] * p.kv[at + x];
    }
    sum += d_probs[key] * row[key] / factor;
  }
  for (std::int64_t key = 0; key < n; ++key) {
    double d_score = row[key] / factor * (d_probs[key] - sum);
    const std::int64_t distance = key - (p.positions[sequence] + query);
    if (p.c.bias) out.bias[head * (2 * kMostTokens - 1) + kMostTokens - 1 + distance] += d_score;
    const std::int64_t q = (p.seq_start[sequence] + query) * p.query_stride + head * dim;
    const std::int64_t k = (p.key_start[sequence] + key) * p.kv_stride + kv_head * dim;
    const double scaled = p.terms.scale * d_score;
    for (std::int64_t x = 0; p.c.relative && x < dim; ++x) {
      const std::int64_t bucket = p.buckets.of(-distance) - p.relative.first;
      const std::int64_t pq = bucket * (p.shape.query_width() + p.shape.kv_width()) + head * dim + x;
      const std::int64_t pk = pq + p.shape.query_width() + (kv_head - head) * dim;
      out.queries[q + x] += scaled * p.relative_rows[pk];
      out.kv[k + x] += scaled * p.relative_rows[pq];
      out.relative[pk] += scaled * p.queries[q + x];
      out.relative[pq] += scaled * p.kv[k + x];
    }
    for (const BroadcastMask& mask : p.multiply) d_score *= mask_at(mask, sequence, head, query, key);
    for (std::int64_t x = 0; x < dim; ++x) {
      out.queries[q + x] += p.terms.scale * d_score * p.kv[k + x];
      out.kv[k + x] += p.terms.scale * d_score * p.queries[q + x];
    }
  }
}

ExactGradients exact_gradients(const Problem& p, const std::vector<float>& d_context) {
  ExactGradients out{std::vector<double>(p.queries.size()), std::vector<double>(p.kv.size()),
                     std::vector<double>(p.bias_values.size()), std::vector<double>(p.relative_rows.size())};
  const Expected expected = exact(p);
  for (std::int64_t i = 0; i < p.batch(); ++i) {
    for (std::int64_t head = 0; head < p.shape.heads; ++head) {
      for (std::int64_t query = 0; query < p.lengths[i]; ++query) {
        add_row(p, d_context, expected.probs[static_cast<std::size_t>(i)], i, head, query, out);
      }
    }
  }
  return out;
}

std::vector<float> gradient_of_context(const Problem& p) { return random_floats(p.tokens() * p.shape.context_width(), 9); }

TEST(AttentionBackward, MatchesCentralDifferences) {
  for (const Case& c : kCases) {
    Problem p(c, {3, 0, 10, 1});
    const std::vector<float> d_context = gradient_of_context(p);
    const Gradients got = run(p, d_context);
    const auto differences = [&](std::vector<float>& values) {
      std::vector<double> out;
      out.reserve(values.size());
      for (float& x : values) out.push_back(central_difference(p, x, d_context));
      return out;
    };
    expect_near_largest(got.queries, differences(p.queries), std::string(c.name) + ", queries");
    expect_near_largest(got.kv, differences(p.kv), std::string(c.name) + ", keys and values");
    if (c.bias) expect_near_largest(got.bias, differences(p.bias_values), std::string(c.name) + ", bias");
    if (c.relative) expect_near_largest(got.relative, differences(p.relative_rows), std::string(c.name) + ", relative");
  }
}

void expect_derivative(const Problem& p) {
  const std::vector<float> d_context = gradient_of_context(p);
  const Gradients got = run(p, d_context);
  const ExactGradients expected = exact_gradients(p, d_context);
  expect_near_largest(got.queries, expected.queries, std::string(p.c.name) + ", queries");
  expect_near_largest(got.kv, expected.kv, std::string(p.c.name) + ", keys and values");
  expect_near_largest(got.bias, expected.bias, std::string(p.c.name) + ", bias");
  expect_near_largest(got.relative, expected.relative, std::string(p.c.name) + ", relative");
}

TEST(AttentionBackward, MatchesTheDerivativePastTwoBlocks) {
  for (const Case& c : kCases) {
    expect_derivative(Problem(c));
    expect_derivative(Problem(c, {3, 60, 1, 49, 100}, {9, 101, 48, 20, 0}, {6, 41, 20, 0, 0}));
  }
}

TEST(AttentionBackward, OfAHeadThatIsTurnedOffIsZero) {
  Problem p({.name = "off", .shape = {2, 1, 8}, .head_mask = true}, {20});
  p.head_mask = {0.0f, 1.0f};
  const Gradients got = run(p, gradient_of_context(p));
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::int64_t x = 0; x < 8; ++x) EXPECT_EQ(got.queries[i * p.query_stride + x], 0.0f);
  }
}

TEST(AttentionBackward, AddsToWhatIsThere) {
  const Problem p({.name = "twice", .shape = {4, 2, 8}, .causal = true, .bias = true}, {50, 3});
  ThreadTeam alone;
  const std::vector<float> d_context = gradient_of_context(p);
  const Gradients once = run(p, d_context), twice = run(p, d_context, {exact_kernels(), alone}, once);
  for (std::size_t i = 0; i < once.kv.size(); ++i) EXPECT_NEAR(twice.kv[i], 2 * once.kv[i], 1e-5);
  for (std::size_t i = 0; i < once.bias.size(); ++i) EXPECT_NEAR(twice.bias[i], 2 * once.bias[i], 1e-5);
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
TEST(AttentionBackward, HasTheSameBitsWithThreads) {
  TeamOfFour four;
  ThreadTeam& team = four.team;
  for (const Case& c : kCases) {
    const ThreadTeam::Awake awake(team);
    const Problem p(c);
    const std::vector<float> d_context = gradient_of_context(p);
    const Gradients expected = run(p, d_context), got = run(p, d_context, {exact_kernels(), team});
    EXPECT_EQ(got.queries, expected.queries) << c.name;
    EXPECT_EQ(got.kv, expected.kv) << c.name;
    EXPECT_EQ(got.bias, expected.bias) << c.name;
    EXPECT_EQ(got.relative, expected.relative) << c.name;
  }
}
#endif

}  // namespace
}  // namespace wattn::test
