// The Encoder's weights: their memory, and which tensor of a checkpoint goes where.
#include <algorithm>

#include "models/encoder.h"
#include "models/slot_list.h"

namespace wattn {

std::string layer_name(const char* pattern, std::size_t layer) {
  std::string name = pattern;
  const std::size_t at = name.find("{}");
  return at == std::string::npos ? name : name.replace(at, 2, std::to_string(layer));
}

Result<Encoder> Encoder::with_config(const EncoderConfig& config, const Kernels& kernels, WeightType type) {
  if (config.distances == Distances::kRotary && config.head_dim() % 2 != 0) {
    return unsupported_error("config.json: expected an even number of dimensions a head for rotary positions, found " +
                             std::to_string(config.head_dim()));
  }
  Encoder encoder;
  encoder.config_ = config;
  encoder.kernels_ = &kernels;
  encoder.type_ = type;
  encoder.take_weights(encoder.weights_, kernels);  // measures
  auto weights = Arena::with_zeros(encoder.weights_.used(), "weights");
  if (!weights.ok()) return weights.error();
  encoder.weights_ = std::move(weights).value();
  encoder.take_weights(encoder.weights_, kernels);
  return encoder;
}

void Encoder::take_weights(Arena& arena, const Kernels& kernels) {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t width = config_.embedding_width();
  const std::int64_t ffn = config_.intermediate_size;
  const auto matrix = [&](std::int64_t in, std::int64_t out) { return take_linear(arena, kernels, type_, in, out, true); };
  const auto norm = [&](std::int64_t size) { return take_layer_norm(arena, size, config_.layer_norm_eps); };
  word_embeddings_ = take_embedding(arena, type_, config_.vocab_size, width);
  take_position_weights(arena);
  if (config_.embeddings_norm) embeddings_norm_ = norm(width);
  if (config_.embedding_size > 0) embeddings_projection_ = matrix(width, hidden);
  layers_.resize(config_.one_layer_for_all ? 1 : static_cast<std::size_t>(config_.num_hidden_layers));
  for (EncoderLayer& layer : layers_) {
    // The values are as sensitive as all that comes after them together (bench/README.md).
    layer.qkv = take_linear(arena, kernels, at_least_q8(type_), hidden, 3 * config_.inner_width(), true);
    layer.attention_output = matrix(config_.inner_width(), hidden);
    layer.attention_norm = norm(hidden);
    layer.intermediate = matrix(hidden, config_.gated() ? 2 * ffn : ffn);
    layer.output = matrix(ffn, hidden);
    layer.output_norm = norm(hidden);
  }
  if (config_.norms == NormPlacement::kPre) final_norm_ = norm(hidden);
  // Small, and run once a sequence.
  if (config_.pooler) pooler_ = take_linear(arena, kernels, WeightType::kF32, hidden, hidden, true);
}

void Encoder::take_position_weights(Arena& arena) {
  const std::int64_t width = config_.embedding_width();
  const std::int64_t positions = config_.max_position_embeddings;
  const std::int64_t heads = config_.num_attention_heads;
  // Small, and part of every token: int8 would cost more accuracy than it saves memory.
  const WeightType finer = at_least_q16(type_);
  const std::int64_t before = config_.positions == Positions::kAfterPadding ? config_.padding_idx + 1 : 0;
  if (config_.positions != Positions::kNone) position_embeddings_ = take_embedding(arena, finer, before + positions, width);
  if (config_.positions == Positions::kSinusoidal && !arena.measuring()) set_sinusoidal(position_embeddings_);
  if (config_.type_vocab_size > 0) token_type_embeddings_ = take_embedding(arena, finer, config_.type_vocab_size, width);
  const auto rope_scaling = [&](double theta) {
    return RopeScaling{.type = RopeScaling::Type::kNtk, .theta = theta, .factor = config_.rotary.ntk_factor};
  };
  switch (config_.distances) {
    case Distances::kNone:
      break;
    case Distances::kRotary:
      rotary_ = take_rotary(arena, positions, config_.head_dim(), rope_scaling(config_.rotary.theta));
      if (config_.local_layers.empty()) break;
      local_rotary_ = take_rotary(arena, positions, config_.head_dim(), rope_scaling(config_.rotary.local_theta));
      break;
    case Distances::kAlibi:
      distance_bias_ = take_distance_bias(arena, heads, positions);
      if (!arena.measuring()) set_alibi(distance_bias_, heads);
      break;
    case Distances::kT5Buckets:
      distance_bias_ = take_distance_bias(arena, heads, positions);
      break;
    case Distances::kDisentangled:
      distance_buckets_ = take_distance_buckets(arena, positions, config_.relative.buckets, config_.relative.max_distance);
      relative_embeddings_ = take_embedding(arena, finer, config_.relative_rows(), config_.hidden_size);
      relative_norm_ = take_layer_norm(arena, config_.hidden_size, config_.layer_norm_eps);
      break;
  }
}

std::vector<WeightSlot> Encoder::weight_slots(const EncoderNames& names) const {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t inner = config_.inner_width();
  const std::int64_t ffn = config_.intermediate_size;
  const auto& biases = config_.biases;
  SlotList list;
  list.table(names.word_embeddings, word_embeddings_);
  if (names.position_embeddings && config_.positions != Positions::kNone) {
    list.table(names.position_embeddings, position_embeddings_, config_.position_offset);
  }
  if (config_.type_vocab_size > 0) list.table(names.token_type_embeddings, token_type_embeddings_);
  if (config_.embeddings_norm) list.norm(names.embeddings_norm, embeddings_norm_, biases.norms);
  if (config_.embedding_size > 0) list.linear(names.embeddings_projection, embeddings_projection_, 0, hidden);
  if (config_.distances == Distances::kT5Buckets) {
    list.distances(names.distance_bias, distance_bias_, config_.num_attention_heads, config_.t5.buckets, config_.t5.buckets,
                   config_.t5.max_distance);
  }
  if (config_.distances == Distances::kDisentangled) {
    list.table(names.relative_embeddings, relative_embeddings_);
    if (config_.relative.norm) list.norm(names.relative_norm, relative_norm_, true);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const EncoderLayer& layer = layers_[i];
    if (names.key) {
      list.linear(layer_name(names.query, i), layer.qkv, 0, inner, biases.qkv);
      list.linear(layer_name(names.key, i), layer.qkv, inner, inner, biases.qkv);
      list.linear(layer_name(names.value, i), layer.qkv, 2 * inner, inner, biases.qkv);
    } else {
      list.linear(layer_name(names.query, i), layer.qkv, 0, 3 * inner, biases.qkv);
    }
    list.linear(layer_name(names.attention_output, i), layer.attention_output, 0, hidden, biases.attention_output);
    if (i > 0 || config_.norms_first_attention) {
      list.norm(layer_name(names.attention_norm, i), layer.attention_norm, biases.norms);
    }
    const bool plain = !config_.gated();
    const std::string intermediate = layer_name(plain && names.plain ? names.plain : names.intermediate, i);
    if (names.multiplied || plain) {
      list.linear(intermediate, layer.intermediate, 0, ffn, biases.intermediate);
      if (names.multiplied && !plain)
        list.linear(layer_name(names.multiplied, i), layer.intermediate, ffn, ffn, biases.intermediate);
    } else if (config_.feed_forward == FeedForward::kGatedAfter) {
      list.swapped_linear(intermediate, layer.intermediate, biases.intermediate);
    } else {
      list.linear(intermediate, layer.intermediate, 0, 2 * ffn, biases.intermediate);
    }
    list.linear(layer_name(names.output, i), layer.output, 0, hidden, biases.output);
    list.norm(layer_name(names.output_norm, i), layer.output_norm, biases.norms);
  }
  if (config_.norms == NormPlacement::kPre) list.norm(names.final_norm, final_norm_, biases.norms);
  if (config_.pooler) list.linear(names.pooler, pooler_, 0, hidden, true, false);
  return std::move(list.slots);
}

}  // namespace wattn
