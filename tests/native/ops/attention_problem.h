// Cases of attention() and their expected results: the formula in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ops/attention.h"

namespace wattn::test {

using Counts = std::vector<std::int32_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostTokens = 120;
// 0, 1, around a panel of 8, around a block of 48, two blocks and a little more.
inline const Counts kLengths = {5, 0, 1, 48, 101, 49, 96, 8};

struct Case {
  const char* name;
  AttentionShape shape;
  bool causal = false;
  std::int64_t before = -1, after = -1;
  bool bias = false, relative = false, head_mask = false;
  int multiply = 0, add = 0;  // masks
  float dropout = 0;
};

inline const Case kCases[] = {
    {.name = "plain", .shape = {2, 2, 12}},
    {.name = "groups", .shape = {6, 2, 8}},
    {.name = "one head of keys, wider values", .shape = {3, 1, 8, 13}},
    {.name = "causal", .shape = {2, 2, 16}, .causal = true},
    {.name = "causal groups", .shape = {4, 2, 9}, .causal = true, .head_mask = true},
    {.name = "causal window", .shape = {4, 2, 8}, .causal = true, .before = 10},
    {.name = "causal window of one key", .shape = {2, 2, 4}, .causal = true, .before = 0},
    {.name = "window", .shape = {2, 2, 8}, .before = 9, .after = 9},
    {.name = "uneven window", .shape = {2, 1, 8}, .before = 60, .after = 3},
    {.name = "keys before without an end after", .shape = {2, 2, 8}, .before = 5},
    {.name = "bias", .shape = {3, 3, 8}, .bias = true},
    {.name = "causal bias", .shape = {4, 2, 8}, .causal = true, .bias = true},
    {.name = "window and bias", .shape = {4, 2, 8}, .before = 20, .after = 20, .bias = true, .head_mask = true},
    {.name = "disentangled", .shape = {2, 2, 8}, .relative = true, .head_mask = true},
    {.name = "disentangled groups in a causal window", .shape = {4, 2, 8}, .causal = true, .before = 17, .relative = true},
    {.name = "masks", .shape = {2, 2, 8}, .multiply = 1, .add = 2},
    {.name = "everything",
     .shape = {4, 2, 8},
     .before = 30,
     .after = 11,
     .bias = true,
     .relative = true,
     .head_mask = true,
     .multiply = 2,
     .add = 1},
    {.name = "causal, everything a step may have",
     .shape = {4, 2, 8, 5},
     .causal = true,
     .before = 30,
     .bias = true,
     .head_mask = true},
    {.name = "causal, everything of a slot",
     .shape = {4, 2, 8, 5},
     .causal = true,
     .before = 30,
     .bias = true,
     .head_mask = true,
     .multiply = 1,
     .add = 1},
    {.name = "dropout", .shape = {2, 2, 8}, .dropout = 0.3f},
    {.name = "dropout with causal groups",
     .shape = {4, 2, 8, 5},
     .causal = true,
     .before = 30,
     .bias = true,
     .head_mask = true,
     .dropout = 0.5f},
};

inline std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& x : out) x = uniform(generator);
  return out;
}

inline Counts starts(const Counts& lengths) {
  Counts out{0};
  for (const std::int32_t n : lengths) out.push_back(out.back() + n);
  return out;
}

// The expected result, and how far f32 may be from it.
struct Expected {
  std::vector<double> context, bound;              // [tokens, context_width]
  std::vector<std::vector<double>> scores, probs;  // of each sequence [heads, queries, keys]
  std::vector<std::vector<double>> scores_bound, probs_bound;
};

// A case with its inputs. Queries and keys are of the same tokens unless key lengths are given.
struct Problem {
  Case c;
  Counts lengths, key_lengths, positions;  // of each sequence; positions: of the first query
  Counts position_ids;
  Counts seq_start = starts(lengths), key_start = starts(key_lengths);
  AttentionShape shape = c.shape;
  std::int64_t query_stride = shape.query_width() + 3;
  std::int64_t kv_stride = shape.kv_width() + shape.kv_heads * shape.value_size() + 5;
  std::vector<float> queries = random_floats(seq_start.back() * query_stride, 1);
  std::vector<float> kv = random_floats(key_start.back() * kv_stride, 2);
  std::vector<float> bias_values = random_floats(shape.heads * (2 * kMostTokens - 1), 3);
  std::vector<float> head_mask = random_floats(shape.heads, 4);
  std::vector<float> factors = random_floats(shape.heads * kMostTokens * kMostTokens, 6);
  std::vector<float> addends = random_floats(shape.heads * kMostTokens * kMostTokens, 7);
  Arena buckets_arena = Arena::with_bytes(4096, "test").value();
  DistanceBuckets buckets = take_distance_buckets(buckets_arena, kMostTokens, 8, 32);
  std::vector<float> relative_rows = random_floats(16 * (shape.query_width() + shape.kv_width()), 5);
  Disentangled relative{&buckets, buckets.of(-100), buckets.of(100) + 1 - buckets.of(-100), relative_rows.data()};
  DistanceBias bias{kMostTokens, bias_values.data()};
  std::vector<BroadcastMask> multiply, add;
  ProbabilityDropout dropout = drop_probabilities(dropout_at(c.dropout, 1, 2, 3));
  ScoreTerms terms;

  explicit Problem(const Case& of, Counts queries_of = kLengths, Counts keys_of = {}, Counts positions_of = {})
      : c(of), lengths(queries_of), key_lengths(keys_of.empty() ? queries_of : keys_of), positions(positions_of) {
    if (positions.empty()) positions.assign(lengths.size(), 0);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      for (std::int32_t query = 0; query < lengths[i]; ++query) position_ids.push_back(positions[i] + query);
    }
    set_masks();
    terms = {.scale = 0.7f, .causal = c.causal, .window_before = c.before, .window_after = c.after};
    terms.multiply = multiply;
    terms.add = add;
    if (c.bias) terms.bias = &bias;
    if (c.relative) terms.relative = &relative;
    if (c.head_mask) terms.head_mask = head_mask.data();
    if (c.dropout > 0) terms.dropout = &dropout;
  }
  // The factor of a key's probability.
  double factor(std::int64_t sequence, std::int64_t head, std::int64_t query, std::int64_t key) const {
    if (c.dropout == 0) return 1;
    const std::int64_t row = (seq_start[sequence] + query) * shape.heads + head;
    return dropout.dropout.factor((static_cast<std::uint64_t>(row) << 32) + static_cast<std::uint64_t>(key));
  }
  Problem(const Problem&) = delete;

  void set_masks() {
    const std::int64_t across = kMostTokens, down = kMostTokens * across;
    for (int i = 0; i < c.multiply; ++i) {
      multiply.push_back({factors.data() + i, 0, i == 0 ? down : 0, i == 0 ? across : 0, 1});
    }
    for (int i = 0; i < c.add; ++i) add.push_back({addends.data() + 3 * i, 5, 0, i == 0 ? across : 0, i == 0 ? 1 : 2});
    // Hides some keys, and all keys of query 50.
    for (std::size_t i = 0; i < addends.size(); i += 3) addends[i] = -std::numeric_limits<float>::infinity();
    std::fill_n(addends.begin() + 50 * across, 2 * across, -std::numeric_limits<float>::infinity());
  }
  std::int64_t batch() const { return static_cast<std::int64_t>(lengths.size()); }
  std::int64_t tokens() const { return seq_start.back(); }
  const float* values() const { return kv.data() + shape.kv_width(); }
  AttentionInput input() const {
    return {.queries = queries.data(),
            .query_stride = query_stride,
            .keys = kv.data(),
            .values = values(),
            .kv_stride = kv_stride,
            .seq_start = seq_start,
            .position_ids = position_ids,
            .key_start = key_lengths == lengths ? std::span<const std::int32_t>{} : key_start};
  }
};

// The score of a query and a key, and the sum of its terms' magnitudes.
struct Score {
  double value = 0, magnitude = 0;
  void add(double x) { value += x, magnitude += std::abs(x); }
  void multiply(double x) { value *= x, magnitude *= std::abs(x); }
};

inline double mask_at(const BroadcastMask& mask, std::int64_t sequence, std::int64_t head, std::int64_t query, std::int64_t key) {
  return mask.data[sequence * mask.sequence + head * mask.head + query * mask.query + key * mask.key];
}

inline Score exact_score(const Problem& p, std::int64_t sequence, std::int64_t head, std::int64_t query, std::int64_t key) {
  const std::int64_t dim = p.shape.head_dim, kv_head = head / (p.shape.heads / p.shape.kv_heads);
  const std::int64_t position = p.positions[sequence] + query;
  const float* q = p.queries.data() + (p.seq_start[sequence] + query) * p.query_stride + head * dim;
  const float* k = p.kv.data() + (p.key_start[sequence] + key) * p.kv_stride + kv_head * dim;
  const double scale = p.terms.scale;
  Score score;
  for (std::int64_t x = 0; x < dim; ++x) score.add(scale * q[x] * k[x]);
  for (const BroadcastMask& mask : p.multiply) score.multiply(mask_at(mask, sequence, head, query, key));
  if (p.c.bias) score.add(p.bias_values[head * (2 * kMostTokens - 1) + kMostTokens - 1 + key - position]);
  if (p.c.relative) {
    const std::int64_t bucket = p.buckets.of(position - key) - p.relative.first;
    const float* pq = p.relative_rows.data() + bucket * (p.shape.query_width() + p.shape.kv_width()) + head * dim;
    const float* pk = pq + p.shape.query_width() + (kv_head - head) * dim;
    for (std::int64_t x = 0; x < dim; ++x) score.add(scale * q[x] * pk[x]), score.add(scale * k[x] * pq[x]);
  }
  for (const BroadcastMask& mask : p.add) score.add(mask_at(mask, sequence, head, query, key));
  const bool hidden = (p.c.causal && key > position) || (p.c.before >= 0 && key < position - p.c.before) ||
                      (p.c.after >= 0 && key > position + p.c.after);
  if (hidden || score.value == -kInfinity) return {-kInfinity, 0};
  return score;
}

// One row of softmax and the resulting context. A sum of n products in any order is off by at most n 2^-24 times its
// magnitude, a product by its factors' and one more. So a score is off by (3 head_dim + 8) roundings. Its exponential is off by
// that, the rounding of score - max, and 4 of exp itself. The sum and the division add n + 2, the head mask and the sum of values n
// + 1.
inline void expect_row(const Problem& p, std::int64_t sequence, std::int64_t head, std::int64_t query, Expected& out) {
  constexpr double kRounding = 1.01 * 0x1p-24;
  const std::int64_t n = p.key_lengths[sequence], row = (head * p.lengths[sequence] + query) * n;
  const double roundings = static_cast<double>(3 * p.shape.head_dim + 8);
  std::vector<double>&scores = out.scores[sequence], &probs = out.probs[sequence];
  double most = -kInfinity, least = kInfinity, off = 0, sum = 0;
  for (std::int64_t key = 0; key < n; ++key) {
    const Score score = exact_score(p, sequence, head, query, key);
    scores[row + key] = score.value;
    out.scores_bound[sequence][row + key] = roundings * kRounding * score.magnitude;
    off = std::max(off, out.scores_bound[sequence][row + key]);
    if (score.value == -kInfinity) continue;
    most = std::max(most, score.value);
    least = std::min(least, score.value);
  }
  if (most == -kInfinity) return;
  for (std::int64_t key = 0; key < n; ++key) sum += std::exp(scores[row + key] - most);
  const double relative = 2 * (off + (most - least) * kRounding) + static_cast<double>(2 * n + 12) * kRounding;
  const std::int64_t dim = p.shape.value_size(), kv_head = head / (p.shape.heads / p.shape.kv_heads);
  for (std::int64_t key = 0; key < n; ++key) {
    const double prob = std::exp(scores[row + key] - most) / sum * (p.c.head_mask ? p.head_mask[head] : 1);
    probs[row + key] = prob;
    out.probs_bound[sequence][row + key] = relative * std::abs(prob);
    const float* value = p.values() + (p.key_start[sequence] + key) * p.kv_stride + kv_head * dim;
    const std::int64_t to = (p.seq_start[sequence] + query) * p.shape.context_width() + head * dim;
    for (std::int64_t x = 0; x < dim; ++x) {
      const double part = p.factor(static_cast<std::int64_t>(sequence), head, query, key) * prob * value[x];
      out.context[to + x] += part;
      out.bound[to + x] += relative * std::abs(part);
    }
  }
}

inline Expected exact(const Problem& p) {
  Expected out;
  out.context.resize(static_cast<std::size_t>(p.tokens() * p.shape.context_width()));
  out.bound.resize(out.context.size());
  for (std::int64_t i = 0; i < p.batch(); ++i) {
    const auto size = static_cast<std::size_t>(p.shape.heads * p.lengths[i] * p.key_lengths[i]);
    for (auto* tensors : {&out.scores, &out.probs, &out.scores_bound, &out.probs_bound}) tensors->emplace_back(size);
    for (std::int64_t head = 0; head < p.shape.heads; ++head) {
      for (std::int64_t query = 0; query < p.lengths[i]; ++query) expect_row(p, i, head, query, out);
    }
  }
  return out;
}

}  // namespace wattn::test
