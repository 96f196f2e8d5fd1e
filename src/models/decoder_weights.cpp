// The Decoder's weights: their memory, and which tensor of a checkpoint goes where.
#include <algorithm>
#include <memory>

#include "models/decoder.h"
#include "models/encoder.h"
#include "models/slot_list.h"

namespace wattn {
namespace {

// A matrix that the checkpoint has as [in, out]: its rows are kept until the last is there.
void transposed_linear(SlotList& list, const std::string& name, const Linear& layer, std::int64_t first, std::int64_t out) {
  const auto kept = std::make_shared<std::vector<float>>();
  list.slots.push_back({name + ".weight", {layer.in, out}, true, [=](std::int64_t i, const float* row) {
                          if (i == 0) kept->reserve(static_cast<std::size_t>(layer.in * out));
                          kept->insert(kept->end(), row, row + out);
                          if (i + 1 < layer.in) return;
                          std::vector<float> column(static_cast<std::size_t>(layer.in));
                          for (std::int64_t j = 0; j < out; ++j) {
                            for (std::int64_t k = 0; k < layer.in; ++k) column[k] = (*kept)[k * out + j];
                            set_weight_row(layer, first + j, column.data());
                          }
                          *kept = {};
                        }});
}

// A matrix of heads whose rows the file has by turns from the first and the second half of each head.
void turned_linear(SlotList& list, const std::string& name, const Linear& layer, std::int64_t first, std::int64_t out,
                   std::int64_t head_dim, bool bias) {
  const auto place = [=](std::int64_t i) {
    const std::int64_t at = i % head_dim;
    return first + i - at + at % 2 * (head_dim / 2) + at / 2;
  };
  list.slots.push_back(
      {name + ".weight", {out, layer.in}, true, [=](std::int64_t i, const float* row) { set_weight_row(layer, place(i), row); }});
  if (!bias) return;
  list.slots.push_back({name + ".bias", {out}, true, [=](std::int64_t, const float* row) {
                          for (std::int64_t i = 0; i < out; ++i) layer.bias[place(i)] = row[i];
                        }});
}

// Adds matrices as one file has them.
struct Matrices {
  SlotList& list;
  bool transposed;

  void add(const std::string& name, const Linear& layer, std::int64_t first, std::int64_t out, bool bias) const {
    if (!transposed) return list.linear(name, layer, first, out, bias);
    transposed_linear(list, name, layer, first, out);
    if (bias) list.vector(name + ".bias", layer.bias + first, out);
  }
};

}  // namespace

Result<Decoder> Decoder::with_config(const DecoderConfig& config, std::int64_t positions, const Kernels& kernels, WeightType type) {
  Decoder decoder;
  decoder.config_ = config;
  decoder.positions_ = positions;
  decoder.kernels_ = &kernels;
  decoder.type_ = type;
  decoder.take_weights(decoder.weights_, kernels);  // measures
  auto weights = Arena::with_zeros(decoder.weights_.used(), "weights");
  if (!weights.ok()) return weights.error();
  decoder.weights_ = std::move(weights).value();
  decoder.take_weights(decoder.weights_, kernels);
  return decoder;
}

void Decoder::take_weights(Arena& arena, const Kernels& kernels) {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t ffn = config_.intermediate_size;
  const auto& biases = config_.biases;
  const auto matrix = [&](std::int64_t in, std::int64_t out, bool bias) {
    return take_linear(arena, kernels, type_, in, out, bias);
  };
  // Queries, keys, values and the head: as in the encoder.
  const auto sensitive = [&](std::int64_t in, std::int64_t out, bool bias) {
    return take_linear(arena, kernels, at_least_q8(type_), in, out, bias);
  };
  const auto norm = [&](std::int64_t size) { return take_layer_norm(arena, size, config_.norm_eps); };
  // Small, and part of every token: int8 would cost more accuracy than it saves memory.
  const WeightType finer = at_least_q16(type_);
  if (!config_.tie_word_embeddings) word_embeddings_ = take_embedding(arena, type_, config_.vocab_size, hidden);
  take_position_weights(arena, finer);
  if (config_.embeddings_norm) embeddings_norm_ = norm(hidden);
  layers_.resize(static_cast<std::size_t>(config_.num_hidden_layers));
  for (DecoderLayer& layer : layers_) {
    layer.qkv = sensitive(hidden, config_.qkv_width(), biases.qkv);
    if (config_.query_key_norm) layer.query_norm = norm(config_.head_dim);
    if (config_.query_key_norm) layer.key_norm = norm(config_.head_dim);
    layer.attention_output = matrix(config_.query_width(), hidden, biases.attention_output);
    layer.attention_norm = norm(hidden);
    if (config_.cross_attention) {
      layer.cross_query = sensitive(hidden, config_.query_width(), biases.qkv);
      layer.cross_keys_values = sensitive(hidden, 2 * config_.query_width(), biases.qkv);
      layer.cross_output = matrix(config_.query_width(), hidden, biases.attention_output);
      layer.cross_norm = norm(hidden);
    }
    layer.up = matrix(hidden, config_.gated ? 2 * ffn : ffn, biases.feed_forward);
    layer.down = matrix(ffn, hidden, biases.feed_forward);
    layer.feed_forward_norm = norm(hidden);
  }
  if (!config_.norms_after) final_norm_ = norm(hidden);
  head_ = sensitive(hidden, config_.vocab_size, config_.head_bias);
}

void Decoder::take_position_weights(Arena& arena, WeightType type) {
  switch (config_.positions) {
    case TokenPlaces::kRotary:
      rotary_ = take_rotary(arena, positions_, config_.head_dim, config_.rope);
      break;
    case TokenPlaces::kLearned:
    case TokenPlaces::kSinusoidal:
      position_embeddings_ = take_embedding(arena, type, config_.max_position_embeddings, config_.hidden_size);
      if (config_.positions == TokenPlaces::kSinusoidal && !arena.measuring()) set_sinusoidal(position_embeddings_);
      break;
    case TokenPlaces::kT5Buckets:
      distance_bias_ = take_distance_bias(arena, config_.num_attention_heads, positions_);
      break;
  }
}

// Of an encoder-decoder whose head is its own: transformers takes the words' table for it where the checkpoint has no other.
void Decoder::add_head_slots(SlotList& list, const DecoderNames& names) const {
  const auto is_there = std::make_shared<bool>(false);
  list.slots.push_back({std::string(names.word_embeddings) + ".weight",
                        {config_.vocab_size, config_.hidden_size},
                        true,
                        [=, words = word_embeddings_, head = head_](std::int64_t i, const float* row) {
                          set_row(words, i, row);
                          if (!*is_there) set_weight_row(head, i, row);
                        }});
  list.slots.push_back({std::string(names.head) + ".weight",
                        {config_.vocab_size, config_.hidden_size},
                        false,
                        [=, head = head_](std::int64_t i, const float* row) {
                          *is_there = true;
                          set_weight_row(head, i, row);
                        }});
}

std::vector<WeightSlot> Decoder::weight_slots(const DecoderNames& names, bool is_gguf) const {
  const std::int64_t hidden = config_.hidden_size;
  const std::int64_t ffn = config_.intermediate_size;
  const std::int64_t queries = config_.query_width(), keys = config_.key_width();
  const auto& biases = config_.biases;
  SlotList list;
  const Matrices matrices{list, names.transposed && !is_gguf};
  const auto heads = [&](const std::string& name, const Linear& layer, std::int64_t first, std::int64_t out) {
    if (!names.turned_in_gguf || !is_gguf) return matrices.add(name, layer, first, out, biases.qkv);
    turned_linear(list, name, layer, first, out, config_.head_dim, biases.qkv);
  };
  if (config_.tie_word_embeddings) {
    list.linear(names.word_embeddings, head_, 0, config_.vocab_size, false);
  } else if (config_.cross_attention) {
    add_head_slots(list, names);
  } else {
    list.table(names.word_embeddings, word_embeddings_);
    list.linear(names.head, head_, 0, config_.vocab_size, false);
  }
  if (config_.head_bias) {
    list.slots.push_back({names.head_bias, {1, config_.vocab_size}, false, [head = head_](std::int64_t, const float* row) {
                            std::copy_n(row, head.out, head.bias);
                          }});
  }
  if (config_.positions == TokenPlaces::kLearned) {
    list.table(names.position_embeddings, position_embeddings_, config_.position_offset);
  }
  if (config_.positions == TokenPlaces::kRotary && is_gguf) {
    list.slots.push_back(
        {"rope_freqs.weight", {rotary_.half}, false, [rotary = rotary_, count = positions_, rope = config_.rope](auto, auto* row) {
           set_rotary_factors(rotary, count, rope, row);
         }});
  }
  if (config_.positions == TokenPlaces::kT5Buckets) {
    // One way: as if the other had as many buckets.
    list.distances(names.distance_bias, distance_bias_, config_.num_attention_heads, config_.t5.buckets, 2 * config_.t5.buckets,
                   config_.t5.max_distance);
  }
  if (config_.embeddings_norm) list.norm(names.embeddings_norm, embeddings_norm_, biases.norms);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const DecoderLayer& layer = layers_[i];
    list.norm(layer_name(names.attention_norm, i), layer.attention_norm, biases.norms);
    if (names.key) {
      heads(layer_name(names.query, i), layer.qkv, 0, queries);
      heads(layer_name(names.key, i), layer.qkv, queries, keys);
      matrices.add(layer_name(names.value, i), layer.qkv, queries + keys, keys, biases.qkv);
    } else {
      matrices.add(layer_name(names.query, i), layer.qkv, 0, config_.qkv_width(), biases.qkv);
    }
    if (config_.query_key_norm) {
      list.norm(layer_name(names.query_norm, i), layer.query_norm, false);
      list.norm(layer_name(names.key_norm, i), layer.key_norm, false);
    }
    matrices.add(layer_name(names.attention_output, i), layer.attention_output, 0, hidden, biases.attention_output);
    if (config_.cross_attention) {
      list.linear(layer_name(names.cross_query, i), layer.cross_query, 0, queries, biases.qkv);
      list.linear(layer_name(names.cross_key, i), layer.cross_keys_values, 0, queries, biases.qkv);
      list.linear(layer_name(names.cross_value, i), layer.cross_keys_values, queries, queries, biases.qkv);
      list.linear(layer_name(names.cross_output, i), layer.cross_output, 0, hidden, biases.attention_output);
      list.norm(layer_name(names.cross_norm, i), layer.cross_norm, biases.norms);
    }
    list.norm(layer_name(names.feed_forward_norm, i), layer.feed_forward_norm, biases.norms);
    if (config_.gated) matrices.add(layer_name(names.gate, i), layer.up, 0, ffn, biases.feed_forward);
    const char* up = config_.gated || !names.plain ? names.up : names.plain;
    matrices.add(layer_name(up, i), layer.up, config_.gated ? ffn : 0, ffn, biases.feed_forward);
    matrices.add(layer_name(names.down, i), layer.down, 0, hidden, biases.feed_forward);
  }
  if (!config_.norms_after) list.norm(names.final_norm, final_norm_, biases.norms);
  return std::move(list.slots);
}

}  // namespace wattn
