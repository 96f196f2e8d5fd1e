#include "models/encoder.h"

#include <algorithm>

namespace wattn {
namespace {

AttentionShape attention_shape(const EncoderConfig& config) {
  return {config.num_attention_heads, config.hidden_size / config.num_attention_heads};
}

// Collects the slots of one Encoder.
struct SlotList {
  std::vector<WeightSlot> slots;

  void vector(std::string name, float* values, std::int64_t size, bool required = true) {
    slots.push_back({std::move(name), {size}, required, [values, size](std::int64_t, const float* row) {
                       std::copy(row, row + size, values);
                     }});
  }
  void table(const std::string& name, const Embedding& embedding) {
    slots.push_back({name + ".weight", {embedding.rows, embedding.hidden}, true, [embedding](std::int64_t i, const float* row) {
                       set_row(embedding, i, row);
                     }});
  }
  void norm(const std::string& name, const LayerNorm& norm) {
    vector(name + ".weight", norm.gamma, norm.hidden);
    vector(name + ".bias", norm.beta, norm.hidden);
  }
  // Rows first .. first + out of a Linear that may hold several of the checkpoint's.
  void linear(const std::string& name, const Linear& layer, std::int64_t first, std::int64_t out, bool required = true) {
    slots.push_back({name + ".weight", {out, layer.in}, required, [layer, first](std::int64_t i, const float* row) {
                       set_weight_row(layer, first + i, row);
                     }});
    vector(name + ".bias", layer.bias + first, out, required);
  }
};

// Shows the packed rows of one layer to the taps; does nothing without taps.
struct LayerTaps {
  Taps* taps;
  int layer;
  std::int64_t tokens;

  void rows(const char* name, const float* data, std::int64_t width) const {
    if (!taps) return;
    const std::int64_t dims[] = {tokens, width};
    taps->on_tensor({name, layer}, {data, dims});
  }
  // Columns first .. first + width of rows stride wide.
  void columns(const char* name, const float* data, std::int64_t stride, std::int64_t first, std::int64_t width) const {
    if (!taps) return;
    std::vector<float> copy(static_cast<std::size_t>(tokens * width));
    for (std::int64_t i = 0; i < tokens; ++i) std::copy_n(data + i * stride + first, width, copy.begin() + i * width);
    rows(name, copy.data(), width);
  }
};

Result<void> check_range(std::span<const std::int32_t> values, std::int64_t limit, const char* what, const char* limit_name) {
  const auto bad = std::find_if(values.begin(), values.end(), [&](std::int32_t v) { return v < 0 || v >= limit; });
  if (bad == values.end()) return {};
  return input_error(std::string(what) + ": expected numbers from 0 to " + std::to_string(limit - 1) + " (" + limit_name +
                     " - 1), found " + std::to_string(*bad) + " at token " + std::to_string(bad - values.begin()));
}

}  // namespace

std::string layer_name(const char* pattern, std::size_t layer) {
  std::string name = pattern;
  const std::size_t at = name.find("{}");
  return at == std::string::npos ? name : name.replace(at, 2, std::to_string(layer));
}

Result<Encoder> Encoder::with_config(const EncoderConfig& config, const Kernels& kernels, WeightType type) {
  Encoder encoder;
  encoder.config_ = config;
  encoder.kernels_ = &kernels;
  encoder.type_ = type;
  encoder.take_weights(encoder.weights_, kernels);  // measures
  auto weights = Arena::with_bytes(encoder.weights_.used(), "weights");
  if (!weights.ok()) return weights.error();
  encoder.weights_ = std::move(weights).value();
  encoder.take_weights(encoder.weights_, kernels);
  return encoder;
}

void Encoder::take_weights(Arena& arena, const Kernels& kernels) {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t ffn = config_.intermediate_size;
  const auto matrix = [&](std::int64_t in, std::int64_t out) { return take_linear(arena, kernels, type_, in, out, true); };
  word_embeddings_ = take_embedding(arena, type_, config_.vocab_size, hidden);
  // Small, and part of every token: int8 would cost more accuracy than it saves memory.
  const WeightType finer = type_ == WeightType::kQ8 ? WeightType::kQ16 : type_;
  position_embeddings_ = take_embedding(arena, finer, config_.max_position_embeddings, hidden);
  token_type_embeddings_ = take_embedding(arena, finer, config_.type_vocab_size, hidden);
  embeddings_norm_ = take_layer_norm(arena, hidden, config_.layer_norm_eps);
  layers_.resize(static_cast<std::size_t>(config_.num_hidden_layers));
  for (EncoderLayer& layer : layers_) {
    layer.qkv = matrix(hidden, 3 * hidden);
    layer.attention_output = matrix(hidden, hidden);
    layer.attention_norm = take_layer_norm(arena, hidden, config_.layer_norm_eps);
    layer.intermediate = matrix(hidden, ffn);
    layer.output = matrix(ffn, hidden);
    layer.output_norm = take_layer_norm(arena, hidden, config_.layer_norm_eps);
  }
  pooler_ = take_linear(arena, kernels, WeightType::kF32, hidden, hidden, true);  // small, and run once a sequence
}

std::vector<WeightSlot> Encoder::weight_slots(const EncoderNames& names) const {
  const std::int64_t hidden = config_.hidden_size;
  SlotList list;
  list.table(names.word_embeddings, word_embeddings_);
  list.table(names.position_embeddings, position_embeddings_);
  list.table(names.token_type_embeddings, token_type_embeddings_);
  list.norm(names.embeddings_norm, embeddings_norm_);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const EncoderLayer& layer = layers_[i];
    list.linear(layer_name(names.query, i), layer.qkv, 0, hidden);
    list.linear(layer_name(names.key, i), layer.qkv, hidden, hidden);
    list.linear(layer_name(names.value, i), layer.qkv, 2 * hidden, hidden);
    list.linear(layer_name(names.attention_output, i), layer.attention_output, 0, hidden);
    list.norm(layer_name(names.attention_norm, i), layer.attention_norm);
    list.linear(layer_name(names.intermediate, i), layer.intermediate, 0, config_.intermediate_size);
    list.linear(layer_name(names.output, i), layer.output, 0, hidden);
    list.norm(layer_name(names.output_norm, i), layer.output_norm);
  }
  list.linear(names.pooler, pooler_, 0, hidden, false);
  return std::move(list.slots);
}

std::uint64_t Encoder::forward_bytes(std::int64_t max_tokens, std::int64_t max_seq, int threads) const {
  Arena measure;
  take_workspace(measure, max_tokens, max_seq, threads);
  return measure.used();
}

Encoder::Workspace Encoder::take_workspace(Arena& arena, std::int64_t max_tokens, std::int64_t max_seq, int threads) const {
  Workspace work;
  work.qkv = arena.take<float>(max_tokens * 3 * config_.hidden_size);
  work.context = arena.take<float>(max_tokens * config_.hidden_size);
  work.projected = arena.take<float>(max_tokens * config_.hidden_size);
  work.intermediate = arena.take<float>(max_tokens * config_.intermediate_size);
  work.linear = take_linear_scratch(arena, type_, max_tokens, std::max(config_.hidden_size, config_.intermediate_size));
  for (int i = 0; i < threads; ++i) work.attention[i] = take_attention_scratch(arena, attention_shape(config_), max_seq);
  return work;
}

Result<void> Encoder::check(const Batch& batch) const {
  if (auto ids = check_range(batch.input_ids, config_.vocab_size, "input_ids", "vocab_size"); !ids.ok()) return ids;
  if (auto types = check_range(batch.token_type_ids, config_.type_vocab_size, "token_type_ids", "type_vocab_size"); !types.ok()) {
    return types;
  }
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t seq = batch.seq_start[i + 1] - batch.seq_start[i];
    if (seq < 0 || seq > config_.max_position_embeddings) {
      return input_error("sequence " + std::to_string(i) + ": expected at most max_position_embeddings = " +
                         std::to_string(config_.max_position_embeddings) + " tokens, found " + std::to_string(seq));
    }
  }
  return check_range(batch.position_ids, config_.max_position_embeddings, "position_ids", "max_position_embeddings");
}

void Encoder::forward(ThreadTeam& team, const Batch& batch, Arena& arena, float* hidden, Taps* taps) const {
  std::int64_t max_seq = 0;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    max_seq = std::max<std::int64_t>(max_seq, batch.seq_start[i + 1] - batch.seq_start[i]);
  }
  const ThreadTeam::Awake awake(team);
  const Compute compute{*kernels_, team};
  const Workspace work = take_workspace(arena, batch.tokens(), max_seq, team.threads());
  embed_tokens(compute, batch, hidden);
  LayerTaps{taps, -1, batch.tokens()}.rows("embeddings.output", hidden, config_.hidden_size);
  for (int layer = 0; layer < config_.num_hidden_layers; ++layer) forward_layer(compute, batch, layer, work, hidden, taps);
}

void Encoder::embed_tokens(const Compute& compute, const Batch& batch, float* hidden) const {
  std::fill(hidden, hidden + batch.tokens() * config_.hidden_size, 0.0f);
  add_embedding_rows(word_embeddings_, batch.input_ids, hidden);
  add_embedding_rows(token_type_embeddings_, batch.token_type_ids, hidden);
  add_embedding_rows(position_embeddings_, batch.position_ids, hidden);
  layer_norm(compute, embeddings_norm_, hidden, nullptr, batch.tokens(), hidden);
}

// Post-norm: x = LayerNorm(x + attention(x)); x = LayerNorm(x + feed_forward(x)).
void Encoder::forward_layer(const Compute& compute, const Batch& batch, int index, const Workspace& work, float* x,
                            Taps* taps) const {
  const EncoderLayer& layer = layers_[index];
  const std::int64_t tokens = batch.tokens();
  const std::int64_t hidden = config_.hidden_size;
  const LayerTaps tap{taps, index, tokens};

  linear(compute, layer.qkv, x, tokens, Activation::kNone, work.linear, work.qkv);
  tap.columns("attention.query", work.qkv, 3 * hidden, 0, hidden);
  tap.columns("attention.key", work.qkv, 3 * hidden, hidden, hidden);
  tap.columns("attention.value", work.qkv, 3 * hidden, 2 * hidden, hidden);
  self_attention(compute, attention_shape(config_), work.qkv, batch.seq_start, work.attention, work.context, taps, index);
  tap.rows("attention.context", work.context, hidden);
  linear(compute, layer.attention_output, work.context, tokens, Activation::kNone, work.linear, work.projected);
  layer_norm(compute, layer.attention_norm, work.projected, x, tokens, x);
  tap.rows("attention.output", x, hidden);

  linear(compute, layer.intermediate, x, tokens, config_.hidden_act, work.linear, work.intermediate);
  tap.rows("intermediate", work.intermediate, config_.intermediate_size);
  linear(compute, layer.output, work.intermediate, tokens, Activation::kNone, work.linear, work.projected);
  layer_norm(compute, layer.output_norm, work.projected, x, tokens, x);
  tap.rows("output", x, hidden);
}

void Encoder::pooler(const Batch& batch, const float* hidden, float* pooled) const {
  ThreadTeam alone;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    linear({*kernels_, alone}, pooler_, hidden + batch.seq_start[i] * config_.hidden_size, 1, Activation::kTanh, {},
           pooled + i * config_.hidden_size);
  }
}

}  // namespace wattn
