#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/pack.h"

namespace wattn {
namespace {

// Queries scored at a time: the scores of a long sequence never exist as a whole.
constexpr std::int64_t kQueryBlock = 48;

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

// Collects [heads, seq, seq] from the blocks, only when somebody looks. What is outside a window stays as it began.
struct ScoreTap {
  std::vector<float> whole;
  void add(const float* scores, std::int64_t head, Range rows, Range keys, std::int64_t seq) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row, scores += keys.size()) {
      std::copy_n(scores, keys.size(), whole.begin() + (head * seq + row) * seq + keys.begin);
    }
  }
};
struct ScoreTaps {
  ScoreTap scores;
  ScoreTap probs;
};

// One run of self_attention.
struct Run {
  const Kernels& kernels;
  const AttentionShape& shape;
  const AttentionTerms& terms;
  const float* qkv;
  float* context;
};

void add_bias(const DistanceBias& bias, std::int64_t head, Range rows, Range keys, float* scores) {
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const float* of_row = bias.at(head) - i;
    for (std::int64_t j = keys.begin; j < keys.end; ++j) *scores++ += of_row[j];
  }
}

void close_window(std::int64_t window, Range rows, Range keys, float* scores) {
  for (std::int64_t i = rows.begin; i < rows.end; ++i, scores += keys.size()) {
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      if (j < i - window || j > i + window) scores[j - keys.begin] = -std::numeric_limits<float>::infinity();
    }
  }
}

// One head of one sequence.
void attend(const Run& run, Range sequence, std::int64_t head, const AttentionScratch& scratch, ScoreTaps* taps) {
  const AttentionTerms& terms = run.terms;
  const std::int64_t hidden = run.shape.hidden();
  const std::int64_t head_dim = run.shape.head_dim;
  const std::int64_t stride = 3 * hidden;
  const std::int64_t seq = sequence.size();
  const float* query = run.qkv + sequence.begin * stride + head * head_dim;
  const float products = terms.relative ? 3.0f : 1.0f;  // of which a score is the sum
  const float scale = terms.scaled ? 1.0f / std::sqrt(static_cast<float>(head_dim) * products) : 1.0f;
  const RelativeHead relative{terms.relative, scratch.relative, seq, head, head_dim, hidden, scale};
  if (terms.relative) prepare_relative(run.kernels, relative, query + hidden, stride);
  for (std::int64_t row = 0; row < seq; row += kQueryBlock) {
    const Range rows{row, std::min(row + kQueryBlock, seq)};
    Range keys{0, seq};
    if (terms.window >= 0) keys = {std::max<std::int64_t>(0, row - terms.window), std::min(seq, rows.end + terms.window)};
    if (row == 0 || terms.window >= 0) {
      const float* first = query + keys.begin * stride;
      pack_rows(scratch.keys, first + hidden, keys.size(), head_dim, stride);
      pack_transposed(scratch.values, first + 2 * hidden, head_dim, keys.size(), stride);
    }
    run.kernels.gemm_f32({.a = query + row * stride,
                          .a_stride = stride,
                          .b = scratch.keys,
                          .c = scratch.scores,
                          .c_stride = keys.size(),
                          .m = rows.size(),
                          .n = keys.size(),
                          .k = head_dim,
                          .scale = scale});
    if (terms.bias) add_bias(*terms.bias, head, rows, keys, scratch.scores);
    if (terms.relative) add_relative(run.kernels, relative, query + row * stride, stride, row, rows.size(), scratch.scores);
    if (terms.window >= 0) close_window(terms.window, rows, keys, scratch.scores);
    if (taps) taps->scores.add(scratch.scores, head, rows, keys, seq);
    run.kernels.softmax_rows(scratch.scores, rows.size(), keys.size(), keys.size());
    if (terms.head_mask) {
      for (std::int64_t i = 0; i < rows.size() * keys.size(); ++i) scratch.scores[i] *= terms.head_mask[head];
    }
    if (taps) taps->probs.add(scratch.scores, head, rows, keys, seq);
    run.kernels.gemm_f32({.a = scratch.scores,
                          .a_stride = keys.size(),
                          .b = scratch.values,
                          .c = run.context + (sequence.begin + row) * hidden + head * head_dim,
                          .c_stride = hidden,
                          .m = rows.size(),
                          .n = head_dim,
                          .k = keys.size()});
  }
}

}  // namespace

AttentionScratch take_attention_scratch(Arena& arena, const AttentionShape& shape, std::int64_t max_seq, std::int64_t buckets) {
  AttentionScratch scratch;
  scratch.keys = arena.take<float>(packed_size(max_seq, shape.head_dim));
  scratch.values = arena.take<float>(packed_size(shape.head_dim, max_seq));
  scratch.scores = arena.take<float>(kQueryBlock * max_seq);
  if (buckets > 0) scratch.relative = take_disentangled_scratch(arena, shape.head_dim, max_seq, buckets, kQueryBlock);
  return scratch;
}

void self_attention(const Compute& compute, const AttentionShape& shape, const AttentionTerms& terms, const float* qkv,
                    std::span<const std::int32_t> seq_start, std::span<const AttentionScratch> scratch, float* context, Taps* taps,
                    int layer) {
  const auto sequences = static_cast<std::int64_t>(seq_start.size()) - 1;
  const auto sequence = [&](std::int64_t i) { return Range{seq_start[i], seq_start[i + 1]}; };
  const Run run{compute.kernels, shape, terms, qkv, context};
  if (!taps) {
    compute.team.run(sequences * shape.heads, [&](std::int64_t i, int thread) {
      attend(run, sequence(i / shape.heads), i % shape.heads, scratch[thread], nullptr);
    });
    return;
  }
  for (std::int64_t i = 0; i < sequences; ++i) {
    const std::int64_t seq = sequence(i).size();
    ScoreTaps collected;
    collected.scores.whole.assign(shape.heads * seq * seq, -std::numeric_limits<float>::infinity());
    collected.probs.whole.assign(shape.heads * seq * seq, 0.0f);
    for (std::int64_t head = 0; head < shape.heads; ++head) attend(run, sequence(i), head, scratch[0], &collected);
    const std::int64_t dims[] = {shape.heads, seq, seq};
    const int at = static_cast<int>(i);
    taps->on_tensor({"attention.scores", layer, at}, {collected.scores.whole.data(), dims});
    taps->on_tensor({"attention.probs", layer, at}, {collected.probs.whole.data(), dims});
  }
}

}  // namespace wattn
