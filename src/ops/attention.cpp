#include "ops/attention.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/part.h"
#include "kernels/gradients.h"
#include "kernels/pack.h"
#include "ops/activation.h"
#include "ops/kv_q8.h"

namespace wattn {
namespace {

// Queries scored at a time, so that the full score matrix of a long sequence never exists.
constexpr std::int64_t kQueryBlock = 48;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

std::int64_t whole_panels(std::int64_t tokens) { return (tokens + kPanelWidth - 1) / kPanelWidth * kPanelWidth; }

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

struct Call {
  const Kernels& kernels;
  const AttentionShape& shape;
  const ScoreTerms& terms;
  const AttentionInput& input;
  float* context;
};

// One sequence of the batch.
struct Sequence {
  std::int64_t index;
  std::int64_t begin;  // of its queries in the batch
  std::int64_t queries;
  std::int64_t position;  // of the first query
  std::int64_t keys;      // stored in the slot and new
  KvRows fresh;           // new keys and values, all kv heads
};

Sequence sequence_at(const AttentionInput& input, std::int64_t i) {
  Sequence out{i, input.seq_start[i], input.seq_start[i + 1] - input.seq_start[i], 0, 0, {}};
  if (!input.keys) {
    out.keys = input.lengths[input.slots[i]];
    return out;
  }
  const auto& start = input.key_start.empty() ? input.seq_start : input.key_start;
  const std::int64_t value_stride = input.value_stride > 0 ? input.value_stride : input.kv_stride;
  out.fresh = {input.keys + start[i] * input.kv_stride, input.values + start[i] * value_stride, input.kv_stride,
               start[i + 1] - start[i], value_stride};
  const bool positioned = input.cache || (!input.key_start.empty() && !input.position_ids.empty());
  if (positioned && out.queries > 0) out.position = input.position_ids[out.begin];
  out.keys = (input.cache ? out.position : 0) + out.fresh.tokens;
  return out;
}

// Rows of scores computed together: consecutive queries of one head, or one query of several heads.
struct Block {
  std::int64_t head;
  std::int64_t head_step;  // 1: row i belongs to head + i; 0: all rows belong to head
  std::int64_t query;      // of the first row, counted within the sequence
  std::int64_t rows;
  Range keys{};
  float* scores;  // [rows, keys.size()]

  std::int64_t head_at(std::int64_t row) const { return head + row * head_step; }
  std::int64_t query_at(std::int64_t row) const { return query + row * (1 - head_step); }
  float* scores_at(std::int64_t row) const { return scores + row * keys.size(); }
};

// Scores and probabilities of one sequence, [heads, queries, keys] each, collected for taps.
struct Captured {
  std::vector<float> scores, probs;
  Captured(std::int64_t heads, const Sequence& sequence)
      : scores(static_cast<std::size_t>(heads * sequence.queries * sequence.keys), kMinusInfinity), probs(scores.size()) {}
};

void collect(const Sequence& sequence, const Block& block, std::vector<float>& whole) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const std::int64_t row = block.head_at(i) * sequence.queries + block.query_at(i);
    std::copy_n(block.scores_at(i), block.keys.size(), whole.begin() + row * sequence.keys + block.keys.begin);
  }
}

// The keys a query attends to.
Range keys_of(const ScoreTerms& terms, const Sequence& sequence, std::int64_t query) {
  const std::int64_t position = sequence.position + query;
  Range out{0, sequence.keys};
  if (terms.causal) out.end = std::min(out.end, position + 1);
  if (terms.window_after >= 0) out.end = std::min(out.end, position + terms.window_after + 1);
  if (terms.window_before >= 0) out.begin = std::clamp<std::int64_t>(position - terms.window_before, 0, out.end);
  return out;
}

void add_bias(const ScoreTerms& terms, const Sequence& sequence, const Block& block) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const float* bias = terms.bias->at(block.head_at(i)) - (sequence.position + block.query_at(i));
    float* score = block.scores_at(i);
    for (std::int64_t key = block.keys.begin; key < block.keys.end; ++key) *score++ += bias[key];
  }
}

// score = f(score, element of the mask)
template <class F>
void apply_mask(const BroadcastMask& mask, const Sequence& sequence, const Block& block, const F& f) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const float* row = mask.data + sequence.index * mask.sequence + block.head_at(i) * mask.head + block.query_at(i) * mask.query;
    float* score = block.scores_at(i);
    for (std::int64_t key = block.keys.begin; key < block.keys.end; ++key, ++score) *score = f(*score, row[key * mask.key]);
  }
}

void hide_keys(const ScoreTerms& terms, const Sequence& sequence, const Block& block) {
  if (!terms.causal && terms.window_before < 0 && terms.window_after < 0) return;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const Range seen = keys_of(terms, sequence, block.query_at(i));
    float* row = block.scores_at(i);
    if (seen.begin > block.keys.begin) std::fill(row, row + seen.begin - block.keys.begin, kMinusInfinity);
    std::fill(row + seen.end - block.keys.begin, row + block.keys.size(), kMinusInfinity);
  }
}

// Softmax of each row; zeros where every key is hidden.
void masked_softmax(const Kernels& kernels, const Block& block) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    float* row = block.scores_at(i);
    float* end = row + block.keys.size();
    if (std::all_of(row, end, [](float score) { return score == kMinusInfinity; })) {
      std::fill(row, end, 0.0f);
    } else {
      kernels.softmax_rows(row, 1, block.keys.size(), block.keys.size());
    }
  }
}

// The products of a block's queries with its keys, scaled and capped: [rows, keys].
void products(const Call& call, const Sequence& sequence, const Block& block, const float* keys, float* out) {
  const auto& [kernels, shape, terms, input, context] = call;
  const std::int64_t count = block.keys.size();
  kernels.gemm_f32({.a = input.queries + (sequence.begin + block.query) * input.query_stride + block.head * shape.head_dim,
                    .a_stride = block.head_step ? shape.head_dim : input.query_stride,
                    .b = keys + block.keys.begin * shape.head_dim,
                    .c = out,
                    .c_stride = count,
                    .m = block.rows,
                    .n = count,
                    .k = shape.head_dim,
                    .scale = terms.scale});
  softcap(kernels, terms.softcap, block.rows * count, out);
}

// Computes a block's scores and turns them into probabilities in place.
void score(const Call& call, const Sequence& sequence, const Block& block, const KvHead& kv, const RelativeHead* relative,
           Captured* captured) {
  const auto& [kernels, shape, terms, input, context] = call;
  const float* queries = input.queries + (sequence.begin + block.query) * input.query_stride + block.head * shape.head_dim;
  const std::int64_t query_stride = block.head_step ? shape.head_dim : input.query_stride;
  const std::int64_t keys = block.keys.size();
  products(call, sequence, block, kv.keys, block.scores);
  for (const BroadcastMask& mask : terms.multiply) apply_mask(mask, sequence, block, [](float s, float x) { return s * x; });
  if (terms.bias) add_bias(terms, sequence, block);
  if (relative) {
    add_relative(kernels, *relative,
                 {queries, query_stride, sequence.position + block.query, block.rows, block.keys.begin, keys, block.scores});
  }
  for (const BroadcastMask& mask : terms.add) apply_mask(mask, sequence, block, [](float s, float x) { return s + x; });
  hide_keys(terms, sequence, block);
  if (captured) collect(sequence, block, captured->scores);
  if (terms.multiply.empty() && terms.add.empty() && input.key_start.empty()) {
    kernels.softmax_rows(block.scores, block.rows, keys, keys);
  } else {
    masked_softmax(kernels, block);
  }
  for (std::int64_t i = 0; terms.head_mask && i < block.rows; ++i) {
    float* row = block.scores_at(i);
    for (std::int64_t key = 0; key < keys; ++key) row[key] *= terms.head_mask[block.head_at(i)];
  }
  if (captured) collect(sequence, block, captured->probs);
}

// Factors of a block's probabilities, to themselves or to their gradients.
void drop_block(const Call& call, const Sequence& sequence, const Block& block, float* values) {
  const ProbabilityDropout* dropout = call.terms.dropout;
  for (std::int64_t i = 0; dropout && i < block.rows; ++i) {
    const std::int64_t row = (sequence.begin + block.query_at(i)) * call.shape.heads + block.head_at(i);
    dropout->apply(dropout->dropout, static_cast<std::uint64_t>(row), block.keys.begin, block.keys.size(),
                   values + i * block.keys.size());
  }
}

void attend_block(const Call& call, const Sequence& sequence, Block block, const KvHead& kv, const RelativeHead* relative,
                  Captured* captured) {
  // Starts at a panel boundary, so that a key occupies the same lane of every sum whatever the block.
  block.keys = {keys_of(call.terms, sequence, block.query).begin / kPanelWidth * kPanelWidth,
                keys_of(call.terms, sequence, block.query_at(block.rows - 1)).end};
  score(call, sequence, block, kv, relative, captured);
  drop_block(call, sequence, block, block.scores);
  const std::int64_t value_dim = call.shape.value_size(), width = call.shape.context_width();
  call.kernels.gemm_f32({.a = block.scores,
                         .a_stride = block.keys.size(),
                         .b = kv.values + block.keys.begin * kPanelWidth,
                         .b_depth = kv.length,
                         .c = call.context + (sequence.begin + block.query) * width + block.head * value_dim,
                         .c_stride = block.head_step ? value_dim : width,
                         .m = block.rows,
                         .n = value_dim,
                         .k = block.keys.size()});
}

RelativeHead relative_head(const Call& call, std::int64_t head, const DisentangledScratch& scratch) {
  const AttentionShape& shape = call.shape;
  return {call.terms.relative,
          scratch,
          shape.head_dim,
          head * shape.head_dim,
          shape.query_width() + head / shape.group() * shape.head_dim,
          shape.query_width() + shape.kv_width(),
          call.terms.scale};
}

// heads: some that share one kv head.
void attend(const Call& call, const Sequence& sequence, Range heads, const KvHead& kv, const AttentionScratch& scratch,
            Captured* captured) {
  if (sequence.queries == 1 && heads.size() > 1) {  // one product that reads the keys once
    attend_block(call, sequence, {.head = heads.begin, .head_step = 1, .query = 0, .rows = heads.size(), .scores = scratch.scores},
                 kv, nullptr, captured);
    return;
  }
  const AttentionShape& shape = call.shape;
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    const std::int64_t kv_column = head / shape.group() * shape.head_dim;
    const RelativeHead relative = relative_head(call, head, scratch.relative);
    if (call.terms.relative) {
      prepare_relative(call.kernels, relative, sequence.fresh.keys + kv_column, sequence.fresh.stride, sequence.keys);
    }
    for (std::int64_t query = 0; query < sequence.queries; query += kQueryBlock) {
      const std::int64_t rows = std::min(kQueryBlock, sequence.queries - query);
      attend_block(call, sequence, {.head = head, .head_step = 0, .query = query, .rows = rows, .scores = scratch.scores}, kv,
                   call.terms.relative ? &relative : nullptr, captured);
    }
  }
}

void store_head(const AttentionShape& shape, std::int64_t kv_head, const KvRows& rows, std::int64_t position, const KvHead& to) {
  const float* keys = rows.keys + kv_head * shape.head_dim;
  std::int64_t i = 0;
  for (; i < rows.tokens && (position + i) % kPanelWidth != 0; ++i) {
    pack_row(to.keys, position + i, keys + i * rows.stride, shape.head_dim);
  }
  pack_rows(to.keys + (position + i) * shape.head_dim, keys + i * rows.stride, rows.tokens - i, shape.head_dim, rows.stride);

  const std::int64_t value_dim = shape.value_size(), value_stride = rows.value_stride > 0 ? rows.value_stride : rows.stride;
  const float* values = rows.values + kv_head * value_dim;
  for (std::int64_t column = 0; column < value_dim; column += kPanelWidth) {
    pack_transposed(to.values + column * to.length + position * kPanelWidth, values + column,
                    std::min(kPanelWidth, value_dim - column), rows.tokens, value_stride);
  }
}

}  // namespace

KvCache take_kv_cache(Arena& arena, const AttentionShape& shape, std::int64_t layers, std::int64_t slots, std::int64_t length,
                      bool q8) {
  KvCache cache{slots, whole_panels(length), layers, shape, nullptr};
  cache.q8 = q8;
  cache.data = arena.take<float>(slots * cache.slot_size());
  return cache;
}

void store_kv(const KvCache& cache, std::int64_t slot, std::int64_t layer, std::int64_t position, const KvRows& rows) {
  for (std::int64_t head = 0; head < cache.shape.kv_heads; ++head) {
    store_head(cache.shape, head, rows, position, cache.at(slot, layer, head));
  }
}

AttentionScratch take_attention_scratch(Arena& arena, const AttentionShape& shape, std::int64_t max_seq, std::int64_t max_keys,
                                        std::int64_t buckets) {
  AttentionScratch scratch;
  const KvCache one_head{1, whole_panels(max_seq), 1, {1, 1, shape.head_dim, shape.value_dim}, nullptr};
  scratch.kv = arena.take<float>(one_head.slot_size());
  scratch.scores = arena.take<float>(std::max(kQueryBlock, shape.group()) * max_keys);
  if (buckets > 0) scratch.relative = take_disentangled_scratch(arena, shape.head_dim, max_seq, buckets, kQueryBlock);
  return scratch;
}

void attention(const Compute& compute, const AttentionShape& shape, const ScoreTerms& terms, const AttentionInput& input,
               std::span<const AttentionScratch> scratch, float* context, const AttentionTap& tap) {
  assert(!terms.relative || !input.cache);
  const Call call{compute.kernels, shape, terms, input, context};
  const auto batch = static_cast<std::int64_t>(input.seq_start.size()) - 1;
  // With a cache, a task stores the keys and values of one kv head and then serves its whole group. Without one, a task is a query
  // head, and a thread repacks keys and values only when it reaches another kv head.
  const std::int64_t task_heads = input.cache ? shape.group() : 1;
  const std::int64_t tasks = shape.heads / task_heads;
  std::array<std::int64_t, ThreadTeam::kMostThreads> packed;
  packed.fill(-1);
  const auto run = [&](const Sequence& sequence, std::int64_t task, int thread, Captured* captured) {
    const Range heads{task * task_heads, (task + 1) * task_heads};
    const std::int64_t kv_head = heads.begin / shape.group();
    KvHead kv{.length = whole_panels(sequence.keys)};
    kv.keys = scratch[thread].kv;
    kv.values = kv.keys + kv.length * shape.head_dim;
    if (input.cache) {
      const KvHead kept = input.cache->at(input.slots[sequence.index], input.layer, kv_head);
      if (input.cache->q8) {
        Part<Q8Cache>::get()->store(shape, kv_head, sequence.fresh, sequence.position, kept);
        Part<Q8Cache>::get()->unpack(shape, kept, sequence.keys, kv);
      } else {
        kv = kept;
        if (input.keys) store_head(shape, kv_head, sequence.fresh, sequence.position, kv);
      }
    } else {
      const std::int64_t wanted = sequence.index * shape.kv_heads + kv_head;
      if (std::exchange(packed[thread], wanted) != wanted) store_head(shape, kv_head, sequence.fresh, 0, kv);
    }
    attend(call, sequence, heads, kv, scratch[thread], captured);
  };
  if (!tap.taps) {
    compute.team.run(batch * tasks,
                     [&](std::int64_t i, int thread) { run(sequence_at(input, i / tasks), i % tasks, thread, nullptr); });
    return;
  }
  const std::string name(tap.name);
  for (std::int64_t i = 0; i < batch; ++i) {
    const Sequence sequence = sequence_at(input, i);
    Captured captured(shape.heads, sequence);
    for (std::int64_t task = 0; task < tasks; ++task) run(sequence, task, 0, &captured);
    const std::int64_t dims[] = {shape.heads, sequence.queries, sequence.keys};
    const int at = static_cast<int>(i);
    if (!input.cache) tap.taps->on_tensor({name + ".scores", tap.layer, at}, {captured.scores.data(), dims});
    tap.taps->on_tensor({name + ".probs", tap.layer, at}, {captured.probs.data(), dims});
  }
}

namespace {

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
