// build: -Oz
// The table of ops. What a row calls is in the op's own file.
#include <algorithm>
#include <array>

#include "core/part.h"
#include "ops/activation.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/lora.h"
#include "ops/norm.h"
#include "ops/op.h"
#include "ops/position.h"

namespace wattn {
namespace {

template <class T>
const T& weight_of(const OpCall& call) {
  return *static_cast<const T*>(call.weight);
}

// x, which the step changes, at the place of the result.
float* over(const float* x, const OpCall& call) {
  if (call.out != x) std::copy_n(x, call.rows * call.width, call.out);
  return call.out;
}

void words(const OpCall& call) {
  const auto& table = weight_of<WordTable>(call);
  word_rows(table, call.pass.batch->input_ids, call.width, call.out);
  add_lora_rows(call.pass.compute->lora, table.key(), call.pass.batch->input_ids, call.out);
}

void add_rows(const OpCall& call) {
  const auto& table = weight_of<EmbeddingTable>(call);
  const Batch& batch = *call.pass.batch;
  float* out = over(call.x, call);
  switch (static_cast<IdsOf>(call.variant)) {
    case IdsOf::kTokenTypes:
      add_embedding_rows(table, batch.token_type_ids, out);
      return add_lora_rows(call.pass.compute->lora, table.table, batch.token_type_ids, out);
    case IdsOf::kPositions:
      add_embedding_rows(table, batch.position_ids, out);
      return add_lora_rows(call.pass.compute->lora, table.table, batch.position_ids, out);
    case IdsOf::kAfterPadding: {
      const auto padding = static_cast<std::int32_t>(call.factor);
      return each_position_after_padding(batch, padding, [&](std::int64_t token, std::int32_t row) {
        add_embedding_rows(table, {&row, 1}, out + token * call.width);
        add_lora_rows(call.pass.compute->lora, table.table, {&row, 1}, out + token * call.width);
      });
    }
  }
}

void relative_rows(const OpCall& call) {
  std::fill_n(call.out, call.rows * call.width, 0.0f);
  for (std::int64_t i = 0; i < call.rows; ++i) {
    const auto row = static_cast<std::int32_t>(call.pass.relative.first + i);
    add_embedding_rows(weight_of<EmbeddingTable>(call), {&row, 1}, call.out + i * call.width);
  }
}

void scale(const OpCall& call) {
  float* out = over(call.x, call);
  for (std::int64_t i = 0; i < call.rows * call.width; ++i) out[i] *= call.factor;
}

void norm(const OpCall& call) {
  const auto& norm = weight_of<LayerNorm>(call);
  if (static_cast<NormKind>(call.variant) == NormKind::kRms) {
    rms_norm(*call.pass.compute, norm, call.x, call.rows, call.out);
  } else {
    layer_norm(*call.pass.compute, norm, call.x, call.other, call.rows, call.out);
  }
}

void head_norm(const OpCall& call) {
  const auto& norm = weight_of<LayerNorm>(call);
  const AttentionShape& shape = call.attention->shape;
  const bool keys = call.variant == 1;
  float* token = over(call.x, call) + (keys ? shape.query_width() : 0);
  const std::int64_t parts = (keys ? shape.kv_width() : shape.query_width()) / norm.hidden;
  for (std::int64_t i = 0; i < call.rows; ++i, token += call.width) rms_norm(*call.pass.compute, norm, token, parts, token);
}

void rotate(const OpCall& call) {
  const AttentionShape& shape = call.attention->shape;
  rotate_heads(*call.pass.compute, weight_of<Rotary>(call), call.pass.batch->position_ids, shape.heads + shape.kv_heads, call.width,
               over(call.x, call));
}

LinearScratch take_linear(const OpCall& call) {
  const auto& layer = weight_of<LinearWeights>(call);
  return take_linear_scratch(*call.scratch, layer.type, call.rows, layer.in, call.pass.sizes.threads);
}

void run_linear(const OpCall& call) {
  LinearWeights layer = weight_of<LinearWeights>(call);
  layer.out = call.width;
  linear(*call.pass.compute, layer, call.x, call.rows, static_cast<Activation>(call.variant), take_linear(call), call.out);
}

void activate(const OpCall& call) {
  for_parts(*call.pass.compute, call.rows, 1, 16, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * call.width;
    call.pass.compute->kernels.activate(static_cast<Activation>(call.variant), call.x + at, call.out + at,
                                        (end - begin) * call.width);
  });
}

void gate(const OpCall& call) {
  for_parts(*call.pass.compute, call.rows, 1, 32, [&](std::int64_t begin, std::int64_t end) {
    call.pass.compute->kernels.gate_rows(static_cast<Activation>(call.variant), call.x + begin * 2 * call.width,
                                         call.out + begin * call.width, end - begin, call.width);
  });
}

void add(const OpCall& call) {
  call.pass.compute->kernels.axpy(call.factor, call.x, over(call.other, call), call.rows * call.width);
}

using ThreadsScratch = std::array<AttentionScratch, ThreadTeam::kMostThreads>;

ThreadsScratch take_attention(const OpCall& call) {
  const PassSizes& sizes = call.pass.sizes;
  const AttentionStep& step = *call.attention;
  const std::int64_t own_keys = !step.cross ? std::max(sizes.own_keys, sizes.q8_keys) : sizes.sources > 0 ? sizes.keys : 0;
  ThreadsScratch out;
  for (int i = 0; i < sizes.threads; ++i) {
    out[static_cast<std::size_t>(i)] = take_attention_scratch(*call.scratch, step.shape, own_keys, sizes.keys, sizes.buckets);
  }
  return out;
}

}  // namespace

ScoreTerms score_terms(const OpCall& call, Disentangled& relative) {
  const AttentionStep& step = *call.attention;
  ScoreTerms terms{.scale = step.scale / call.score_divisor,
                   .softcap = step.softcap,
                   .causal = step.causal,
                   .window_before = step.window_before,
                   .window_after = step.window_after,
                   .bias = static_cast<const DistanceBias*>(call.weight),
                   .dropout = call.dropout};
  relative = call.pass.relative;
  relative.queries_and_keys = call.other;
  if (call.other && !step.cross) terms.relative = &relative;
  return terms;
}

AttentionInput attention_input(const OpCall& call) {
  const PassInput& pass = call.pass;
  const AttentionStep& step = *call.attention;
  AttentionInput input{.queries = call.x,
                       .query_stride = call.x_width,
                       .seq_start = pass.batch->seq_start,
                       .layer = step.cross ? call.layer : call.state};
  if (step.cross && call.other) {
    input.keys = call.other;
    input.values = call.other + step.shape.kv_width();
    input.kv_stride = 2 * step.shape.kv_width();
    input.key_start = pass.source_start;
  } else if (step.cross) {
    input.cache = &pass.states.cross_kv->cache;
    input.slots = pass.batch->sources;
    input.lengths = pass.states.cross_kv->lengths;
  } else {
    input.keys = call.x + step.shape.query_width();
    input.values = input.keys + step.shape.kv_width();
    input.kv_stride = call.x_width;
    input.cache = pass.states.cache;
    input.slots = pass.batch->slots;
    input.position_ids = pass.batch->position_ids;
    input.key_start = pass.batch->key_start;
  }
  return input;
}

namespace {

void attend(const OpCall& call) {
  Taps* const taps = call.pass.taps;
  const bool cross = call.attention->cross;
  const int layer = static_cast<int>(call.layer);
  Disentangled relative;
  ScoreTerms terms = score_terms(call, relative);
  if (taps) terms.head_mask = taps->head_mask({cross ? "cross_attention.probs" : "attention.probs", layer});
  attention(*call.pass.compute, call.attention->shape, terms, attention_input(call), take_attention(call), call.out,
            {taps, layer, cross ? "cross_attention" : "attention"});
}

void store(const OpCall& call) {
  store_kv(call.pass.states.cross_kv->cache, call.pass.source, call.layer, 0,
           {call.x, call.x + call.x_width / 2, call.x_width, call.rows});
}

void cap(const OpCall& call) { softcap(call.pass.compute->kernels, call.factor, call.rows * call.width, over(call.x, call)); }

constexpr OpRow kRows[kCommonOps] = {
    {OpWidth::kOfWeight, false, false, words, nullptr},
    {OpWidth::kOfX, true, false, add_rows, nullptr},
    {OpWidth::kOfWeight, false, false, relative_rows, nullptr},
    {OpWidth::kOfX, true, false, scale, nullptr},
    {OpWidth::kOfX, true, true, norm, nullptr},
    {OpWidth::kOfX, true, false, head_norm, nullptr},
    {OpWidth::kOfX, true, false, rotate, nullptr},
    {OpWidth::kRowsOfWeight, false, false, run_linear, [](const OpCall& call) { take_linear(call); }},
    {OpWidth::kOfX, true, false, activate, nullptr},
    {OpWidth::kHalfOfX, false, false, gate, nullptr},
    {OpWidth::kOfX, false, true, add, nullptr},
    {OpWidth::kContext, false, false, attend, [](const OpCall& call) { take_attention(call); }},
    {OpWidth::kNone, false, false, store, nullptr},
    {OpWidth::kOfX, true, false, cap, nullptr},
};

}  // namespace

const OpRow& op_row(Op op) {
  const int row = static_cast<int>(op);
  return row < kCommonOps ? kRows[row] : Part<MoreOps>::get()->rows[row - kCommonOps];
}

}  // namespace wattn
