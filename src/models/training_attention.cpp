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
  if (is_new || config_.query_key_norm) place_queries_and_keys(layer);
  if (!is_disentangled()) return;
  const Disentangled& terms = pass_.work.disentangled;
  const std::int64_t width = config_.query_width() + config_.kv_width();
  Linear queries_and_keys = model_.layer_at(layer).qkv;
  queries_and_keys.out = width;
  linear(pass_.compute, queries_and_keys, pass_.work.relative, terms.count, Activation::kNone, pass_.work.linear,
         pass_.work.relative_qk);
  drop_lora({layer, &Layer::qkv, true}, model_.layer_at(layer).qkv, pass_.work.relative, terms.count, width,
            pass_.work.relative_qk);
}

TrainingPass::AttentionCall TrainingPass::attention_call(std::int64_t index) const {
  const Workspace& work = pass_.work;
  const std::int64_t queries = config_.query_width(), keys = config_.kv_width(), row = config_.qkv_width();
  const bool local = config_.is_local(index);
  ScoreTerms terms{.scale = config_.score_scale(), .softcap = config_.attn_logit_softcapping, .causal = config_.causal};
  if (config_.scale_by_layer) terms.scale /= static_cast<float>(index + 1);
  if (local) terms.window_before = config_.local_window;
  if (local && !config_.causal) terms.window_after = config_.local_window;
  if (model_.ends().distances.values) terms.bias = &model_.ends().distances;
  if (config_.relative_positions == RelativePositions::kDisentangled) terms.relative = &pass_.work.disentangled;
  return {terms,
          {.queries = work.qkv,
           .query_stride = row,
           .keys = work.qkv + queries,
           .values = work.qkv + queries + keys,
           .kv_stride = row,
           .seq_start = pass_.batch.seq_start,
           .position_ids = pass_.batch.position_ids,
           .key_start = pass_.batch.key_start}};
}

void TrainingPass::place_queries_and_keys(std::int64_t index) const {
  const TransformerLayer& layer = model_.layer_at(index);
  const std::int64_t queries = config_.query_width(), row = config_.qkv_width(), tokens = pass_.batch.tokens();
  if (config_.query_key_norm) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      float* token = pass_.work.qkv + i * row;
      const bool joined = config_.query_key_norm_joined;
      rms_norm(pass_.compute, layer.query_norm, token, joined ? 1 : config_.num_attention_heads, token);
      rms_norm(pass_.compute, layer.key_norm, token + queries, joined ? 1 : config_.kv_heads(), token + queries);
    }
  }
  if (config_.is_rotary(index)) {
    rotate_heads(pass_.compute, rotary_of(index), pass_.batch.position_ids, config_.num_attention_heads + config_.kv_heads(), row,
                 pass_.work.qkv);
  }
}

void TrainingPass::attend(std::int64_t layer) {
  auto [terms, input] = attention_call(layer);
  const ProbabilityDropout dropout = drop_probabilities(dropout_of(kProbabilities, layer));
  if (dropout.dropout.rate > 0) terms.dropout = &dropout;
  wattn::attention(pass_.compute, config_.attention_shape(), terms, input, pass_.work.attention, pass_.work.context, {});
}

TrainingPass::CrossCall TrainingPass::cross_call() const {
  const std::int64_t width = config_.query_width();
  AttentionShape shape = config_.attention_shape();
  shape.kv_heads = shape.heads;
  return {shape,
          {.scale = config_.score_scale()},
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
  auto [shape, terms, input] = cross_call();
  const ProbabilityDropout dropout = drop_probabilities(dropout_of(kCrossProbabilities, index));
  if (dropout.dropout.rate > 0) terms.dropout = &dropout;
  wattn::attention(pass_.compute, shape, terms, input, pass_.work.attention, cross_context_, {});
}

void TrainingPass::cross_attention_backward(std::int64_t index, const float* dy, float* dx) {
  const std::int64_t width = config_.query_width(), rows = sources_.tokens();
  auto [shape, terms, input] = cross_call();
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
  auto [terms, input] = attention_call(index);
  const ProbabilityDropout dropout = drop_probabilities(dropout_of(kProbabilities, index));
  if (dropout.dropout.rate > 0) terms.dropout = &dropout;
  product_backward({index, &Layer::attention_output}, pass_.work.context, dy, tokens_, d_context_);
  std::fill_n(d_qkv_, tokens_ * row, 0.0f);
  std::fill_n(d_relative_qk_, buckets_ * 2 * config_.hidden_size, 0.0f);
  const bool learned_bias = wants_embeddings() && config_.relative_positions == RelativePositions::kT5Buckets;
  wattn::attention_backward(pass_.compute, config_.attention_shape(), terms, input, attention_scratch_,
                            {.d_context = d_context_,
                             .d_queries = d_qkv_,
                             .d_keys = d_qkv_ + queries,
                             .d_values = d_qkv_ + queries + keys,
                             .d_bias = learned_bias ? &gradients_->ends_->distances : nullptr,
                             .d_relative = terms.relative ? d_relative_qk_ : nullptr});
  if (terms.relative) {
    const std::int64_t count = terms.relative->count;
    product_backward({index, &Layer::qkv, true}, pass_.work.relative, d_relative_qk_, count, d_relative_in_, queries + keys);
    add(d_relative_in_, count * config_.hidden_size, d_relative_);
  }
  if (config_.is_rotary(index)) {
    rotate_heads_backward(pass_.compute, rotary_of(index), pass_.batch.position_ids,
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
