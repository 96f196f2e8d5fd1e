// build: -Os
#include "ops/attention.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/part.h"
#include "kernels/pack.h"
#include "ops/activation.h"
#include "ops/attention_blocks.h"
#include "ops/kv_q8.h"

namespace wattn {
namespace attention_blocks {
namespace {

void collect(const Sequence& sequence, const Block& block, std::vector<float>& whole) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const std::int64_t row = block.head_at(i) * sequence.queries + block.query_at(i);
    std::copy_n(block.scores_at(i), block.keys.size(), whole.begin() + row * sequence.keys + block.keys.begin);
  }
}

void add_bias(const ScoreTerms& terms, const Sequence& sequence, const Block& block) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const float* bias = terms.bias->at(block.head_at(i)) - (sequence.position + block.query_at(i));
    float* score = block.scores_at(i);
    for (std::int64_t key = block.keys.begin; key < block.keys.end; ++key) *score++ += bias[key];
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

}  // namespace

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

Range keys_of(const ScoreTerms& terms, const Sequence& sequence, std::int64_t query) {
  const std::int64_t position = sequence.position + query;
  Range out{0, sequence.keys};
  if (terms.causal) out.end = std::min(out.end, position + 1);
  if (terms.window_after >= 0) out.end = std::min(out.end, position + terms.window_after + 1);
  if (terms.window_before >= 0) out.begin = std::clamp<std::int64_t>(position - terms.window_before, 0, out.end);
  return out;
}

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

void drop_block(const Call& call, const Sequence& sequence, const Block& block, float* values) {
  const ProbabilityDropout* dropout = call.terms.dropout;
  for (std::int64_t i = 0; dropout && i < block.rows; ++i) {
    const std::int64_t row = (sequence.begin + block.query_at(i)) * call.shape.heads + block.head_at(i);
    dropout->apply(dropout->dropout, static_cast<std::uint64_t>(row), block.keys.begin, block.keys.size(),
                   values + i * block.keys.size());
  }
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

}  // namespace attention_blocks

namespace {

using namespace attention_blocks;

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

}  // namespace wattn
