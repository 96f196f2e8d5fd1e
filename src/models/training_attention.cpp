// Attention of a training pass, of a sequence to itself and to a source, and its gradients.
#include <algorithm>

#include "models/training_pass.h"

namespace wattn {

void TrainingPass::place(std::int64_t layer, const LayerTape& kept, bool is_new) {
  pass_.work.qkv = kept.qkv;
  if (config_.query_key_norm) {
    std::copy_n(kept.qkv, tokens_ * config_.qkv_width(), placed_);
    pass_.work.qkv = placed_;
  }
  const int index = static_cast<int>(layer);
  if (is_new || config_.query_key_norm) model_.place_queries_and_keys(pass_, index);
  if (!is_disentangled()) return;
  model_.project_relative(pass_, index);
  const Disentangled& terms = pass_.work.disentangled;
  const std::int64_t width = config_.query_width() + config_.kv_width();
  drop_lora({layer, &Layer::qkv, true}, model_.layer_at(layer).qkv, pass_.work.relative, terms.count, width,
            pass_.work.relative_qk);
}

void TrainingPass::attend(std::int64_t layer) {
  auto [terms, input] = model_.attention_call(pass_, static_cast<int>(layer));
  const ProbabilityDropout dropout = drop_probabilities(dropout_of(kProbabilities, layer));
  if (dropout.dropout.rate > 0) terms.dropout = &dropout;
  wattn::attention(pass_.compute, model_.attention_shape(), terms, input, pass_.work.attention, pass_.work.context, {});
}

TrainingPass::CrossCall TrainingPass::cross_call(std::int64_t layer) const {
  const std::int64_t width = config_.query_width();
  AttentionShape shape = model_.attention_shape();
  shape.kv_heads = shape.heads;
  return {shape,
          {.scale = model_.attention_call(pass_, static_cast<int>(layer)).terms.scale},
          {.queries = cross_queries_,
           .query_stride = width,
           .keys = cross_kv_,
           .values = cross_kv_ + width,
           .kv_stride = 2 * width,
           .seq_start = pass_.batch.seq_start,
           .key_start = sources_.seq_start}};
}

void TrainingPass::cross_attend(std::int64_t index, const LayerTape& kept) {
  normalise(pass_.compute, middle_kind(), model_.layer_at(index).*cross_norm(), kept.attention_sum, tokens_, cross_read_);
  product({index, &Layer::cross_query}, cross_read_, tokens_, cross_queries_);
  product({index, &Layer::cross_keys_values}, sources_.states, sources_.tokens(), cross_kv_);
  auto [shape, terms, input] = cross_call(index);
  const ProbabilityDropout dropout = drop_probabilities(dropout_of(kCrossProbabilities, index));
  if (dropout.dropout.rate > 0) terms.dropout = &dropout;
  wattn::attention(pass_.compute, shape, terms, input, pass_.work.attention, cross_context_, {});
}

void TrainingPass::cross_attention_backward(std::int64_t index, const float* dy, float* dx) {
  const std::int64_t width = config_.query_width(), rows = sources_.tokens();
  auto [shape, terms, input] = cross_call(index);
  const ProbabilityDropout dropout = drop_probabilities(dropout_of(kCrossProbabilities, index));
  if (dropout.dropout.rate > 0) terms.dropout = &dropout;
  product_backward({index, &Layer::cross_output}, cross_context_, dy, tokens_, d_context_);
  std::fill_n(d_cross_queries_, tokens_ * width, 0.0f);
  std::fill_n(d_cross_kv_, rows * 2 * width, 0.0f);
  wattn::attention_backward(
      pass_.compute, shape, terms, input, attention_scratch_,
      {.d_context = d_context_, .d_queries = d_cross_queries_, .d_keys = d_cross_kv_, .d_values = d_cross_kv_ + width});
  product_backward({index, &Layer::cross_query}, cross_read_, d_cross_queries_, tokens_, dx);
  float* d_states = sources_.d_states ? d_cross_states_ : nullptr;
  product_backward({index, &Layer::cross_keys_values}, sources_.states, d_cross_kv_, rows, d_states);
  if (d_states) add(d_states, rows * config_.hidden_size, sources_.d_states);
}

void TrainingPass::attention_backward(std::int64_t index, const float* x, const float* raw_qkv, const float* dy, float* dx) {
  const std::int64_t row = config_.qkv_width(), queries = config_.query_width(), keys = config_.kv_width();
  auto [terms, input] = model_.attention_call(pass_, static_cast<int>(index));
  const ProbabilityDropout dropout = drop_probabilities(dropout_of(kProbabilities, index));
  if (dropout.dropout.rate > 0) terms.dropout = &dropout;
  product_backward({index, &Layer::attention_output}, pass_.work.context, dy, tokens_, d_context_);
  std::fill_n(d_qkv_, tokens_ * row, 0.0f);
  std::fill_n(d_relative_qk_, buckets_ * 2 * config_.hidden_size, 0.0f);
  const bool learned_bias = wants_embeddings() && config_.relative_positions == RelativePositions::kT5Buckets;
  wattn::attention_backward(pass_.compute, model_.attention_shape(), terms, input, attention_scratch_,
                            {.d_context = d_context_,
                             .d_queries = d_qkv_,
                             .d_keys = d_qkv_ + queries,
                             .d_values = d_qkv_ + queries + keys,
                             .d_bias = learned_bias ? &gradients_->distance_bias_ : nullptr,
                             .d_relative = terms.relative ? d_relative_qk_ : nullptr});
  if (terms.relative) {
    const std::int64_t count = terms.relative->count;
    product_backward({index, &Layer::qkv, true}, pass_.work.relative, d_relative_qk_, count, d_relative_in_, queries + keys);
    add(d_relative_in_, count * config_.hidden_size, d_relative_);
  }
  if (config_.is_rotary(index)) {
    rotate_heads_backward(pass_.compute, model_.rotary_of(static_cast<int>(index)), pass_.batch.position_ids,
                          config_.num_attention_heads + config_.kv_heads(), row, d_qkv_);
  }
  if (config_.query_key_norm) query_key_norm_backward(index, raw_qkv);
  product_backward({index, &Layer::qkv}, x, d_qkv_, tokens_, dx);
}

void TrainingPass::query_key_norm_backward(std::int64_t index, const float* raw_qkv) {
  const TransformerLayer& layer = model_.layer_at(index);
  const std::int64_t row = config_.qkv_width(), queries = config_.query_width(), dim = config_.head_size();
  const auto backward_of = [&](LayerNorm Layer::* part, std::int64_t at, std::int64_t heads) {
    std::copy_n(d_qkv_ + at, heads * dim, d_head_);
    std::fill_n(d_qkv_ + at, heads * dim, 0.0f);
    norm_backward(NormKind::kRms, layer.*part, scope_.layers ? gradients_->layer_at(index).*part : LayerNorm(), raw_qkv + at,
                  d_head_, heads, d_qkv_ + at, scope_.layers);
  };
  for (std::int64_t i = 0; i < tokens_; ++i) {
    backward_of(&Layer::query_norm, i * row, config_.num_attention_heads);
    backward_of(&Layer::key_norm, i * row + queries, config_.kv_heads());
  }
}

}  // namespace wattn
