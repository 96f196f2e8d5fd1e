// Builders: a configuration becomes steps over values. Attention is that of arXiv 1706.03762, BERT's layer that of arXiv
// 1810.04805.
#include "models/layers.h"

#include "plan/builder.h"

namespace wattn {
namespace {

using Id = PlanId;

Weight use(const char* name, const Linear& layer) { return {name, layer.out, layer.in, &layer}; }
Weight use(const char* name, const LayerNorm& norm) { return {name, 1, norm.hidden, &norm}; }
Weight use(const char* name, const Embedding& table) { return {name, table.rows, table.hidden, &table}; }

std::uint8_t variant(auto enumerator) { return static_cast<std::uint8_t>(enumerator); }

class Builder : private PlanBuilder {
 public:
  Builder(const TransformerConfig& config, const TransformerEnds& ends, const Fusions& fusions)
      : PlanBuilder(config.hidden_size, fusions), config_(config), ends_(ends) {}

  Plan build(std::span<const TransformerLayer> layers) {
    begin("embeddings");
    embeddings();
    plan.embeddings = end();
    for (index_ = 0; index_ < config_.num_hidden_layers; ++index_) {
      layer_ = &layers[static_cast<std::size_t>(config_.weights_of(index_))];
      Layer& layer = plan.layers.emplace_back();
      begin("layer");
      into_stream(layer_steps(kStreamValue));
      layer.steps = end();
      if (config_.scale_by_layer) layer.score_divisor = static_cast<float>(index_ + 1);
      if (!config_.cross_attention) continue;
      begin("source");
      source();
      layer.source = end();
    }
    ends();
    return std::move(plan);
  }

 private:
  bool is_post() const { return config_.norm_placement == NormPlacement::kPost; }

  // Steps.
  Id linear(Id x, const char* name, const Linear& layer) { return step({.op = Op::kLinear, .x = x}, use(name, layer)); }
  Id norm(Id x, const char* name, const LayerNorm& weights, NormKind kind) {
    return step({.op = Op::kNorm, .variant = variant(kind), .x = x}, use(name, weights));
  }
  Id norm(Id x, const char* name, const LayerNorm& weights) { return norm(x, name, weights, config_.norm); }
  Id add(Id x, Id other, float factor = 1) { return step({.op = Op::kAdd, .x = x, .other = other, .factor = factor}); }
  Id scale(Id x, float factor) { return factor == 1 ? x : step({.op = Op::kScale, .x = x, .factor = factor}); }
  Id add_rows(Id x, const char* name, const Embedding& table, IdsOf ids, float factor = 1) {
    return step({.op = Op::kAddRows, .variant = variant(ids), .x = x, .factor = factor}, use(name, table));
  }
  void into_stream(Id x) { value(x).place = Place::kStream; }

  void embeddings() {
    if (config_.relative_positions == RelativePositions::kDisentangled) relative_embeddings();
    const std::int64_t width = config_.embedding_width();
    Id x = step({.op = Op::kWords}, {"words", config_.vocab_size, width, &ends_.word_table});
    x = scale(x, config_.embedding_scale);
    if (config_.type_vocab_size > 0) x = add_rows(x, "token_types", ends_.token_types, IdsOf::kTokenTypes);
    if (config_.positions_by_table()) x = add_rows(x, "positions", ends_.positions, IdsOf::kPositions);
    if (config_.positions == Positions::kAfterPadding) {
      x = add_rows(x, "positions", ends_.positions, IdsOf::kAfterPadding, static_cast<float>(config_.padding_idx));
    }
    if (config_.embeddings_norm) x = norm(x, "embeddings_norm", ends_.norm);
    if (config_.embedding_size > 0) x = linear(x, "embeddings_projection", ends_.projection);
    into_stream(named(x, "embeddings.output"));
  }

  void relative_embeddings() {
    Id rows = step({.op = Op::kRelative}, use("relative_embeddings", ends_.relative), Rows::kBuckets);
    if (config_.disentangled.norm) {
      rows = step({.op = Op::kNorm, .variant = variant(NormKind::kLayer), .x = rows}, use("relative_norm", ends_.relative_norm),
                  Rows::kBuckets);
    }
    value(rows).place = Place::kRelative;
    plan.distances = &ends_.distance_buckets;
  }

  Id layer_steps(Id x) {
    const Id convolved = index_ == 0 && config_.convolution.kernel > 0 ? convolve(x) : -1;
    const bool attention_norm = config_.input_norms && (index_ > 0 || config_.first_attention_norm);
    Id read = attention_norm && !is_post() ? norm(x, "attention_norm", layer_->attention_norm) : x;
    const Id beside = config_.residual == Residual::kParallel ? norm(x, "ffn_norm", layer_->ffn_norm) : read;
    Id y = self_attention(read);
    if (config_.output_norms) y = norm(y, "attention_output_norm", layer_->attention_output_norm);
    x = named(residual(y, x, "attention_norm", layer_->attention_norm), "attention.output");
    if (config_.cross_attention) {
      y = cross_attention(is_post() ? x : norm(x, "cross_norm", layer_->cross_norm));
      x = named(residual(y, x, "cross_norm", layer_->cross_norm), "cross_attention.output");
    }
    const bool ffn_norm = config_.input_norms && !is_post();
    y = feed_forward(config_.is_parallel() ? beside : ffn_norm ? norm(x, "ffn_norm", layer_->ffn_norm) : x);
    if (config_.output_norms) y = norm(y, "ffn_output_norm", layer_->ffn_output_norm);
    x = residual(y, x, "ffn_norm", layer_->ffn_norm);
    if (convolved >= 0) x = norm(add(convolved, x), "convolution_norm", ends_.convolution.norm, NormKind::kLayer);
    return named(x, "output");
  }

  // x + what a sublayer adds; post-norm: the norm of the sum.
  Id residual(Id added, Id x, const char* name, const LayerNorm& weights) {
    if (is_post()) return norm(add(added, x), name, weights, NormKind::kLayer);
    return add(added, x, config_.residual_multiplier);
  }

  Id self_attention(Id x) {
    const bool local = config_.is_local(index_), disentangled = config_.relative_positions == RelativePositions::kDisentangled;
    AttentionStep constants{.shape = config_.attention_shape(),
                            .scale = config_.score_scale(),
                            .softcap = config_.attn_logit_softcapping,
                            .causal = config_.causal};
    if (local) constants.window_before = config_.local_window;
    if (local && !config_.causal) constants.window_after = config_.local_window;
    const std::int8_t shape = attention(constants);
    const std::int64_t queries = config_.query_width(), keys = config_.kv_width();

    Id qkv = linear(x, "query_key_value", layer_->qkv);
    if (config_.query_key_norm) {
      qkv = step({.op = Op::kHeadNorm, .x = qkv, .attention = shape}, use("query_norm", layer_->query_norm));
      qkv = step({.op = Op::kHeadNorm, .variant = 1, .x = qkv, .attention = shape}, use("key_norm", layer_->key_norm));
    }
    if (config_.is_rotary(index_)) {
      const Rotary& rotary = local && ends_.local_rotary.cos ? ends_.local_rotary : ends_.rotary;
      qkv = step({.op = Op::kRotate, .x = qkv, .attention = shape}, {"rotary", 0, 2 * rotary.half, &rotary});
    }
    view(qkv, 0, queries, "attention.query");
    view(qkv, queries, keys, "attention.key");
    view(qkv, queries + keys, keys, "attention.value");
    const Id context =
        step({.op = Op::kAttention, .x = qkv, .other = disentangled ? relative_queries_keys() : Id{-1}, .attention = shape},
             distance_bias());
    return linear(named(context, "attention.context"), "attention_output", layer_->attention_output);
  }

  // The relative embeddings by a layer's query and key matrices, or by matrices of their own.
  Id relative_queries_keys() {
    const bool own = config_.disentangled.own_matrices;
    Weight matrix = use(own ? "relative_query_key" : "query_key_value", own ? layer_->relative_qk : layer_->qkv);
    matrix.rows = config_.query_width() + config_.kv_width();
    return step({.op = Op::kLinear, .x = kRelativeValue}, matrix, Rows::kBuckets);
  }

  // What is added to scores by the distance; nothing: none is.
  Weight distance_bias() const {
    const DistanceBias& bias = config_.t5.each_layer ? layer_->distance_bias : ends_.distances;
    if (!bias.values) return {};
    return {"distance_bias", config_.num_attention_heads, 2 * bias.span - 1, &bias};
  }

  AttentionStep cross_constants() const {
    AttentionStep out{.shape = config_.attention_shape(), .scale = config_.score_scale(), .cross = true};
    out.shape.kv_heads = out.shape.heads;
    return out;
  }

  Id cross_attention(Id x) {
    const Id queries = named(linear(x, "cross_query", layer_->cross_query), "cross_attention.query");
    const Id context = step({.op = Op::kAttention, .x = queries, .attention = attention(cross_constants())});
    return linear(named(context, "cross_attention.context"), "cross_output", layer_->cross_output);
  }

  // x: a source's states.
  void source() {
    const Id keys_values = linear(kStreamValue, "cross_key_value", layer_->cross_keys_values);
    view(keys_values, 0, config_.query_width(), "cross_attention.key");
    view(keys_values, config_.query_width(), config_.query_width(), "cross_attention.value");
    step({.op = Op::kStore, .x = keys_values});
  }

  Id feed_forward(Id x) {
    if (config_.has_experts(index_)) {
      return step({.op = Op::kExperts, .variant = variant(config_.hidden_act), .x = x},
                  {"experts", config_.experts.count, config_.hidden_size, layer_->experts.get()});
    }
    const Id up = linear(x, "up", layer_->up);
    const Id inner = step({.op = config_.gated() ? Op::kGate : Op::kActivate, .variant = variant(config_.hidden_act), .x = up});
    return linear(named(inner, "intermediate"), "down", layer_->down);
  }

  Id convolve(Id x) {
    const Id windows = step({.op = Op::kWindows, .x = x, .factor = static_cast<float>(config_.convolution.kernel)});
    return step({.op = Op::kActivate,
                 .variant = variant(config_.convolution.activation),
                 .x = linear(windows, "convolution", ends_.convolution.layer)});
  }

  void ends() {
    if (!is_post()) {
      begin("final_norm");
      into_stream(named(norm(kStreamValue, "final_norm", ends_.final_norm), "final_norm.output"));
      plan.final_norm = end();
    }
    if (config_.lm_head) {
      begin("head");
      const float cap = config_.final_logit_softcapping;
      Id logits = linear(scale(kStreamValue, config_.lm_head_scale), "lm_head", ends_.lm_head);
      if (cap != 0) logits = step({.op = Op::kSoftcap, .x = logits, .factor = cap});
      value(logits).place = Place::kOutput;
      plan.head = end();
    }
    plan.keys_values = {config_.attention_shape(), config_.num_hidden_layers};
    if (config_.cross_attention) plan.cross_keys_values = {cross_constants().shape, config_.num_hidden_layers};
  }

  const TransformerConfig& config_;
  const TransformerEnds& ends_;
  const TransformerLayer* layer_ = nullptr;
  std::int64_t index_ = 0;
};

}  // namespace

Plan plan_of(const TransformerConfig& config, const TransformerEnds& ends, std::span<const TransformerLayer> layers,
             const Fusions& fusions) {
  return Builder(config, ends, fusions).build(layers);
}

}  // namespace wattn
