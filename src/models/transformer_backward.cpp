#include "models/transformer_backward.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/activation.h"

namespace wattn {
namespace {

std::int64_t longest(const Batch& batch) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < batch.batch(); ++i) most = std::max(most, batch.length(i));
  return most;
}

void add(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

struct BackwardSize {
  std::int64_t tokens, max_seq;
  int threads;
};

class TransformerBackward {
 public:
  // Only measures with a measuring arena; gradients may be null then.
  TransformerBackward(const Transformer& model, ThreadTeam& team, const Batch& batch, const BackwardSize& size,
                      Transformer* gradients, const BackwardScope& scope, Arena& arena)
      : model_(model),
        config_(model.config_),
        gradients_(gradients),
        scope_(scope),
        pass_{{*model.kernels_, team}, batch, context_, {}, nullptr},
        tokens_(size.tokens),
        max_seq_(size.max_seq) {
    take(arena, size.threads);
  }

  void run(const float* tape, float* d_hidden) {
    const std::int64_t size = tokens_ * config_.hidden_size;
    if (config_.relative_positions == RelativePositions::kDisentangled && max_seq_ > 0) {
      model_.prepare_relative_embeddings(pass_, max_seq_);
      std::fill_n(d_relative_, pass_.work.disentangled.count * config_.hidden_size, 0.0f);
    }
    float* d = d_hidden;
    if (config_.norm_placement == NormPlacement::kPre) {
      std::fill_n(d_sum_, size, 0.0f);
      norm_backward(config_.norm, model_.final_norm_, gradients_->final_norm_, tape + config_.num_hidden_layers * size, d, tokens_,
                    d_sum_, !scope_.only_qkv);
      std::copy_n(d_sum_, size, d);
    }
    for (auto layer = static_cast<int>(config_.num_hidden_layers) - 1; layer >= scope_.first_layer; --layer) {
      layer_backward(layer, tape + layer * size, d);
    }
    if (!wants_embeddings()) return;
    embeddings_backward(d);
    if (config_.relative_positions == RelativePositions::kDisentangled && max_seq_ > 0) relative_embeddings_backward();
    if (config_.relative_positions == RelativePositions::kT5Buckets) share_buckets();
  }

  static void lm_head(const Transformer& model, ThreadTeam& team, const LmHeadGradient& g, Arena& arena) {
    const Linear& layer = model.lm_head_;
    const float scale = model.config_.lm_head_scale;
    linear_backward({*model.kernels_, team},
                    {.in = layer.in,
                     .out = layer.out,
                     .tokens = g.rows,
                     .layer = &layer,
                     .x = g.hidden,
                     .dy = g.d_logits,
                     .dx = g.d_hidden,
                     .d_layer = g.gradients ? &g.gradients->lm_head_ : nullptr},
                    arena.take<float>(linear_backward_scratch(layer.in, layer.out, g.rows, team.threads())));
    for (std::int64_t i = 0; g.d_hidden && scale != 1.0f && i < g.rows * layer.in; ++i) g.d_hidden[i] *= scale;
  }

 private:
  bool wants_embeddings() const { return scope_.embeddings && scope_.first_layer == 0; }

  void take(Arena& arena, int threads) {
    const std::int64_t hidden = config_.hidden_size, ffn = config_.intermediate_size, width = config_.embedding_width();
    const std::int64_t up = config_.gated() ? 2 * ffn : ffn, row = config_.qkv_width();
    const bool disentangled = config_.relative_positions == RelativePositions::kDisentangled;
    buckets_ = disentangled ? std::min(config_.relative_rows(), 2 * max_seq_) : 0;
    pass_.work = model_.take_workspace(arena, {.tokens = tokens_, .keys = max_seq_, .own_keys = max_seq_, .threads = threads});
    const auto rows = [&](std::int64_t of) { return arena.take<float>(tokens_ * of); };
    attention_sum_ = rows(hidden);
    middle_ = rows(hidden);
    normal_ = rows(hidden);
    ffn_sum_ = rows(hidden);
    d_sum_ = rows(hidden);
    d_in_ = rows(hidden);
    raw_qkv_ = rows(config_.query_key_norm ? row : 0);
    d_qkv_ = rows(row);
    d_head_ = arena.take<float>(config_.num_attention_heads * config_.head_size());
    d_context_ = rows(config_.query_width());
    pre_ = rows(config_.gated() ? 0 : up);
    d_act_ = rows(ffn);
    d_up_ = rows(up);
    embedded_ = rows(width);
    normal_embedded_ = rows(width);
    d_embedded_ = rows(width);
    norm_scratch_ = arena.take<float>(2 * std::max({tokens_, config_.num_attention_heads, buckets_}));
    d_relative_ = arena.take<float>(buckets_ * hidden);
    d_relative_qk_ = arena.take<float>(buckets_ * 2 * hidden);
    d_relative_in_ = arena.take<float>(buckets_ * hidden);
    std::int64_t scratch = 0;
    for (const auto& [in, out] :
         {std::pair{hidden, row}, {config_.query_width(), hidden}, {hidden, up}, {ffn, hidden}, {width, hidden}}) {
      scratch = std::max(scratch, linear_backward_scratch(in, out, std::max(tokens_, buckets_), threads));
    }
    linear_scratch_ = arena.take<float>(scratch);
    const std::int64_t attention = attention_backward_scratch(model_.attention_shape(), max_seq_, buckets_);
    for (int i = 0; i < threads; ++i) attention_scratch_.push_back(arena.take<float>(attention));
  }

  // dx: [rows, in] written, may be null. wanted: of the weights.
  void linear_gradient(const Linear& layer, const Linear& gradient, const float* x, const float* dy, std::int64_t rows, float* dx,
                       bool wanted) {
    linear_backward(pass_.compute,
                    {.in = layer.in,
                     .out = layer.out,
                     .tokens = rows,
                     .layer = &layer,
                     .x = x,
                     .dy = dy,
                     .dx = dx,
                     .d_layer = wanted ? &gradient : nullptr},
                    linear_scratch_);
  }

  void norm_backward(NormKind kind, const LayerNorm& norm, const LayerNorm& gradient, const float* x, const float* dy,
                     std::int64_t rows, float* dx, bool wanted) {
    normalise_backward(pass_.compute, kind, norm, x, dy, rows, dx, wanted ? gradient.gamma : nullptr,
                       wanted ? gradient.beta : nullptr, norm_scratch_);
  }

  // x: the layer's input; d: the gradient of its output, which becomes that of x.
  void layer_backward(int index, const float* x, float* d) {
    const TransformerLayer& layer = model_.layer_at(index);
    const TransformerLayer& gradient = gradients_->layer_at(index);
    const std::int64_t size = tokens_ * config_.hidden_size;
    const bool post = config_.norm_placement == NormPlacement::kPost;
    const bool normed = !post && (index > 0 || config_.first_attention_norm);
    const auto sum = [&](const float* a, const float* b, float* out) {
      for (std::int64_t i = 0; i < size; ++i) out[i] = a[i] + b[i];
    };
    // Forward again.
    if (normed) normalise(pass_.compute, config_.norm, layer.attention_norm, x, tokens_, normal_);
    const float* read = normed ? normal_ : x;
    model_.attention(pass_, index, read, pass_.work.projected);
    sum(pass_.work.projected, x, attention_sum_);
    const NormKind kind = post ? NormKind::kLayer : config_.norm;
    normalise(pass_.compute, kind, post ? layer.attention_norm : layer.ffn_norm, attention_sum_, tokens_, middle_);
    model_.feed_forward(pass_, index, middle_, pass_.work.projected);
    if (post) {
      sum(pass_.work.projected, middle_, ffn_sum_);
      std::fill_n(d_sum_, size, 0.0f);
      norm_backward(kind, layer.ffn_norm, gradient.ffn_norm, ffn_sum_, d, tokens_, d_sum_, !scope_.only_qkv);
      feed_forward_backward(index, middle_, d_sum_, d_in_);
      sum(d_sum_, d_in_, d);
      std::fill_n(d_sum_, size, 0.0f);
      norm_backward(kind, layer.attention_norm, gradient.attention_norm, attention_sum_, d, tokens_, d_sum_, !scope_.only_qkv);
      attention_backward(index, read, d_sum_, d_in_);
      sum(d_sum_, d_in_, d);
      return;
    }
    feed_forward_backward(index, middle_, d, d_in_);
    norm_backward(kind, layer.ffn_norm, gradient.ffn_norm, attention_sum_, d_in_, tokens_, d, !scope_.only_qkv);
    attention_backward(index, read, d, d_in_);
    if (normed) {
      norm_backward(kind, layer.attention_norm, gradient.attention_norm, x, d_in_, tokens_, d, !scope_.only_qkv);
    } else {
      add(d_in_, size, d);
    }
  }

  void feed_forward_backward(int index, const float* x, const float* dy, float* dx) {
    const TransformerLayer& layer = model_.layer_at(index);
    const TransformerLayer& gradient = gradients_->layer_at(index);
    const std::int64_t ffn = config_.intermediate_size;
    linear_gradient(layer.down, gradient.down, config_.gated() ? pass_.work.gated : pass_.work.intermediate, dy, tokens_, d_act_,
                    !scope_.only_qkv);
    if (config_.gated()) {
      gate_backward(pass_.compute, config_.hidden_act, pass_.work.intermediate, d_act_, tokens_, ffn, d_up_);
    } else {
      linear(pass_.compute, layer.up, x, tokens_, Activation::kNone, pass_.work.linear, pre_);
      activate_backward(pass_.compute, config_.hidden_act, pre_, d_act_, tokens_, ffn, d_up_);
    }
    linear_gradient(layer.up, gradient.up, x, d_up_, tokens_, dx, !scope_.only_qkv);
  }

  // After attention() over the same x, whose queries, keys, values and context are in the workspace.
  void attention_backward(int index, const float* x, const float* dy, float* dx) {
    const TransformerLayer& layer = model_.layer_at(index);
    const TransformerLayer& gradient = gradients_->layer_at(index);
    const std::int64_t row = config_.qkv_width(), queries = config_.query_width(), keys = config_.kv_width();
    const auto [terms, input] = model_.attention_call(pass_, index);
    linear_gradient(layer.attention_output, gradient.attention_output, pass_.work.context, dy, tokens_, d_context_,
                    !scope_.only_qkv);
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
      Linear queries_and_keys = layer.qkv;
      queries_and_keys.out = queries + keys;
      const std::int64_t count = terms.relative->count;
      linear_gradient(queries_and_keys, gradient.qkv, pass_.work.relative, d_relative_qk_, count, d_relative_in_, true);
      add(d_relative_in_, count * config_.hidden_size, d_relative_);
    }
    if (config_.relative_positions == RelativePositions::kRotary) {
      rotate_heads_backward(pass_.compute, model_.rotary_of(index), pass_.batch.position_ids,
                            config_.num_attention_heads + config_.kv_heads(), row, d_qkv_);
    }
    if (config_.query_key_norm) query_key_norm_backward(layer, gradient, x);
    linear_gradient(layer.qkv, gradient.qkv, x, d_qkv_, tokens_, dx, true);
  }

  void query_key_norm_backward(const TransformerLayer& layer, const TransformerLayer& gradient, const float* x) {
    const std::int64_t row = config_.qkv_width(), queries = config_.query_width(), dim = config_.head_size();
    linear(pass_.compute, layer.qkv, x, tokens_, Activation::kNone, pass_.work.linear, raw_qkv_);
    const auto backward_of = [&](const LayerNorm& norm, const LayerNorm& of, std::int64_t at, std::int64_t heads) {
      std::copy_n(d_qkv_ + at, heads * dim, d_head_);
      std::fill_n(d_qkv_ + at, heads * dim, 0.0f);
      norm_backward(NormKind::kRms, norm, {of.hidden, of.epsilon, of.gamma, nullptr}, raw_qkv_ + at, d_head_, heads, d_qkv_ + at,
                    !scope_.only_qkv);
    };
    for (std::int64_t i = 0; i < tokens_; ++i) {
      backward_of(layer.query_norm, gradient.query_norm, i * row, config_.num_attention_heads);
      backward_of(layer.key_norm, gradient.key_norm, i * row + queries, config_.kv_heads());
    }
  }

  // d: of the first layer's input.
  void embeddings_backward(float* d) {
    const Batch& batch = pass_.batch;
    const std::int64_t width = config_.embedding_width(), size = tokens_ * width;
    model_.sum_embeddings(pass_, embedded_);
    float* d_out = d;
    if (config_.embedding_size > 0) {
      std::copy_n(embedded_, size, normal_embedded_);
      if (config_.embeddings_norm) {
        normalise(pass_.compute, config_.norm, model_.embeddings_norm_, embedded_, tokens_, normal_embedded_);
      }
      linear_gradient(model_.embeddings_projection_, gradients_->embeddings_projection_, normal_embedded_, d, tokens_, d_embedded_,
                      true);
      d_out = d_embedded_;
    }
    if (config_.embeddings_norm) {
      std::fill_n(normal_embedded_, size, 0.0f);
      norm_backward(config_.norm, model_.embeddings_norm_, gradients_->embeddings_norm_, embedded_, d_out, tokens_,
                    normal_embedded_, true);
      d_out = normal_embedded_;
    }
    const auto add_to = [&](const Embedding& table, std::span<const std::int32_t> ids) {
      embedding_backward(ids, d_out, width, static_cast<float*>(table.table));
    };
    if (config_.type_vocab_size > 0) add_to(gradients_->token_type_embeddings_, batch.token_type_ids);
    if (config_.positions == Positions::kLearned) add_to(gradients_->position_embeddings_, batch.position_ids);
    if (config_.positions == Positions::kAfterPadding)
      add_to(gradients_->position_embeddings_, model_.positions_after_padding(batch));
    for (std::int64_t i = 0; i < size; ++i) d_out[i] *= config_.embedding_scale;
    if (!model_.head_holds_embeddings()) return add_to(gradients_->word_embeddings_, batch.input_ids);
    for (std::int64_t i = 0; i < tokens_; ++i) {
      add_weight_row(gradients_->lm_head_, batch.input_ids[static_cast<std::size_t>(i)], d_out + i * width);
    }
  }

  void relative_embeddings_backward() {
    const Disentangled& terms = pass_.work.disentangled;
    const std::int64_t hidden = config_.hidden_size;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(terms.count));
    std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(terms.first));
    float* d = d_relative_;
    if (config_.disentangled.norm) {
      float* rows = pass_.work.relative;  // before the norm
      std::fill_n(rows, terms.count * hidden, 0.0f);
      add_embedding_rows(model_.relative_embeddings_, ids, rows);
      std::fill_n(d_relative_in_, terms.count * hidden, 0.0f);
      norm_backward(NormKind::kLayer, model_.relative_norm_, gradients_->relative_norm_, rows, d_relative_, terms.count,
                    d_relative_in_, true);
      d = d_relative_in_;
    }
    embedding_backward(ids, d, hidden, static_cast<float*>(gradients_->relative_embeddings_.table));
  }

  // The distances of a bucket are one weight: each gets the sum of their gradients.
  void share_buckets() {
    const std::int64_t heads = config_.num_attention_heads, buckets = (config_.causal ? 2 : 1) * config_.t5.buckets;
    DistanceBias& bias = gradients_->distance_bias_;
    std::vector<float> sums(static_cast<std::size_t>(heads * buckets));
    const auto bucket_of = [&](std::int64_t distance) { return t5_bucket(distance, buckets, config_.t5.max_distance); };
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t d = 1 - bias.span; d < bias.span; ++d) sums[bucket_of(d) * heads + head] += bias.at(head)[d];
    }
    for (std::int64_t bucket = 0; bucket < buckets; ++bucket) {
      set_t5_bucket(bias, heads, bucket, buckets, config_.t5.max_distance, sums.data() + bucket * heads);
    }
  }

  const Transformer& model_;
  const TransformerConfig& config_;
  Transformer* gradients_;
  BackwardScope scope_;
  Transformer::Context context_{};
  Transformer::Pass pass_;
  std::int64_t tokens_, max_seq_, buckets_ = 0;
  float *attention_sum_, *middle_, *normal_, *ffn_sum_, *d_sum_, *d_in_;  // [tokens, hidden]
  float *raw_qkv_, *d_qkv_, *d_head_, *d_context_;
  float *pre_, *d_act_, *d_up_;
  float *embedded_, *normal_embedded_, *d_embedded_;
  float *norm_scratch_, *linear_scratch_;
  float *d_relative_, *d_relative_qk_, *d_relative_in_;
  std::vector<float*> attention_scratch_;
};

std::int64_t tape_size(const TransformerConfig& config, std::int64_t tokens) {
  return (config.num_hidden_layers + 1) * tokens * config.hidden_size;
}

std::uint64_t backward_bytes(const Transformer& model, std::int64_t max_tokens, std::int64_t max_seq, int threads) {
  Arena measure;
  ThreadTeam alone;
  const Batch none;
  const TransformerBackward measured(model, alone, none, {max_tokens, max_seq, threads}, nullptr, {}, measure);
  return measure.used();
}

void backward(const Transformer& model, ThreadTeam& team, const Batch& batch, const float* tape, float* d_hidden, Arena& arena,
              Transformer& gradients, const BackwardScope& scope) {
  const ThreadTeam::Awake awake(team);
  TransformerBackward pass(model, team, batch, {batch.tokens(), longest(batch), team.threads()}, &gradients, scope, arena);
  pass.run(tape, d_hidden);
}

void lm_head_backward(const Transformer& model, ThreadTeam& team, const LmHeadGradient& gradient, Arena& arena) {
  const ThreadTeam::Awake awake(team);
  TransformerBackward::lm_head(model, team, gradient, arena);
}

std::uint64_t lm_head_backward_bytes(const Transformer& model, std::int64_t most_rows, int threads) {
  Arena measure;
  const TransformerConfig& config = model.config();
  measure.take<float>(linear_backward_scratch(config.hidden_size, config.vocab_size, most_rows, threads));
  return measure.used();
}

}  // namespace wattn
