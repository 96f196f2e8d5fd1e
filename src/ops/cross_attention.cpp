#include "ops/cross_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/pack.h"

namespace wattn {
namespace {

// Queries scored at a time; take_causal_scratch() has room for as many.
constexpr std::int64_t kQueryBlock = 48;

// One call.
struct Run {
  const Kernels& kernels;
  const Cache& cache;
  const CausalTerms& terms;
  const CrossTokens& tokens;
  const float* queries;
  int layer;
  float* context;
};

// One head of one sequence. probs: [new tokens, length], or null.
void attend(const Run& run, std::int64_t sequence, std::int64_t head, float* scores, float* probs) {
  const std::int64_t head_dim = run.cache.shape.head_dim;
  const std::int64_t width = run.cache.shape.heads * head_dim;
  const std::int64_t source = run.tokens.sources[sequence];
  const std::int64_t length = run.tokens.lengths[source];
  const float* keys = run.cache.at(source, run.layer, head);
  const std::int64_t begin = run.tokens.seq_start[sequence], end = run.tokens.seq_start[sequence + 1];
  for (std::int64_t row = begin; row < end; row += kQueryBlock) {
    const std::int64_t rows = std::min(kQueryBlock, end - row);
    run.kernels.gemm_f32({.a = run.queries + row * width + head * head_dim,
                          .a_stride = width,
                          .b = keys,
                          .c = scores,
                          .c_stride = length,
                          .m = rows,
                          .n = length,
                          .k = head_dim,
                          .scale = run.terms.scaled ? 1.0f / std::sqrt(static_cast<float>(head_dim)) : 1.0f});
    run.kernels.softmax_rows(scores, rows, length, length);
    if (run.terms.head_mask) {
      for (std::int64_t i = 0; i < rows * length; ++i) scores[i] *= run.terms.head_mask[head];
    }
    if (probs) std::copy_n(scores, rows * length, probs + (row - begin) * length);
    const float* values = keys + run.cache.key_size();
    for (std::int64_t column = 0; column < head_dim; column += kPanelWidth, values += run.cache.length * kPanelWidth) {
      run.kernels.gemm_f32({.a = scores,
                            .a_stride = length,
                            .b = values,
                            .c = run.context + row * width + head * head_dim + column,
                            .c_stride = width,
                            .m = rows,
                            .n = std::min(kPanelWidth, head_dim - column),
                            .k = length});
    }
  }
}

}  // namespace

void store_source(const Cache& cache, std::int64_t place, std::int64_t layer, const float* kv, std::int64_t tokens) {
  const std::int64_t head_dim = cache.shape.head_dim;
  const std::int64_t width = cache.shape.heads * head_dim;
  for (std::int64_t head = 0; head < cache.shape.heads; ++head) {
    float* keys = cache.at(place, layer, head);
    float* values = keys + cache.key_size();
    for (std::int64_t i = 0; i < tokens; ++i) {
      const float* key = kv + i * 2 * width + head * head_dim;
      pack_row(keys, i, key, head_dim);
      for (std::int64_t j = 0; j < head_dim; ++j) {
        values[(j / kPanelWidth * cache.length + i) * kPanelWidth + j % kPanelWidth] = key[width + j];
      }
    }
  }
}

void cross_attention(const Compute& compute, const Cache& cache, const CausalTerms& terms, const CrossTokens& tokens,
                     const float* queries, int layer, std::span<const CausalScratch> scratch, float* context, Taps* taps) {
  const auto sequences = static_cast<std::int64_t>(tokens.sources.size());
  const std::int64_t heads = cache.shape.heads;
  const Run run{compute.kernels, cache, terms, tokens, queries, layer, context};
  if (!taps) {
    compute.team.run(sequences * heads,
                     [&](std::int64_t i, int thread) { attend(run, i / heads, i % heads, scratch[thread].scores, nullptr); });
    return;
  }
  for (std::int64_t i = 0; i < sequences; ++i) {
    const std::int64_t count = tokens.seq_start[i + 1] - tokens.seq_start[i];
    const std::int64_t length = tokens.lengths[tokens.sources[i]];
    std::vector<float> probs(static_cast<std::size_t>(heads * count * length));
    for (std::int64_t head = 0; head < heads; ++head) {
      attend(run, i, head, scratch[0].scores, probs.data() + head * count * length);
    }
    const std::int64_t dims[] = {heads, count, length};
    taps->on_tensor({"cross_attention.probs", layer, static_cast<int>(i)}, {probs.data(), dims});
  }
}

}  // namespace wattn
