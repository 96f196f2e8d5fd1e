#include "models/decoder.h"

#include <algorithm>
#include <cmath>

#include "models/layer_taps.h"

namespace wattn {
namespace {

AttentionShape shape_of(const DecoderConfig& config) {
  return {config.num_attention_heads, config.num_key_value_heads, config.head_dim};
}

// Before what a layer adds.
ScoreTerms score_terms(const DecoderConfig& config) {
  ScoreTerms terms;
  if (config.scaled_scores) terms.scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  return terms;
}

}  // namespace

KvCache Decoder::take_cache(Arena& arena, std::int64_t places, std::int64_t length) const {
  return take_kv_cache(arena, shape_of(config_), config_.num_hidden_layers, places, length);
}

std::uint64_t Decoder::forward_bytes(std::int64_t max_tokens, std::int64_t length, int threads) const {
  Arena measure;
  take_workspace(measure, max_tokens, length, threads);
  return measure.used();
}

Decoder::Workspace Decoder::take_workspace(Arena& arena, std::int64_t max_tokens, std::int64_t length, int threads) const {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t ffn = config_.intermediate_size;
  Workspace work;
  work.qkv = arena.take<float>(max_tokens * config_.qkv_width());
  work.context = arena.take<float>(max_tokens * config_.query_width());
  work.projected = arena.take<float>(max_tokens * hidden);
  work.intermediate = arena.take<float>(max_tokens * (config_.gated ? 2 * ffn : ffn));
  if (config_.gated) work.gated = arena.take<float>(max_tokens * ffn);
  work.linear = take_linear_scratch(arena, type_, max_tokens, std::max({hidden, ffn, config_.query_width()}), threads);
  for (int i = 0; i < threads; ++i) work.attention[i] = take_attention_scratch(arena, shape_of(config_), 0, length, 0);
  return work;
}

void Decoder::forward(ThreadTeam& team, const DecoderBatch& batch, KvCache& cache, const Memory* memory, Arena& arena,
                      float* hidden, Taps* taps) const {
  const ThreadTeam::Awake awake(team);
  const std::int64_t tokens = batch.tokens();
  const std::int64_t length = memory ? std::max(cache.length, memory->cache.length) : cache.length;
  Pass pass{{*kernels_, team}, batch, cache, memory, take_workspace(arena, tokens, length, team.threads()), taps};
  embed_tokens(pass, hidden);
  LayerTaps{taps, -1, tokens}.rows("embeddings.output", hidden, config_.hidden_size);
  for (int layer = 0; layer < config_.num_hidden_layers; ++layer) forward_layer(pass, layer, hidden);
  if (config_.norms_after) return;
  normalise(pass.compute, config_.norm, final_norm_, hidden, tokens, hidden);
  LayerTaps{taps, -1, tokens}.rows("final_norm.output", hidden, config_.hidden_size);
}

void Decoder::embed_tokens(const Pass& pass, float* hidden) const {
  const std::int64_t width = config_.hidden_size;
  if (config_.tie_word_embeddings) {
    float* row = hidden;
    for (const std::int32_t id : pass.batch.input_ids) {
      get_weight_row(head_, id, row);
      row += width;
    }
  } else {
    std::fill(hidden, hidden + pass.batch.tokens() * width, 0.0f);
    add_embedding_rows(word_embeddings_, pass.batch.input_ids, hidden);
  }
  if (config_.embedding_scale != 1.0f) {
    for (std::int64_t i = 0; i < pass.batch.tokens() * width; ++i) hidden[i] *= config_.embedding_scale;
  }
  if (config_.positions_by_table()) add_embedding_rows(position_embeddings_, pass.batch.position_ids, hidden);
  if (config_.embeddings_norm) normalise(pass.compute, config_.norm, embeddings_norm_, hidden, pass.batch.tokens(), hidden);
}

// run(in, out), where out may be in, with its residual and its norm.
template <class Run>
void Decoder::sublayer(const Pass& pass, const LayerNorm& norm, float* x, const Run& run) const {
  const std::int64_t tokens = pass.batch.tokens();
  float* projected = pass.work.projected;
  if (config_.norms_after) {
    run(x, projected);
    layer_norm(pass.compute, norm, projected, x, tokens, x);
  } else {
    normalise(pass.compute, config_.norm, norm, x, tokens, projected);
    run(projected, projected);
    pass.compute.kernels.axpy(1.0f, projected, x, tokens * config_.hidden_size);
  }
}

void Decoder::forward_layer(const Pass& pass, int index, float* x) const {
  const DecoderLayer& layer = layers_[static_cast<std::size_t>(index)];
  const std::int64_t hidden = config_.hidden_size;
  const LayerTaps tap{pass.taps, index, pass.batch.tokens()};
  sublayer(pass, layer.attention_norm, x, [&](const float* in, float* out) { attention(pass, index, in, out); });
  tap.rows("attention.output", x, hidden);
  if (config_.cross_attention) {
    sublayer(pass, layer.cross_norm, x, [&](const float* in, float* out) { cross_attention(pass, index, in, out); });
    tap.rows("cross_attention.output", x, hidden);
  }
  sublayer(pass, layer.feed_forward_norm, x, [&](const float* in, float* out) { feed_forward(pass, index, in, out); });
  tap.rows("output", x, hidden);
}

// out may be x.
void Decoder::attention(const Pass& pass, int index, const float* x, float* out) const {
  const DecoderLayer& layer = layers_[static_cast<std::size_t>(index)];
  const auto& [compute, batch, cache, memory, work, taps] = pass;
  const std::int64_t tokens = batch.tokens();
  const std::int64_t queries = config_.query_width(), keys = config_.key_width(), row = config_.qkv_width();
  const LayerTaps tap{taps, index, tokens};
  linear(compute, layer.qkv, x, tokens, Activation::kNone, work.linear, work.qkv);
  if (config_.query_key_norm) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      float* of_token = work.qkv + i * row;
      rms_norm(compute, layer.query_norm, of_token, config_.num_attention_heads, of_token);
      rms_norm(compute, layer.key_norm, of_token + queries, config_.num_key_value_heads, of_token + queries);
    }
  }
  const std::int64_t turned = config_.num_attention_heads + config_.num_key_value_heads;
  if (config_.positions == TokenPlaces::kRotary) rotate_heads(compute, rotary_, batch.position_ids, turned, row, work.qkv);
  tap.columns("attention.query", work.qkv, row, 0, queries);
  tap.columns("attention.key", work.qkv, row, queries, keys);
  tap.columns("attention.value", work.qkv, row, queries + keys, keys);
  ScoreTerms terms = score_terms(config_);
  terms.causal = true;
  if (distance_bias_.values) terms.bias = &distance_bias_;
  if (taps) terms.head_mask = taps->head_mask({"attention.probs", index});
  if (config_.is_local(index)) terms.window_before = config_.local_window - 1;
  const AttentionInput input{.queries = work.qkv,
                             .query_stride = row,
                             .keys = work.qkv + queries,
                             .values = work.qkv + queries + keys,
                             .kv_stride = row,
                             .seq_start = batch.seq_start,
                             .cache = &cache,
                             .layer = index,
                             .slots = batch.places,
                             .position_ids = batch.position_ids};
  wattn::attention(compute, shape_of(config_), terms, input, work.attention, work.context, {taps, index});
  tap.rows("attention.context", work.context, queries);
  linear(compute, layer.attention_output, work.context, tokens, Activation::kNone, work.linear, out);
}

// out may be x.
void Decoder::cross_attention(const Pass& pass, int index, const float* x, float* out) const {
  const DecoderLayer& layer = layers_[static_cast<std::size_t>(index)];
  const auto& [compute, batch, cache, memory, work, taps] = pass;
  const std::int64_t tokens = batch.tokens();
  linear(compute, layer.cross_query, x, tokens, Activation::kNone, work.linear, work.qkv);
  const LayerTaps tap{taps, index, tokens};
  tap.rows("cross_attention.query", work.qkv, config_.query_width());
  ScoreTerms terms = score_terms(config_);
  if (taps) terms.head_mask = taps->head_mask({"cross_attention.probs", index});
  const AttentionInput input{.queries = work.qkv,
                             .query_stride = config_.query_width(),
                             .seq_start = batch.seq_start,
                             .cache = &memory->cache,
                             .layer = index,
                             .slots = batch.sources,
                             .lengths = memory->lengths};
  wattn::attention(compute, shape_of(config_), terms, input, work.attention, work.context, {taps, index, "cross_attention"});
  tap.rows("cross_attention.context", work.context, config_.query_width());
  linear(compute, layer.cross_output, work.context, tokens, Activation::kNone, work.linear, out);
}

Memory Decoder::take_memory(Arena& arena, std::int64_t places, std::int64_t length) const {
  return {take_kv_cache(arena, shape_of(config_), config_.num_hidden_layers, places, length),
          std::vector<std::int32_t>(static_cast<std::size_t>(places))};
}

std::uint64_t Decoder::remember_bytes(std::int64_t tokens) const {
  Arena measure;
  measure.take<float>(tokens * 2 * config_.query_width());
  take_linear_scratch(measure, at_least_q8(type_), tokens, config_.hidden_size, 1);
  return measure.used();
}

void Decoder::remember(ThreadTeam& team, const float* states, std::int64_t tokens, std::int64_t place, Memory& memory, Arena& arena,
                       Taps* taps) const {
  const ThreadTeam::Awake awake(team);
  const std::int64_t width = config_.query_width();
  float* keys_values = arena.take<float>(tokens * 2 * width);
  const LinearScratch scratch = take_linear_scratch(arena, at_least_q8(type_), tokens, config_.hidden_size, 1);
  for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    linear({*kernels_, team}, layers_[static_cast<std::size_t>(i)].cross_keys_values, states, tokens, Activation::kNone, scratch,
           keys_values);
    const LayerTaps tap{taps, static_cast<int>(i), tokens};
    tap.columns("cross_attention.key", keys_values, 2 * width, 0, width);
    tap.columns("cross_attention.value", keys_values, 2 * width, width, width);
    store_kv(memory.cache, place, i, 0, {keys_values, keys_values + width, 2 * width, tokens});
  }
  memory.lengths[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(tokens);
}

// out may be x.
void Decoder::feed_forward(const Pass& pass, int index, const float* x, float* out) const {
  const DecoderLayer& layer = layers_[static_cast<std::size_t>(index)];
  const auto& [compute, batch, cache, memory, work, taps] = pass;
  const std::int64_t ffn = config_.intermediate_size;
  const std::int64_t tokens = batch.tokens();
  linear(compute, layer.up, x, tokens, config_.gated ? Activation::kNone : config_.hidden_act, work.linear, work.intermediate);
  float* intermediate = work.intermediate;
  if (config_.gated) {
    intermediate = work.gated;
    for_parts(compute, tokens, 1, 32, [&](std::int64_t begin, std::int64_t end) {
      const float* rows = work.intermediate + begin * 2 * ffn;
      compute.kernels.gate_rows(config_.hidden_act, rows, work.gated + begin * ffn, end - begin, ffn);
    });
  }
  LayerTaps{taps, index, tokens}.rows("intermediate", intermediate, ffn);
  linear(compute, layer.down, intermediate, tokens, Activation::kNone, work.linear, out);
}

void Decoder::head(ThreadTeam& team, float* hidden, std::int64_t rows, Arena& arena, float* logits) const {
  const ThreadTeam::Awake awake(team);
  if (config_.head_scale != 1.0f) {
    for (std::int64_t i = 0; i < rows * config_.hidden_size; ++i) hidden[i] *= config_.head_scale;
  }
  const LinearScratch scratch = take_linear_scratch(arena, at_least_q8(type_), rows, config_.hidden_size, 1);
  linear({*kernels_, team}, head_, hidden, rows, Activation::kNone, scratch, logits);
}

std::uint64_t Decoder::head_bytes(std::int64_t rows) const {
  Arena measure;
  take_linear_scratch(measure, at_least_q8(type_), rows, config_.hidden_size, 1);
  return measure.used();
}

void Decoder::final_norm(ThreadTeam& team, float* rows, std::int64_t count) const {
  if (!config_.norms_after) normalise({*kernels_, team}, config_.norm, final_norm_, rows, count, rows);
}

}  // namespace wattn
