#include "models/encoder.h"

#include <algorithm>
#include <cmath>

#include "models/layer_taps.h"

namespace wattn {
namespace {

AttentionShape attention_shape(const EncoderConfig& config) {
  return {config.num_attention_heads, config.num_attention_heads, config.head_dim()};
}

// Rows of the relative embeddings that sequences of at most max_seq tokens need.
std::int64_t relative_buckets(const EncoderConfig& config, std::int64_t max_seq) {
  return config.distances == Distances::kDisentangled ? std::min(config.relative_rows(), 2 * max_seq) : 0;
}

Result<void> check_range(std::span<const std::int32_t> values, std::int64_t limit, const char* what, const char* limit_name) {
  const auto bad = std::find_if(values.begin(), values.end(), [&](std::int32_t v) { return v < 0 || v >= limit; });
  if (bad == values.end()) return {};
  return input_error(std::string(what) + ": expected numbers from 0 to " + std::to_string(limit - 1) + " (" + limit_name +
                     " - 1), found " + std::to_string(*bad) + " at token " + std::to_string(bad - values.begin()));
}

}  // namespace

std::uint64_t Encoder::forward_bytes(std::int64_t max_tokens, std::int64_t max_seq, int threads) const {
  Arena measure;
  take_workspace(measure, max_tokens, max_seq, threads);
  return measure.used();
}

Encoder::Workspace Encoder::take_workspace(Arena& arena, std::int64_t max_tokens, std::int64_t max_seq, int threads) const {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t ffn = config_.intermediate_size;
  const std::int64_t buckets = relative_buckets(config_, max_seq);
  Workspace work;
  if (config_.embedding_size > 0) work.embedded = arena.take<float>(max_tokens * config_.embedding_size);
  work.qkv = arena.take<float>(max_tokens * 3 * config_.inner_width());
  work.context = arena.take<float>(max_tokens * config_.inner_width());
  work.projected = arena.take<float>(max_tokens * hidden);
  work.intermediate = arena.take<float>(max_tokens * (config_.gated() ? 2 * ffn : ffn));
  if (config_.gated()) work.gated = arena.take<float>(max_tokens * ffn);
  if (buckets > 0) work.relative = arena.take<float>(buckets * hidden);
  if (buckets > 0) work.relative_qk = arena.take<float>(buckets * 2 * hidden);
  const std::int64_t widest = std::max({hidden, ffn, config_.embedding_width(), config_.inner_width()});
  work.linear = take_linear_scratch(arena, type_, std::max(max_tokens, buckets), widest, threads);
  for (int i = 0; i < threads; ++i) {
    work.attention[i] = take_attention_scratch(arena, attention_shape(config_), max_seq, max_seq, buckets);
  }
  return work;
}

Result<void> Encoder::check(const Batch& batch) const {
  if (auto ids = check_range(batch.input_ids, config_.vocab_size, "input_ids", "vocab_size"); !ids.ok()) return ids;
  if (config_.type_vocab_size > 0) {
    auto types = check_range(batch.token_type_ids, config_.type_vocab_size, "token_type_ids", "type_vocab_size");
    if (!types.ok()) return types;
  }
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t seq = batch.seq_start[i + 1] - batch.seq_start[i];
    if (seq < 0 || seq > config_.max_position_embeddings) {
      return input_error("sequence " + std::to_string(i) + ": expected at most max_position_embeddings = " +
                         std::to_string(config_.max_position_embeddings) + " tokens, found " + std::to_string(seq));
    }
  }
  if (!config_.positions_by_table() && config_.distances != Distances::kRotary) return {};
  return check_range(batch.position_ids, config_.max_position_embeddings, "position_ids", "max_position_embeddings");
}

void Encoder::forward(ThreadTeam& team, const Batch& batch, Arena& arena, float* hidden, Taps* taps) const {
  std::int64_t max_seq = 0;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    max_seq = std::max<std::int64_t>(max_seq, batch.seq_start[i + 1] - batch.seq_start[i]);
  }
  const ThreadTeam::Awake awake(team);
  Pass pass{{*kernels_, team}, batch, take_workspace(arena, batch.tokens(), max_seq, team.threads()), taps};
  if (config_.distances == Distances::kDisentangled && max_seq > 0) prepare_relative_embeddings(pass, max_seq);
  embed_tokens(pass, hidden);
  LayerTaps{taps, -1, batch.tokens()}.rows("embeddings.output", hidden, config_.hidden_size);
  for (int layer = 0; layer < config_.num_hidden_layers; ++layer) forward_layer(pass, layer, hidden);
  if (config_.norms == NormPlacement::kPost) return;
  normalise(pass.compute, config_.norm, final_norm_, hidden, batch.tokens(), hidden);
  LayerTaps{taps, -1, batch.tokens()}.rows("final_norm.output", hidden, config_.hidden_size);
}

void Encoder::embed_tokens(const Pass& pass, float* hidden) const {
  const std::int64_t tokens = pass.batch.tokens();
  float* out = config_.embedding_size > 0 ? pass.work.embedded : hidden;
  std::fill(out, out + tokens * config_.embedding_width(), 0.0f);
  add_embedding_rows(word_embeddings_, pass.batch.input_ids, out);
  if (config_.embedding_scale != 1.0f) {
    for (std::int64_t i = 0; i < tokens * config_.embedding_width(); ++i) out[i] *= config_.embedding_scale;
  }
  if (config_.type_vocab_size > 0) add_embedding_rows(token_type_embeddings_, pass.batch.token_type_ids, out);
  if (config_.positions_by_table()) add_embedding_rows(position_embeddings_, pass.batch.position_ids, out);
  if (config_.positions == Positions::kAfterPadding) add_positions_after_padding(pass.batch, out);
  if (config_.embeddings_norm) layer_norm(pass.compute, embeddings_norm_, out, nullptr, tokens, out);
  if (config_.embedding_size > 0) {
    linear(pass.compute, embeddings_projection_, out, tokens, Activation::kNone, pass.work.linear, hidden);
  }
}

void Encoder::add_positions_after_padding(const Batch& batch, float* out) const {
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    auto last = static_cast<std::int32_t>(config_.padding_idx);
    for (std::int32_t token = batch.seq_start[i]; token < batch.seq_start[i + 1]; ++token) {
      const bool padding = batch.input_ids[token] == config_.padding_idx;
      const std::int32_t position = padding ? static_cast<std::int32_t>(config_.padding_idx) : ++last;
      add_embedding_rows(position_embeddings_, {&position, 1}, out + token * config_.embedding_width());
    }
  }
}

void Encoder::prepare_relative_embeddings(Pass& pass, std::int64_t max_seq) const {
  Disentangled& terms = pass.work.disentangled;
  terms.distances = &distance_buckets_;
  terms.first = distance_buckets_.of(1 - max_seq);
  terms.count = distance_buckets_.of(max_seq - 1) + 1 - terms.first;
  terms.queries_and_keys = pass.work.relative_qk;
  const std::int64_t size = terms.count * config_.hidden_size;
  std::fill(pass.work.relative, pass.work.relative + size, 0.0f);
  for (std::int64_t i = 0; i < terms.count; ++i) {
    const auto row = static_cast<std::int32_t>(terms.first + i);
    add_embedding_rows(relative_embeddings_, {&row, 1}, pass.work.relative + i * config_.hidden_size);
  }
  if (config_.relative.norm) layer_norm(pass.compute, relative_norm_, pass.work.relative, nullptr, terms.count, pass.work.relative);
}

void Encoder::forward_layer(const Pass& pass, int index, float* x) const {
  const EncoderLayer& layer = layer_at(index);
  const std::int64_t tokens = pass.batch.tokens();
  const std::int64_t hidden = config_.hidden_size;
  const LayerTaps tap{pass.taps, index, tokens};
  float* projected = pass.work.projected;
  if (config_.norms == NormPlacement::kPost) {
    attention(pass, index, x, projected);
    layer_norm(pass.compute, layer.attention_norm, projected, x, tokens, x);
    tap.rows("attention.output", x, hidden);
    feed_forward(pass, index, x, projected);
    layer_norm(pass.compute, layer.output_norm, projected, x, tokens, x);
  } else {
    const float* normed = x;
    if (index > 0 || config_.norms_first_attention) {
      normalise(pass.compute, config_.norm, layer.attention_norm, x, tokens, projected);
      normed = projected;
    }
    attention(pass, index, normed, projected);
    pass.compute.kernels.axpy(1.0f, projected, x, tokens * hidden);
    tap.rows("attention.output", x, hidden);
    normalise(pass.compute, config_.norm, layer.output_norm, x, tokens, projected);
    feed_forward(pass, index, projected, projected);
    pass.compute.kernels.axpy(1.0f, projected, x, tokens * hidden);
  }
  tap.rows("output", x, hidden);
}

// out may be x.
void Encoder::attention(const Pass& pass, int index, const float* x, float* out) const {
  const EncoderLayer& layer = layer_at(index);
  const auto& [compute, batch, work, taps] = pass;
  const std::int64_t tokens = batch.tokens();
  const std::int64_t inner = config_.inner_width();
  const LayerTaps tap{taps, index, tokens};
  const bool local = config_.is_local(index);

  linear(compute, layer.qkv, x, tokens, Activation::kNone, work.linear, work.qkv);
  if (config_.distances == Distances::kRotary) {
    const Rotary& rotary = local ? local_rotary_ : rotary_;
    rotate_heads(compute, rotary, batch.position_ids, 2 * config_.num_attention_heads, 3 * inner, work.qkv);
  }
  tap.columns("attention.query", work.qkv, 3 * inner, 0, inner);
  tap.columns("attention.key", work.qkv, 3 * inner, inner, inner);
  tap.columns("attention.value", work.qkv, 3 * inner, 2 * inner, inner);
  ScoreTerms terms;
  const float products = config_.distances == Distances::kDisentangled ? 3.0f : 1.0f;  // of which a score is the sum
  if (config_.scaled_scores) terms.scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim()) * products);
  if (taps) terms.head_mask = taps->head_mask({"attention.probs", index});
  if (local) terms.window_before = terms.window_after = config_.local_window;
  if (distance_bias_.values) terms.bias = &distance_bias_;
  if (config_.distances == Distances::kDisentangled) {
    Linear queries_and_keys = layer.qkv;
    queries_and_keys.out = 2 * inner;
    linear(compute, queries_and_keys, work.relative, work.disentangled.count, Activation::kNone, work.linear, work.relative_qk);
    terms.relative = &work.disentangled;
  }
  const AttentionInput input{.queries = work.qkv,
                             .query_stride = 3 * inner,
                             .keys = work.qkv + inner,
                             .values = work.qkv + 2 * inner,
                             .kv_stride = 3 * inner,
                             .seq_start = batch.seq_start};
  wattn::attention(compute, attention_shape(config_), terms, input, work.attention, work.context, {taps, index});
  tap.rows("attention.context", work.context, inner);
  linear(compute, layer.attention_output, work.context, tokens, Activation::kNone, work.linear, out);
}

// out may be x.
void Encoder::feed_forward(const Pass& pass, int index, const float* x, float* out) const {
  const EncoderLayer& layer = layer_at(index);
  const auto& [compute, batch, work, taps] = pass;
  const std::int64_t ffn = config_.intermediate_size;
  const Activation activation = config_.gated() ? Activation::kNone : config_.hidden_act;
  linear(compute, layer.intermediate, x, batch.tokens(), activation, work.linear, work.intermediate);
  float* intermediate = work.intermediate;
  if (config_.gated()) {
    intermediate = work.gated;
    for_parts(compute, batch.tokens(), 1, 32, [&](std::int64_t begin, std::int64_t end) {
      const float* rows = work.intermediate + begin * 2 * ffn;
      compute.kernels.gate_rows(config_.hidden_act, rows, work.gated + begin * ffn, end - begin, ffn);
    });
  }
  LayerTaps{taps, index, batch.tokens()}.rows("intermediate", intermediate, ffn);
  linear(compute, layer.output, intermediate, batch.tokens(), Activation::kNone, work.linear, out);
}

void Encoder::final_norm(ThreadTeam& team, float* rows, std::int64_t count) const {
  if (config_.norms == NormPlacement::kPre) normalise({*kernels_, team}, config_.norm, final_norm_, rows, count, rows);
}

void Encoder::pooler(const Batch& batch, const float* hidden, float* pooled) const {
  ThreadTeam alone;
  std::fill_n(pooled, batch.batch() * config_.hidden_size, 0.0f);
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    if (batch.seq_start[i] == batch.seq_start[i + 1]) continue;
    linear({*kernels_, alone}, pooler_, hidden + batch.seq_start[i] * config_.hidden_size, 1, Activation::kTanh, {},
           pooled + i * config_.hidden_size);
  }
}

}  // namespace wattn
