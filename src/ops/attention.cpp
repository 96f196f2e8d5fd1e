#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/pack.h"

namespace wattn {
namespace {

// Queries scored at a time: the scores of a long sequence never exist as a whole.
constexpr std::int64_t kQueryBlock = 48;

// Collects [heads, seq, seq] from the blocks, only when somebody looks.
struct ScoreTap {
  std::vector<float> whole;
  void add(const float* scores, std::int64_t head, std::int64_t row, std::int64_t rows, std::int64_t seq) {
    std::copy(scores, scores + rows * seq, whole.begin() + (head * seq + row) * seq);
  }
};
struct ScoreTaps {
  ScoreTap scores;
  ScoreTap probs;
};

struct Sequence {
  std::int64_t begin;
  std::int64_t seq;
};

// One head of one sequence. qkv and context as self_attention has them.
void attend(const Kernels& kernels, const AttentionShape& shape, const float* qkv, Sequence at, std::int64_t head,
            const AttentionScratch& scratch, float* context, ScoreTaps* taps) {
  const std::int64_t hidden = shape.hidden();
  const std::int64_t head_dim = shape.head_dim;
  const std::int64_t stride = 3 * hidden;
  const std::int64_t seq = at.seq;
  const float* query = qkv + at.begin * stride + head * head_dim;
  pack_rows(scratch.keys, query + hidden, seq, head_dim, stride);
  pack_transposed(scratch.values, query + 2 * hidden, head_dim, seq, stride);
  for (std::int64_t row = 0; row < seq; row += kQueryBlock) {
    const std::int64_t rows = std::min(kQueryBlock, seq - row);
    kernels.gemm_f32({.a = query + row * stride,
                      .a_stride = stride,
                      .b = scratch.keys,
                      .c = scratch.scores,
                      .c_stride = seq,
                      .m = rows,
                      .n = seq,
                      .k = head_dim,
                      .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))});
    if (taps) taps->scores.add(scratch.scores, head, row, rows, seq);
    kernels.softmax_rows(scratch.scores, rows, seq, seq);
    if (taps) taps->probs.add(scratch.scores, head, row, rows, seq);
    kernels.gemm_f32({.a = scratch.scores,
                      .a_stride = seq,
                      .b = scratch.values,
                      .c = context + (at.begin + row) * hidden + head * head_dim,
                      .c_stride = hidden,
                      .m = rows,
                      .n = head_dim,
                      .k = seq});
  }
}

}  // namespace

AttentionScratch take_attention_scratch(Arena& arena, const AttentionShape& shape, std::int64_t max_seq) {
  AttentionScratch scratch;
  scratch.keys = arena.take<float>(packed_size(max_seq, shape.head_dim));
  scratch.values = arena.take<float>(packed_size(shape.head_dim, max_seq));
  scratch.scores = arena.take<float>(kQueryBlock * max_seq);
  return scratch;
}

void self_attention(const Compute& compute, const AttentionShape& shape, const float* qkv, std::span<const std::int32_t> seq_start,
                    std::span<const AttentionScratch> scratch, float* context, Taps* taps, int layer) {
  const auto sequences = static_cast<std::int64_t>(seq_start.size()) - 1;
  const auto sequence = [&](std::int64_t i) { return Sequence{seq_start[i], seq_start[i + 1] - seq_start[i]}; };
  if (!taps) {
    compute.team.run(sequences * shape.heads, [&](std::int64_t i, int thread) {
      attend(compute.kernels, shape, qkv, sequence(i / shape.heads), i % shape.heads, scratch[thread], context, nullptr);
    });
    return;
  }
  ScoreTaps collected;
  for (std::int64_t i = 0; i < sequences; ++i) {
    const std::int64_t seq = sequence(i).seq;
    collected.scores.whole.resize(shape.heads * seq * seq);
    collected.probs.whole.resize(shape.heads * seq * seq);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      attend(compute.kernels, shape, qkv, sequence(i), head, scratch[0], context, &collected);
    }
    const std::int64_t dims[] = {shape.heads, seq, seq};
    const int at = static_cast<int>(i);
    taps->on_tensor({"attention.scores", layer, at}, {collected.scores.whole.data(), dims});
    taps->on_tensor({"attention.probs", layer, at}, {collected.probs.whole.data(), dims});
  }
}

}  // namespace wattn
