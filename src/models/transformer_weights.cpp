// The Transformer's weights: their memory, and the checkpoint's tensors that fill it.
#include <algorithm>
#include <functional>
#include <memory>

#include "core/part.h"
#include "models/layers.h"
#include "models/target_list.h"
#include "models/transformer.h"

namespace wattn {
std::string layer_name(const char* pattern, std::size_t layer, std::size_t group_layers) {
  std::string name = pattern;
  for (const std::size_t number : {layer / group_layers, layer % group_layers}) {
    if (const std::size_t at = name.find("{}"); at != std::string::npos) name.replace(at, 2, std::to_string(number));
  }
  return name;
}

Result<Transformer> Transformer::with_config(const TransformerConfig& config, std::int64_t positions, const Kernels& kernels,
                                             WeightType type) {
  const std::int64_t rotated = config.rope.rotated(config.head_size());
  if (config.relative_positions == RelativePositions::kRotary && (rotated % 2 != 0 || rotated == 0)) {
    return unsupported_error("config.json: expected an even number of dimensions a head for rotary positions, found " +
                             std::to_string(rotated));
  }
  Transformer transformer;
  transformer.config_ = config;
  transformer.positions_ = positions;
  transformer.kernels_ = &kernels;
  transformer.type_ = type;
  transformer.layers_ = std::make_unique<TransformerLayer[]>(static_cast<std::size_t>(config.own_layers()));
  transformer.plan_ = plan_of(config, *transformer.ends_, transformer.layers());
  transformer.take_weights(transformer.weights_);  // measures
  auto weights = Arena::with_zeros(transformer.weights_.used(), "weights");
  if (!weights.ok()) return weights.error();
  transformer.weights_ = std::move(weights).value();
  transformer.take_weights(transformer.weights_);
  return transformer;
}

void Transformer::take_weights(Arena& arena) {
  take_tables(arena);
  std::size_t layer = 0;
  for (std::size_t i = 0; i < plan_.weights.size(); ++i) {
    if (layer < plan_.layers.size() && static_cast<std::size_t>(plan_.layers[layer].steps.first_weight) == i) {
      TransformerLayer& own = layers_[static_cast<std::size_t>(config_.weights_of(static_cast<std::int64_t>(layer++)))];
      if (!own.begin) own.begin = arena.take<float>(0);
    }
    const Weight& weight = plan_.weights[i];
    const auto begin = plan_.weights.begin(), end = begin + static_cast<std::ptrdiff_t>(i);
    if (std::none_of(begin, end, [&](const Weight& earlier) { return earlier.at == weight.at; })) take_weight(arena, weight);
  }
  // f32: small, and run once per sequence.
  if (config_.pooler) {
    ends_->pooler = take_linear(arena, *kernels_, WeightType::kF32, config_.hidden_size, config_.hidden_size, true);
  }
  if (!arena.measuring()) set_tables();
}

void Transformer::take_weight(Arena& arena, const Weight& weight) {
  switch (weight.hold) {
    case Hold::kMatrix:
    case Hold::kSensitive: {
      const WeightType type = weight.hold == Hold::kMatrix ? type_ : at_least_q8(type_);
      *static_cast<LinearWeights*>(weight.at) = take_linear(arena, *kernels_, type, weight.width, weight.rows, weight.bias);
      break;
    }
    case Hold::kFilter:
      *static_cast<LinearWeights*>(weight.at) =
          take_linear(arena, *kernels_, WeightType::kF32, weight.width, weight.rows, weight.bias);
      break;
    case Hold::kNorm:
      *static_cast<LayerNorm*>(weight.at) =
          take_layer_norm(arena, weight.width, weight.epsilon > 0 ? weight.epsilon : config_.norm_eps);
      break;
    case Hold::kFineTable: {
      // Files in f16 may have them in f32, and some are computed.
      const WeightType finer = type_ == WeightType::kF16 ? WeightType::kF32 : at_least_q16(type_);
      *static_cast<EmbeddingTable*>(weight.at) = take_embedding(arena, finer, weight.rows, weight.width);
      break;
    }
    case Hold::kWords:
      take_words(arena, weight);
      break;
    case Hold::kExperts:
      Part<ExpertLayers>::get()->take(arena, *kernels_, type_, config_, *static_cast<std::shared_ptr<Experts>*>(weight.at));
      break;
    case Hold::kGatedDelta:
      Part<GatedDeltas>::get()->take(arena, *kernels_, config_, *static_cast<std::shared_ptr<GatedDelta>*>(weight.at));
      break;
    case Hold::kDistances:
      *static_cast<DistanceBias*>(weight.at) = take_distance_bias(arena, config_.num_attention_heads, positions_);
      break;
    case Hold::kConstant:
      break;  // in take_tables()
  }
}

void Transformer::take_words(Arena& arena, const Weight& weight) {
  const bool shares_rows = config_.table_rows > 0;
  if (!head_holds_embeddings()) {
    ends_->words = take_embedding(arena, type_, shares_rows ? config_.table_rows : weight.rows, weight.width);
  }
  if (shares_rows) ends_->token_rows = arena.take<float>(weight.rows);
  if (config_.token_weights) ends_->token_weights = arena.take<float>(weight.rows);
  ends_->word_table = {&ends_->words, ends_->token_rows, ends_->token_weights, head_holds_embeddings() ? &ends_->lm_head : nullptr,
                       static_cast<std::int32_t>(config_.padding_word)};
}

// What is computed, and biases by distance that all layers share.
void Transformer::take_tables(Arena& arena) {
  const bool t5 = config_.relative_positions == RelativePositions::kT5Buckets && !config_.t5.each_layer;
  if (t5 || config_.relative_positions == RelativePositions::kAlibi) {
    ends_->distances = take_distance_bias(arena, config_.num_attention_heads, positions_);
  }
  if (config_.relative_positions == RelativePositions::kRotary) {
    ends_->rotary = take_rotary(arena, positions_, config_.head_size(), config_.rope);
    if (config_.local_rope_theta != 0) {
      ends_->local_rotary = take_rotary(arena, positions_, config_.head_size(), {.theta = config_.local_rope_theta});
    }
  }
  if (config_.relative_positions == RelativePositions::kDisentangled) {
    const auto& of = config_.disentangled;
    ends_->distance_buckets = take_distance_buckets(arena, positions_, of.buckets, of.max_distance);
  }
}

// Computed values of tables that other models read from a checkpoint.
void Transformer::set_tables() {
  if (config_.positions == Positions::kSinusoidal) set_sinusoidal(ends_->positions);
  if (config_.fairseq_positions) {
    const std::int64_t padding = config_.positions == Positions::kAfterPadding ? config_.padding_idx : -1;
    set_fairseq_sinusoidal(ends_->positions, config_.position_offset, padding);
  }
  if (config_.relative_positions == RelativePositions::kAlibi) set_alibi(ends_->distances, config_.num_attention_heads);
}

std::vector<Weight> Transformer::weights_within(const void* begin, const void* end) const {
  std::vector<Weight> out;
  const std::less<const void*> before;
  for (const Weight& weight : plan_.weights) {
    const bool within = !before(weight.at, begin) && before(weight.at, end) && weight.learned != Learned::kNever;
    if (within && std::ranges::find(out, weight.at, &Weight::at) == out.end()) out.push_back(weight);
  }
  std::ranges::sort(out, before, &Weight::at);
  return out;
}

std::vector<Weight> Transformer::own_weights(std::int64_t i) const {
  const TransformerLayer* layer = &layers_[static_cast<std::size_t>(i)];
  return weights_within(layer, layer + 1);
}

std::vector<Weight> Transformer::embedding_weights() const { return weights_within(&ends_->positions, &ends_->convolution); }

std::int64_t Transformer::own_layer_of(const void* weight) const {
  for (std::int64_t i = 0; i < config_.own_layers(); ++i) {
    const TransformerLayer* layer = &layers_[static_cast<std::size_t>(i)];
    const std::less<const void*> before;
    if (!before(weight, layer) && before(weight, layer + 1)) return i;
  }
  return -1;
}

void Transformer::add_word_targets(TargetList& list, const TransformerNames& names) const {
  const std::int64_t vocab = config_.vocab_size;
  if (head_holds_embeddings()) {
    list.linear(names.word_embeddings, ends_->lm_head, 0, vocab, false);
    list.place(nullptr, nullptr, 0, 0);  // an adapter of the head leaves the embeddings as they are
    list.adapts_rows(ends_->lm_head);
    list.repeats(std::string(names.lm_head) + ".weight", {vocab, config_.hidden_size},
                 std::string(names.word_embeddings) + ".weight");
    list.place(&ends_->lm_head, nullptr, 0, vocab);
    if (config_.lm_head_bias && !names.lm_head_bias) list.vector(std::string(names.lm_head) + ".bias", ends_->lm_head.bias, vocab);
  } else if (config_.lm_head && config_.cross_attention) {
    // As in transformers, the word embeddings are the head of an encoder-decoder's checkpoint that has none.
    const auto has_own = std::make_shared<bool>(false);
    list.matrix(names.word_embeddings, vocab, config_.hidden_size, true,
                [=, this_words = ends_->words, head = ends_->lm_head](auto i, auto* row) {
                  set_row(this_words, i, row);
                  if (!*has_own) set_weight_row(head, i, row);
                });
    list.adapts_rows(ends_->words);
    list.matrix(names.lm_head, vocab, config_.hidden_size, false, [=, head = ends_->lm_head](auto i, auto* row) {
      *has_own = true;
      set_weight_row(head, i, row);
    });
    list.place(&ends_->lm_head, nullptr, 0, vocab);
  } else {
    list.table(names.word_embeddings, ends_->words);
    if (!config_.is_static()) list.adapts_rows(ends_->words);
    list.targets.back().integers = config_.is_static();
    if (ends_->token_rows) {
      list.vector(std::string(names.token_rows) + ".weight", ends_->token_rows, vocab);
      list.targets.back().integers = true;
      list.targets.back().below = config_.table_rows;
    }
    if (ends_->token_weights) list.vector(std::string(names.token_weights) + ".weight", ends_->token_weights, vocab);
    // Unless the bias has a separate name.
    if (config_.lm_head) list.linear(names.lm_head, ends_->lm_head, 0, vocab, config_.lm_head_bias && !names.lm_head_bias);
  }
  if (config_.lm_head && config_.lm_head_dense.present) {
    list.linear(names.lm_head_dense, ends_->head_dense, 0, config_.hidden_size, config_.lm_head_dense.bias);
    list.norm(names.lm_head_norm, ends_->head_norm, config_.biases.norms);
  }
  if (config_.lm_head && config_.lm_head_bias && names.lm_head_bias) {
    list.targets.push_back({names.lm_head_bias, {1, vocab}, false, [head = ends_->lm_head](std::int64_t, const float* row) {
                              std::copy_n(row, head.out, head.bias);
                            }});
  }
}

void Transformer::add_embedding_targets(TargetList& list, const TransformerNames& names, bool is_gguf) const {
  const auto& biases = config_.biases;
  const bool in_file = config_.positions == Positions::kLearned || config_.positions == Positions::kAfterPadding;
  if (in_file && !config_.fairseq_positions) {
    // llama.cpp leaves out the rows up to the padding token's.
    const bool after_padding = config_.positions == Positions::kAfterPadding && is_gguf;
    list.table(names.position_embeddings, ends_->positions, after_padding ? -(config_.padding_idx + 1) : config_.position_offset);
    if (!after_padding && config_.position_offset == 0) list.adapts_rows(ends_->positions, true);
  }
  if (config_.type_vocab_size > 0) {
    list.table(names.token_type_embeddings, ends_->token_types);
    list.adapts_rows(ends_->token_types, true);
  }
  if (config_.embeddings_norm) list.norm(names.embeddings_norm, ends_->norm, biases.norms);
  if (config_.embedding_size > 0) list.linear(names.embeddings_projection, ends_->projection, 0, config_.hidden_size);
  if (config_.relative_positions == RelativePositions::kRotary && is_gguf) {
    const bool by_length = config_.rope.most_positions > 0;
    list.targets.push_back({by_length ? "rope_factors_short.weight" : "rope_freqs.weight",
                            {ends_->rotary.half},
                            false,
                            [rotary = ends_->rotary, count = positions_, rope = config_.rope](auto, auto* row) {
                              set_rotary_factors(rotary, count, rope, row);
                            }});
  }
  if (config_.relative_positions == RelativePositions::kT5Buckets && !config_.t5.each_layer) {
    add_distance_targets(list, names.relative_attention_bias, ends_->distances);
  }
  if (config_.relative_positions == RelativePositions::kDisentangled) {
    list.table(names.relative_embeddings, ends_->relative);
    if (config_.disentangled.norm) list.norm(names.relative_norm, ends_->relative_norm, true);
  }
  if (config_.convolution.kernel > 0) Part<Convolutions>::get()->add_targets(config_, names, ends_->convolution, list);
}

void Transformer::add_distance_targets(TargetList& list, const std::string& name, const DistanceBias& bias) const {
  // A causal table holds one direction of as many buckets each.
  list.distances(name, bias, config_.num_attention_heads, config_.t5.buckets, (config_.causal ? 2 : 1) * config_.t5.buckets,
                 config_.t5.max_distance);
}

void Transformer::add_layer_targets(TargetList& list, const TransformerNames& names, std::size_t i, bool is_gguf) const {
  const TransformerLayer& layer = layers_[i];
  if (config_.rare) return config_.rare->add_targets(config_, layer, i, list);
  const std::int64_t hidden = config_.hidden_size, ffn = config_.intermediate_size;
  const std::int64_t queries = config_.query_width(), keys = config_.kv_width();
  const auto& biases = config_.biases;
  const auto named = [&](const char* pattern) { return layer_name(pattern, i, static_cast<std::size_t>(config_.group_layers)); };
  const auto matrix = [&](const char* name, const LinearWeights& linear, std::int64_t first, std::int64_t out, bool bias) {
    if (names.transposed && !is_gguf) return list.transposed_linear(named(name), linear, first, out, bias);
    if (config_.pointwise.query > 0)
      return Part<Convolutions>::get()->add_pointwise(config_, names, name, named(name), linear, first, out, list);
    list.linear(named(name), linear, first, out, bias);
  };
  const auto rotated = [&](const char* name, std::int64_t first, std::int64_t out) {
    if (!names.rope_permuted_in_gguf || !is_gguf) return matrix(name, layer.qkv, first, out, biases.qkv);
    list.rope_permuted_linear(named(name), layer.qkv, first, out, config_.head_size(), biases.qkv);
  };
  const bool pre_norm = config_.norm_placement == NormPlacement::kPre;
  const float offset = is_gguf ? 0 : names.norm_offset;
  const auto norm = [&](const char* name, const LayerNorm& of) { list.norm(named(name), of, biases.norms, offset); };
  const bool attention_norm = config_.input_norms && (i > 0 || config_.first_attention_norm);
  if (pre_norm && attention_norm) norm(names.attention_norm, layer.attention_norm);
  const bool convolves = config_.convolves(static_cast<std::int64_t>(i)),
             recurs = config_.is_recurrent(static_cast<std::int64_t>(i));
  const bool attends = !convolves && !recurs;
  if (convolves) {
    Part<Convolutions>::get()->add_short_targets(config_, names, layer, i, list);
  } else if (recurs) {
    Part<GatedDeltas>::get()->add_targets(config_, names, layer, i, is_gguf, list);
  } else if ((names.heads_in_turn || names.quarters_in_turn) && !is_gguf) {
    const std::int64_t head = config_.head_size();
    const std::size_t before = list.targets.size();
    const bool quarters = names.quarters_in_turn;
    const std::int64_t size = quarters ? queries / 4 : head;
    const auto place_of = [=](std::int64_t row) {
      const std::int64_t part = row / size % 3;
      return (quarters ? (3 - part) % 3 : part) * queries + row / (3 * size) * size + row % size;
    };
    list.permuted_linear(named(names.query_key_value), layer.qkv, config_.qkv_width(), biases.qkv && !names.query_bias, true,
                         place_of);
    for (std::size_t target = before; target < list.targets.size(); ++target) list.targets[target].place_of = place_of;
    const auto part_of_bias = [&](const char* name, std::int64_t first, std::int64_t size) {
      if (!name) return;
      list.vector(named(name), layer.qkv.bias + first, size);
      list.place(&layer.qkv, layer.qkv.bias, first, config_.qkv_width());
    };
    part_of_bias(names.query_bias, 0, queries);
    part_of_bias(names.value_bias, queries + keys, keys);
  } else if (names.query_key_value) {
    matrix(names.query_key_value, layer.qkv, 0, config_.qkv_width(), biases.qkv);
  } else {
    if (config_.attention_gate) {
      // The rows of each head's query, then those of its gate.
      const auto place_of = [head = config_.head_size(), gates = config_.qkv_width()](std::int64_t row) {
        const std::int64_t at = row % (2 * head), first = row / (2 * head) * head;
        return at < head ? first + at : gates + first + at - head;
      };
      const std::size_t before = list.targets.size();
      list.permuted_linear(named(names.query), layer.qkv, 2 * queries, biases.qkv, true, place_of);
      for (std::size_t target = before; target < list.targets.size(); ++target) list.targets[target].place_of = place_of;
    } else {
      rotated(names.query, 0, queries);
    }
    rotated(names.key, queries, keys);
    matrix(names.value, layer.qkv, queries + keys, keys, biases.qkv);
  }
  if (config_.query_key_norm && attends) {
    list.norm(named(names.query_norm), layer.query_norm, false, offset);
    list.norm(named(names.key_norm), layer.key_norm, false, offset);
  }
  if (config_.disentangled.own_matrices) {
    list.linear(named(names.relative_query), layer.relative_qk, 0, queries, true);
    list.linear(named(names.relative_key), layer.relative_qk, queries, keys, false);
  }
  if (config_.t5.each_layer) add_distance_targets(list, named(names.relative_attention_bias), layer.distance_bias);
  if (attends) matrix(names.attention_output, layer.attention_output, 0, hidden, biases.attention_output);
  if (!pre_norm) norm(names.attention_norm, layer.attention_norm);
  if (config_.output_norms) norm(names.attention_output_norm, layer.attention_output_norm);
  if (config_.cross_attention) {
    if (pre_norm) norm(names.cross_norm, layer.cross_norm);
    matrix(names.cross_query, layer.cross_query, 0, queries, biases.qkv);
    matrix(names.cross_key, layer.cross_keys_values, 0, queries, biases.qkv);
    matrix(names.cross_value, layer.cross_keys_values, queries, queries, biases.qkv);
    matrix(names.cross_output, layer.cross_output, 0, hidden, biases.attention_output);
    if (!pre_norm) norm(names.cross_norm, layer.cross_norm);
  }
  if (pre_norm && config_.input_norms && config_.residual != Residual::kParallelOneNorm) norm(names.ffn_norm, layer.ffn_norm);
  if (config_.has_experts(static_cast<std::int64_t>(i))) {
    Part<ExpertLayers>::get()->add_targets(config_, names, layer, i, is_gguf, list);
  } else if (!config_.gated()) {
    matrix(names.plain_up && !is_gguf ? names.plain_up : names.up, layer.up, 0, ffn, biases.up);
  } else if (names.gate_up) {
    matrix(names.gate_up, layer.up, 0, 2 * ffn, biases.up);
  } else if (names.up_gate) {
    list.permuted_linear(named(names.up_gate), layer.up, 2 * ffn, biases.up, true,
                         [=](std::int64_t row) { return (row + ffn) % (2 * ffn); });
  } else {
    matrix(names.gate, layer.up, 0, ffn, biases.up);
    matrix(names.up, layer.up, ffn, ffn, biases.up);
  }
  if (!config_.has_experts(static_cast<std::int64_t>(i))) matrix(names.down, layer.down, 0, hidden, biases.down);
  if (!pre_norm) norm(names.ffn_norm, layer.ffn_norm);
  if (config_.output_norms) norm(names.ffn_output_norm, layer.ffn_output_norm);
}

std::vector<WeightTarget> Transformer::weight_targets(const TransformerNames& names, bool is_gguf) const {
  TargetList list;
  add_word_targets(list, names);
  add_embedding_targets(list, names, is_gguf);
  for (std::size_t i = 0; i < layers().size(); ++i) add_layer_targets(list, names, i, is_gguf);
  if (config_.norm_placement == NormPlacement::kPre) {
    list.norm(names.final_norm, ends_->final_norm, config_.biases.norms, is_gguf ? 0 : names.norm_offset);
  }
  if (config_.pooler) list.linear(names.pooler, ends_->pooler, 0, config_.hidden_size, true, false);
  return std::move(list.targets);
}

}  // namespace wattn
