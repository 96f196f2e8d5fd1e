#include "models/decoder.h"

#include <algorithm>

#include "models/layer_taps.h"

namespace wattn {
namespace {

CausalShape shape_of(const DecoderConfig& config) {
  return {config.num_attention_heads, config.num_key_value_heads, config.head_dim};
}

}  // namespace

Cache Decoder::take_cache(Arena& arena, std::int64_t places, std::int64_t length) const {
  return wattn::take_cache(arena, shape_of(config_), config_.num_hidden_layers, places, length);
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
  work.linear = take_linear_scratch(arena, type_, max_tokens, std::max({hidden, ffn, config_.query_width()}));
  for (int i = 0; i < threads; ++i) work.attention[i] = take_causal_scratch(arena, shape_of(config_), length);
  return work;
}

void Decoder::normalise(const Compute& compute, const LayerNorm& norm, const float* x, std::int64_t rows, float* y) const {
  if (config_.norm == NormKind::kRms) {
    rms_norm(compute, norm, x, rows, y);
  } else {
    layer_norm(compute, norm, x, nullptr, rows, y);
  }
}

void Decoder::forward(ThreadTeam& team, const DecoderBatch& batch, Cache& cache, Arena& arena, float* hidden, Taps* taps) const {
  const ThreadTeam::Awake awake(team);
  const std::int64_t tokens = batch.tokens();
  Pass pass{{*kernels_, team}, batch, cache, take_workspace(arena, tokens, cache.length, team.threads()), taps};
  embed_tokens(pass, hidden);
  LayerTaps{taps, -1, tokens}.rows("embeddings.output", hidden, config_.hidden_size);
  for (int layer = 0; layer < config_.num_hidden_layers; ++layer) forward_layer(pass, layer, hidden);
  normalise(pass.compute, final_norm_, hidden, tokens, hidden);
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
  if (config_.learned_positions) add_embedding_rows(position_embeddings_, pass.batch.position_ids, hidden);
}

void Decoder::forward_layer(const Pass& pass, int index, float* x) const {
  const DecoderLayer& layer = layers_[static_cast<std::size_t>(index)];
  const std::int64_t tokens = pass.batch.tokens();
  const std::int64_t hidden = config_.hidden_size;
  const LayerTaps tap{pass.taps, index, tokens};
  float* projected = pass.work.projected;
  normalise(pass.compute, layer.attention_norm, x, tokens, projected);
  attention(pass, index, projected, projected);
  pass.compute.kernels.axpy(1.0f, projected, x, tokens * hidden);
  tap.rows("attention.output", x, hidden);
  normalise(pass.compute, layer.feed_forward_norm, x, tokens, projected);
  feed_forward(pass, index, projected, projected);
  pass.compute.kernels.axpy(1.0f, projected, x, tokens * hidden);
  tap.rows("output", x, hidden);
}

// out may be x.
void Decoder::attention(const Pass& pass, int index, const float* x, float* out) const {
  const DecoderLayer& layer = layers_[static_cast<std::size_t>(index)];
  const auto& [compute, batch, cache, work, taps] = pass;
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
  if (!config_.learned_positions) rotate_heads(compute, rotary_, batch.position_ids, turned, row, work.qkv);
  tap.columns("attention.query", work.qkv, row, 0, queries);
  tap.columns("attention.key", work.qkv, row, queries, keys);
  tap.columns("attention.value", work.qkv, row, queries + keys, keys);
  CausalTerms terms;
  if (taps) terms.head_mask = taps->head_mask(index);
  if (config_.is_local(index)) terms.window = config_.local_window;
  const CausalTokens places{batch.seq_start, batch.position_ids, batch.places};
  causal_attention(compute, cache, terms, places, work.qkv, index, work.attention, work.context, taps);
  tap.rows("attention.context", work.context, queries);
  linear(compute, layer.attention_output, work.context, tokens, Activation::kNone, work.linear, out);
}

// out may be x.
void Decoder::feed_forward(const Pass& pass, int index, const float* x, float* out) const {
  const DecoderLayer& layer = layers_[static_cast<std::size_t>(index)];
  const auto& [compute, batch, cache, work, taps] = pass;
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

void Decoder::head(ThreadTeam& team, const float* hidden, std::int64_t rows, Arena& arena, float* logits) const {
  const ThreadTeam::Awake awake(team);
  const LinearScratch scratch = take_linear_scratch(arena, type_, rows, config_.hidden_size);
  linear({*kernels_, team}, head_, hidden, rows, Activation::kNone, scratch, logits);
}

std::uint64_t Decoder::head_bytes(std::int64_t rows) const {
  Arena measure;
  take_linear_scratch(measure, type_, rows, config_.hidden_size);
  return measure.used();
}

void Decoder::final_norm(ThreadTeam& team, float* rows, std::int64_t count) const {
  normalise({*kernels_, team}, final_norm_, rows, count, rows);
}

}  // namespace wattn
