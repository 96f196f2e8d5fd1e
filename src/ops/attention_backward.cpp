// build: -Os
#include <algorithm>
#include <cassert>

#include "kernels/gradients.h"
#include "ops/activation.h"
#include "ops/attention_blocks.h"

namespace wattn {
namespace {

using namespace attention_blocks;

// Memory of a thread of the backward pass, for one kv head of one sequence and a block of its queries.
struct BackwardScratch {
  float* keys;         // packed for the scores, [panels][head_dim][8]
  float* keys_by_dim;  // packed for dQ: [ceil(head_dim / 8)][keys][8]
  float* values;       // packed for dP: [panels][value_dim][8]
  float* probs;        // [block, keys]
  float* d_scores;     // [block, keys]
  float* transposed;   // [keys, block]
  float* rows;         // a block of queries or of the context's gradient, packed: [ceil(dim / 8)][block][8]
  float* product;      // [keys, dim], or [block, dim]
  DisentangledScratch relative;
  float *of_queries, *of_keys;  // [block, buckets] and [keys, buckets], of RelativeGradient
  std::int64_t floats;          // of all
};

BackwardScratch cut_backward_scratch(const AttentionShape& shape, std::int64_t keys, std::int64_t buckets, float* at) {
  const std::int64_t dim = std::max(shape.head_dim, shape.value_size()), wide = (dim + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
  const std::int64_t padded = whole_panels(keys);
  std::int64_t used = 0;
  const auto take = [&](std::int64_t count) {
    float* out = at ? at + used : nullptr;
    used += count;
    return out;
  };
  BackwardScratch out{
      .keys = take(padded * shape.head_dim),
      .keys_by_dim = take(wide * padded),
      .values = take(padded * shape.value_size()),
      .probs = take(kQueryBlock * padded),
      .d_scores = take(kQueryBlock * padded),
      .transposed = take(padded * kQueryBlock),
      .rows = take(wide * kQueryBlock),
      .product = take(std::max(padded, kQueryBlock) * dim),
      .relative = {take(2 * packed_size(buckets, shape.head_dim)), take(padded * buckets), take(kQueryBlock * buckets)},
      .of_queries = take(kQueryBlock * buckets),
      .of_keys = take(padded * buckets),
      .floats = 0};
  out.floats = used;
  return out;
}

// to[row, :] += from[row, :]; from is contiguous.
void add_rows(const Kernels& kernels, const float* from, std::int64_t rows, std::int64_t width, float* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < rows; ++i) kernels.axpy(1.0f, from + i * width, to + i * stride, width);
}

// One kv head of one sequence, and the gradients of its rows.
struct BackwardHead {
  const Call& call;
  const Sequence& sequence;
  const AttentionGradient& gradient;
  const BackwardScratch& scratch;
  std::int64_t kv_head;
  float *d_keys, *d_values;  // of the sequence's first key
  std::int64_t kv_stride, value_stride;
  const RelativeHead* relative = nullptr;
};

// to[key, :] += scale * the sum over the block's rows of by_row[row, key] * rows[row, :]. rows: stride apart, width wide.
void add_products(const BackwardHead& head, const Block& block, const float* by_row, const float* rows, std::int64_t row_stride,
                  std::int64_t width, float scale, float* to, std::int64_t stride) {
  const BackwardScratch& scratch = head.scratch;
  const std::int64_t keys = block.keys.size();
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t key = 0; key < keys; ++key) scratch.transposed[key * block.rows + i] = by_row[i * keys + key];
  }
  pack_transposed(scratch.rows, rows, width, block.rows, row_stride);
  head.call.kernels.gemm_f32({.a = scratch.transposed,
                              .a_stride = block.rows,
                              .b = scratch.rows,
                              .c = scratch.product,
                              .c_stride = width,
                              .m = keys,
                              .n = width,
                              .k = block.rows,
                              .scale = scale});
  add_rows(head.call.kernels, scratch.product, keys, width, to + block.keys.begin * stride, stride);
}

void add_relative_gradients(const BackwardHead& head, const Block& d_scores) {
  const auto& [kernels, shape, terms, input, context] = head.call;
  const std::int64_t query_at = (head.sequence.begin + d_scores.query) * input.query_stride + d_scores.head * shape.head_dim;
  relative_backward(kernels, *head.relative,
                    {input.queries + query_at, input.query_stride, head.sequence.position + d_scores.query, d_scores.rows,
                     d_scores.keys.begin, d_scores.keys.size(), nullptr},
                    {.d_scores = d_scores.scores,
                     .keys = head.sequence.fresh.keys + head.kv_head * shape.head_dim,
                     .key_stride = head.kv_stride,
                     .d_queries = head.gradient.d_queries + query_at,
                     .d_keys = head.d_keys,
                     .d_relative = head.gradient.d_relative,
                     .of_queries = head.scratch.of_queries,
                     .of_keys = head.scratch.of_keys});
}

// Turns probabilities and the gradient of them into the gradient of the scores' products, before the scale; adds that of the bias.
void scores_backward(const BackwardHead& head, const Block& block, float* d_scores) {
  const ScoreTerms& terms = head.call.terms;
  const std::int64_t keys = block.keys.size();
  // The probabilities have the head's factor m: with p = m * softmax, p (dp - sum of p dp / m) is the gradient.
  const float factor = terms.head_mask ? terms.head_mask[block.head] : 1.0f;
  gradient_kernels().softmax_backward_rows(block.scores, factor == 0.0f ? 0.0f : 1.0f / factor, d_scores, block.rows, keys);
  for (std::int64_t i = 0; head.gradient.d_bias && i < block.rows; ++i) {
    float* to = head.gradient.d_bias->at(block.head) - (head.sequence.position + block.query_at(i)) + block.keys.begin;
    for (std::int64_t key = 0; key < keys; ++key) to[key] += d_scores[i * keys + key];
  }
  const Block gradients{block.head, 0, block.query, block.rows, block.keys, d_scores};
  if (head.relative) add_relative_gradients(head, gradients);
  for (const BroadcastMask& mask : terms.multiply) {
    apply_mask(mask, head.sequence, gradients, [](float d, float x) { return d * x; });
  }
  if (terms.softcap == 0) return;
  products(head.call, head.sequence, block, head.scratch.keys, head.scratch.transposed);
  softcap_backward(terms.softcap, head.scratch.transposed, block.rows * keys, d_scores);
}

void block_backward(const BackwardHead& head, Block block) {
  const auto& [kernels, shape, terms, input, context] = head.call;
  const Sequence& sequence = head.sequence;
  const BackwardScratch& scratch = head.scratch;
  block.keys = {keys_of(terms, sequence, block.query).begin / kPanelWidth * kPanelWidth,
                keys_of(terms, sequence, block.query + block.rows - 1).end};
  const std::int64_t keys = block.keys.size(), value_dim = shape.value_size(), width = shape.context_width();
  if (keys <= 0) return;
  score(head.call, sequence, block, {scratch.keys, nullptr, whole_panels(sequence.keys)}, head.relative, nullptr);
  const float* d_context = head.gradient.d_context + (sequence.begin + block.query) * width + block.head * value_dim;
  const float* weights = block.scores;  // of the values
  if (terms.dropout) {
    std::copy_n(block.scores, block.rows * keys, scratch.d_scores);
    drop_block(head.call, sequence, block, scratch.d_scores);
    weights = scratch.d_scores;
  }
  add_products(head, block, weights, d_context, width, value_dim, 1.0f, head.d_values, head.value_stride);
  kernels.gemm_f32({.a = d_context,
                    .a_stride = width,
                    .b = scratch.values + block.keys.begin * value_dim,
                    .c = scratch.d_scores,
                    .c_stride = keys,
                    .m = block.rows,
                    .n = keys,
                    .k = value_dim});
  drop_block(head.call, sequence, block, scratch.d_scores);
  scores_backward(head, block, scratch.d_scores);
  const std::int64_t query_at = (sequence.begin + block.query) * input.query_stride + block.head * shape.head_dim;
  add_products(head, block, scratch.d_scores, input.queries + query_at, input.query_stride, shape.head_dim, terms.scale,
               head.d_keys, head.kv_stride);
  kernels.gemm_f32({.a = scratch.d_scores,
                    .a_stride = keys,
                    .b = scratch.keys_by_dim + block.keys.begin * kPanelWidth,
                    .b_depth = whole_panels(sequence.keys),
                    .c = scratch.product,
                    .c_stride = shape.head_dim,
                    .m = block.rows,
                    .n = shape.head_dim,
                    .k = keys,
                    .scale = terms.scale});
  add_rows(kernels, scratch.product, block.rows, shape.head_dim, head.gradient.d_queries + query_at, input.query_stride);
}

}  // namespace

std::int64_t attention_backward_scratch(const AttentionShape& shape, std::int64_t max_tokens, std::int64_t buckets) {
  return cut_backward_scratch(shape, max_tokens, buckets, nullptr).floats;
}

void attention_backward(const Compute& compute, const AttentionShape& shape, const ScoreTerms& terms, const AttentionInput& input,
                        std::span<float* const> scratch, const AttentionGradient& gradient) {
  assert(!input.cache);
  const Call call{compute.kernels, shape, terms, input, nullptr};
  const auto batch = static_cast<std::int64_t>(input.seq_start.size()) - 1;
  const std::int64_t buckets = terms.relative ? terms.relative->count : 0;
  const auto run = [&](std::int64_t index, std::int64_t kv_head, int thread) {
    const Sequence sequence = sequence_at(input, index);
    const auto& start = input.key_start.empty() ? input.seq_start : input.key_start;
    const std::int64_t first_key = start[sequence.index], length = whole_panels(sequence.keys);
    const BackwardScratch memory = cut_backward_scratch(shape, sequence.keys, buckets, scratch[thread]);
    const KvRows& fresh = sequence.fresh;
    const float* keys = fresh.keys + kv_head * shape.head_dim;
    pack_rows(memory.keys, keys, fresh.tokens, shape.head_dim, fresh.stride);
    for (std::int64_t column = 0; column < shape.head_dim; column += kPanelWidth) {
      pack_transposed(memory.keys_by_dim + column * length, keys + column, std::min(kPanelWidth, shape.head_dim - column),
                      fresh.tokens, fresh.stride);
    }
    pack_rows(memory.values, fresh.values + kv_head * shape.value_size(), fresh.tokens, shape.value_size(), fresh.value_stride);
    BackwardHead head{call,
                      sequence,
                      gradient,
                      memory,
                      kv_head,
                      gradient.d_keys + first_key * fresh.stride + kv_head * shape.head_dim,
                      gradient.d_values + first_key * fresh.value_stride + kv_head * shape.value_size(),
                      fresh.stride,
                      fresh.value_stride};
    for (std::int64_t i = kv_head * shape.group(); i < (kv_head + 1) * shape.group(); ++i) {
      const RelativeHead relative = relative_head(call, i, memory.relative);
      if (terms.relative) {
        prepare_relative(compute.kernels, relative, keys, fresh.stride, sequence.keys);
        head.relative = &relative;
      }
      for (std::int64_t query = 0; query < sequence.queries; query += kQueryBlock) {
        block_backward(head, {.head = i,
                              .head_step = 0,
                              .query = query,
                              .rows = std::min(kQueryBlock, sequence.queries - query),
                              .scores = memory.probs});
      }
    }
  };
  // Sequences share the gradients of a head's bias and relative rows: one task then does all sequences of a head.
  if (gradient.d_bias || gradient.d_relative) {
    compute.team.run(shape.kv_heads, [&](std::int64_t kv_head, int thread) {
      for (std::int64_t i = 0; i < batch; ++i) run(i, kv_head, thread);
    });
    return;
  }
  compute.team.run(batch * shape.kv_heads,
                   [&](std::int64_t task, int thread) { run(task / shape.kv_heads, task % shape.kv_heads, thread); });
}

}  // namespace wattn
