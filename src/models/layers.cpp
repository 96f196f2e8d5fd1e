// Builders: a configuration becomes steps over values. Attention is that of arXiv 1706.03762, BERT's layer that of arXiv
// 1810.04805.
#include "models/layers.h"

#include "models/layer_builder.h"

namespace wattn {
namespace {

using Id = PlanId;

std::uint8_t variant(auto enumerator) { return static_cast<std::uint8_t>(enumerator); }

// What no rare layer is made of.
class Builder : public LayerBuilder {
 public:
  using LayerBuilder::LayerBuilder;

  Plan build(std::span<TransformerLayer> layers);

 private:
  Id add_rows(Id x, const char* name, EmbeddingTable& table, std::int64_t rows, IdsOf ids, float factor = 1);
  void into_stream(Id x) { value(x).place = Place::kStream; }
  void embeddings();
  void relative_embeddings();
  Id layer_steps(Id x);
  Id short_convolution(Id x);
  AttentionStep cross_constants() const;
  Id cross_attention(Id x);
  Id cross_keys_values(Id states, Rows rows);
  void source();
  Id feed_forward_of_layer(Id x);
  Id convolve(Id x);
  void head();
};

}  // namespace

Plan Builder::build(std::span<TransformerLayer> layers) {
  begin("embeddings");
  embeddings();
  plan.embeddings = end();
  for (index_ = 0; index_ < config_.num_hidden_layers; ++index_) {
    layer_ = &layers[static_cast<std::size_t>(config_.weights_of(index_))];
    Layer& layer = plan.layers.emplace_back();
    begin("layer");
    into_stream(layer_steps(kStreamValue));
    layer.steps = end();
    layer.weights = &layer_->begin;
    State& states = plan.keys_values;
    layer.state = config_.convolves(index_)      ? states.product_layers++
                  : config_.is_recurrent(index_) ? states.state_layers++
                                                 : states.layers++;
    if (config_.scale_by_layer) layer.score_divisor = static_cast<float>(index_ + 1);
    if (!config_.cross_attention || for_training_) continue;
    begin("source");
    source();
    layer.source = end();
  }
  head();
  return std::move(plan);
}

Id LayerBuilder::norm(Id x, const char* name, LayerNorm& weights, NormKind kind) {
  return step({.op = kind == NormKind::kAffine ? Op::kAffine : Op::kNorm, .variant = variant(kind), .x = x},
              {name, &weights, Hold::kNorm, kind != NormKind::kRms && config_.biases.norms, 1, value(x).width, learned_norms()});
}

Id LayerBuilder::residual(Id added, Id x, const char* name, LayerNorm& weights) {
  if (is_post()) return norm(add(added, x), name, weights);
  return add(added, x, config_.residual_multiplier);
}

Id Builder::add_rows(Id x, const char* name, EmbeddingTable& table, std::int64_t rows, IdsOf ids, float factor) {
  const bool computed = &table == &ends_.positions && (config_.fairseq_positions || config_.positions == Positions::kSinusoidal);
  return step({.op = Op::kAddRows, .variant = variant(ids), .x = x, .factor = factor},
              {name, &table, Hold::kFineTable, false, rows, value(x).width, computed ? Learned::kNever : Learned::kWithSection});
}

void Builder::embeddings() {
  if (config_.relative_positions == RelativePositions::kDisentangled) relative_embeddings();
  const std::int64_t width = config_.embedding_width();
  Id x = step({.op = Op::kWords}, {"words", &ends_.word_table, Hold::kWords, false, config_.vocab_size, width});
  if (config_.dropped_word >= 0) x = step({.op = Op::kTokenDropout, .x = x, .factor = static_cast<float>(config_.dropped_word)});
  x = scale(x, config_.embedding_scale);
  if (config_.norm_before_positions) x = norm(x, "embeddings_norm", ends_.norm);
  const bool embeds = config_.rare && config_.rare->embed;
  if (embeds) x = config_.rare->embed(*this, x);
  if (config_.type_vocab_size > 0) x = add_rows(x, "token_types", ends_.token_types, config_.type_vocab_size, IdsOf::kTokenTypes);
  if (config_.positions_by_table())
    x = add_rows(x, "positions", ends_.positions, config_.max_position_embeddings, IdsOf::kPositions);
  if (config_.positions == Positions::kAfterPadding) {
    const std::int64_t padding = config_.padding_idx, rows = padding + 1 + config_.max_position_embeddings;
    x = add_rows(x, "positions", ends_.positions, rows, IdsOf::kAfterPadding, static_cast<float>(padding));
  }
  if (config_.embeddings_norm && !config_.norm_before_positions) x = norm(x, "embeddings_norm", ends_.norm);
  x = dropped(x, DropPlace::kEmbeddings);
  if (config_.embedding_size > 0 && !embeds) x = linear(x, "embeddings_projection", ends_.projection, config_.hidden_size, true);
  into_stream(named(x, "embeddings.output"));
}

void Builder::relative_embeddings() {
  Id rows = step({.op = Op::kRelative},
                 {"relative_embeddings", &ends_.relative, Hold::kFineTable, false, config_.relative_rows(), config_.hidden_size},
                 Rows::kBuckets);
  if (config_.disentangled.norm) {
    rows = step({.op = Op::kNorm, .variant = variant(NormKind::kLayer), .x = rows},
                {"relative_norm", &ends_.relative_norm, Hold::kNorm, true, 1, config_.hidden_size}, Rows::kBuckets);
  }
  value(rows).place = Place::kRelative;
  plan.distances = &ends_.distance_buckets;
}

Id Builder::layer_steps(Id x) {
  const RareLayers* rare = config_.rare;
  if (rare && rare->layer) return rare->layer(*this, x);
  const Id convolved = index_ == 0 && config_.convolution.kernel > 0 ? convolve(x) : -1;
  const bool attention_norm = config_.input_norms && (index_ > 0 || config_.first_attention_norm);
  Id read = attention_norm && !is_post() ? norm(x, "attention_norm", layer_->attention_norm) : x;
  const Id beside = config_.residual == Residual::kParallel ? norm(x, "ffn_norm", layer_->ffn_norm) : read;
  Id y = config_.convolves(index_)      ? short_convolution(read)
         : config_.is_recurrent(index_) ? Part<GatedDeltas>::get()->layer(*this, read)
         : rare && rare->attention      ? rare->attention(*this, read)
                                        : attend(query_key_value(read));
  if (config_.output_norms) y = norm(again(y), "attention_output_norm", layer_->attention_output_norm);
  dropped(y, DropPlace::kAttention);
  x = named(residual(y, x, "attention_norm", layer_->attention_norm), "attention.output");
  if (config_.cross_attention) {
    y = dropped(cross_attention(is_post() ? x : norm(x, "cross_norm", layer_->cross_norm)), DropPlace::kCrossAttention);
    x = named(residual(y, x, "cross_norm", layer_->cross_norm), "cross_attention.output");
  }
  const bool ffn_norm = config_.input_norms && !is_post();
  y = feed_forward_of_layer(config_.is_parallel() ? beside : ffn_norm ? norm(x, "ffn_norm", layer_->ffn_norm) : x);
  if (config_.output_norms) y = norm(again(y), "ffn_output_norm", layer_->ffn_output_norm);
  dropped(y, DropPlace::kFeedForward);
  x = residual(y, x, "ffn_norm", layer_->ffn_norm);
  if (convolved >= 0) x = norm(add(convolved, x), "convolution_norm", ends_.convolution.norm, NormKind::kLayer);
  return named(x, "output");
}

// weight has rows of queries, then of keys.
Weight LayerBuilder::of_keys(Weight weight) const {
  weight.first_unbiased = config_.query_width();
  weight.unbiased = config_.biases.keys ? 0 : config_.kv_width();
  return weight;
}

Id LayerBuilder::query_key_value(Id x) {
  return step({.op = Op::kLinear, .x = x},
              of_keys({"query_key_value", &layer_->qkv, Hold::kSensitive, config_.biases.qkv, config_.qkv_rows(), value(x).width}));
}

Id LayerBuilder::attend(Id qkv) {
  const bool local = config_.is_local(index_), disentangled = config_.relative_positions == RelativePositions::kDisentangled;
  AttentionStep constants{.shape = config_.attention_shape(),
                          .scale = config_.score_scale(),
                          .softcap = config_.attn_logit_softcapping,
                          .causal = config_.causal};
  if (local) constants.window_before = config_.local_window;
  if (local && !config_.causal) constants.window_after = config_.local_window;
  const std::int8_t shape = attention(constants);

  if (config_.query_key_norm && !config_.query_key_norm_last) qkv = query_key_norms(qkv, shape);
  if (config_.is_rotary(index_)) {
    Rotary& rotary = local && config_.local_rope_theta != 0 ? ends_.local_rotary : ends_.rotary;
    qkv = step({.op = Op::kRotate, .x = qkv, .attention = shape},
               {local ? "local_rotary" : "rotary", &rotary, Hold::kConstant, false, 0, 0, Learned::kNever});
  }
  if (config_.query_key_norm_last) qkv = query_key_norms(qkv, shape);
  show_query_key_value(qkv);
  Id context = step({.op = Op::kAttention, .x = qkv, .other = disentangled ? relative_queries_keys() : Id{-1}, .attention = shape},
                    distance_bias());
  context = named(context, "attention.context");
  if (config_.attention_gate) context = step({.op = Op::kSigmoidGate, .x = context, .other = qkv});
  return linear(context, "attention_output", layer_->attention_output, config_.layer_size(), config_.biases.attention_output);
}

void LayerBuilder::show_query_key_value(Id qkv) {
  const std::int64_t queries = config_.query_width(), keys = config_.kv_width();
  view(qkv, 0, queries, "attention.query");
  view(qkv, queries, keys, "attention.key");
  view(qkv, queries + keys, keys, "attention.value");
}

Id LayerBuilder::query_key_norms(Id qkv, std::int8_t shape) {
  const bool joined = config_.query_key_norm_joined;
  const std::int64_t head = config_.head_size();
  qkv = step({.op = Op::kHeadNorm, .x = qkv, .attention = shape},
             {"query_norm", &layer_->query_norm, Hold::kNorm, false, 1, joined ? config_.query_width() : head, learned_norms()});
  return step({.op = Op::kHeadNorm, .variant = 1, .x = qkv, .attention = shape},
              {"key_norm", &layer_->key_norm, Hold::kNorm, false, 1, joined ? config_.kv_width() : head, learned_norms()});
}

// LFM2's: a convolution of B * x over a few tokens, times C.
Id Builder::short_convolution(Id x) {
  const std::int64_t hidden = config_.hidden_size;
  const auto& of = config_.short_convolution;
  const Id columns = linear(x, "convolution_in", layer_->convolution_in, 3 * hidden, of.bias);
  const Id y = step({.op = Op::kShortConvolution, .x = columns},
                    {"convolution_filter", &layer_->convolution_filter, Hold::kFilter, of.bias, hidden, of.kernel});
  return linear(y, "convolution_out", layer_->convolution_out, hidden, of.bias);
}

// The relative embeddings by a layer's query and key matrices, or by matrices of their own.
Id LayerBuilder::relative_queries_keys() {
  const std::int64_t rows = config_.query_width() + config_.kv_width();
  const bool own = config_.disentangled.own_matrices;
  const Weight matrix = own ? Weight{"relative_query_key", &layer_->relative_qk, Hold::kMatrix, true, rows, config_.hidden_size}
                            : Weight{"query_key", &layer_->qkv, Hold::kSensitive, true, rows, config_.hidden_size};
  return again(step({.op = Op::kLinear, .x = kRelativeValue}, of_keys(matrix), Rows::kBuckets));
}

// What is added to scores by the distance; nothing: none is.
Weight LayerBuilder::distance_bias() {
  const bool t5 = config_.relative_positions == RelativePositions::kT5Buckets;
  if (!t5 && config_.relative_positions != RelativePositions::kAlibi) return {};
  if (config_.t5.each_layer) return {"distance_bias", &layer_->distance_bias, Hold::kDistances};
  return {"distance_bias", &ends_.distances, Hold::kConstant, false, 0, 0, t5 ? Learned::kWithEmbeddings : Learned::kNever};
}

AttentionStep Builder::cross_constants() const {
  AttentionStep out{.shape = config_.attention_shape(), .scale = config_.score_scale(), .cross = true};
  out.shape.kv_heads = out.shape.heads;
  return out;
}

Id Builder::cross_attention(Id x) {
  const Id queries =
      named(linear(x, "cross_query", layer_->cross_query, config_.query_width(), config_.biases.qkv, Hold::kSensitive),
            "cross_attention.query");
  const Id keys_values = for_training_ ? again(cross_keys_values(states(), Rows::kSources)) : Id{-1};
  const Id context =
      step({.op = Op::kAttention, .x = again(queries), .other = keys_values, .attention = attention(cross_constants())});
  return linear(named(context, "cross_attention.context"), "cross_output", layer_->cross_output, config_.hidden_size,
                config_.biases.attention_output);
}

Id Builder::cross_keys_values(Id states, Rows rows) {
  return step({.op = Op::kLinear, .x = states},
              {"cross_key_value", &layer_->cross_keys_values, Hold::kSensitive, config_.biases.qkv, 2 * config_.query_width(),
               config_.hidden_size},
              rows);
}

void Builder::source() {
  const Id keys_values = cross_keys_values(kStreamValue, Rows::kTokens);
  view(keys_values, 0, config_.query_width(), "cross_attention.key");
  view(keys_values, config_.query_width(), config_.query_width(), "cross_attention.value");
  step({.op = Op::kStore, .x = keys_values});
}

Id Builder::feed_forward_of_layer(Id x) {
  if (config_.has_experts(index_)) {
    return step({.op = Op::kExperts, .variant = variant(config_.hidden_act), .x = x},
                {"experts", &layer_->experts, Hold::kExperts, true, config_.experts.count, config_.hidden_size});
  }
  return feed_forward(x, layer_->up, layer_->down, "intermediate");
}

Id LayerBuilder::feed_forward(Id x, LinearWeights& up, LinearWeights& down, const char* tap) {
  const std::int64_t ffn = config_.intermediate_size;
  const Id outer = linear(x, "up", up, config_.gated() ? 2 * ffn : ffn, config_.biases.up);
  const Id inner = step({.op = config_.gated() ? Op::kGate : Op::kActivate, .variant = variant(config_.hidden_act), .x = outer});
  return linear(dropped(named(inner, tap), DropPlace::kActivation), "down", down, value(x).width, config_.biases.down);
}

Id Builder::convolve(Id x) {
  const Id windows = step({.op = Op::kWindows, .x = x, .factor = static_cast<float>(config_.convolution.kernel)});
  return step({.op = Op::kActivate,
               .variant = variant(config_.convolution.activation),
               .x = linear(windows, "convolution", ends_.convolution.layer, config_.hidden_size, true)});
}

void Builder::head() {
  if (!is_post()) {
    begin("final_norm");
    into_stream(named(norm(kStreamValue, "final_norm", ends_.final_norm), "final_norm.output"));
    plan.final_norm = end();
  }
  if (config_.lm_head) {
    begin("head");
    const float cap = config_.final_logit_softcapping;
    Id x = scale(kStreamValue, config_.lm_head_scale);
    if (const auto& dense = config_.lm_head_dense; dense.present) {
      x = linear(x, "head_dense", ends_.head_dense, config_.hidden_size, dense.bias);
      x = norm(step({.op = Op::kActivate, .variant = variant(dense.activation), .x = x}), "head_norm", ends_.head_norm);
    }
    Id logits = linear(x, "lm_head", ends_.lm_head, config_.vocab_size, config_.lm_head_bias, Hold::kSensitive);
    if (cap != 0) logits = step({.op = Op::kSoftcap, .x = logits, .factor = cap});
    value(logits).place = Place::kOutput;
    plan.head = end();
  }
  plan.keys_values.shape = config_.attention_shape();
  plan.keys_values.product_width = config_.hidden_size;
  if (plan.keys_values.state_layers > 0) plan.keys_values.state_size = Part<GatedDeltas>::get()->state_size(config_);
  if (config_.cross_attention) plan.cross_keys_values = {cross_constants().shape, config_.num_hidden_layers};
}

Plan plan_of(const TransformerConfig& config, TransformerEnds& ends, std::span<TransformerLayer> layers,
             const PlanOptions& options) {
  return Builder(config, ends, options).build(layers);
}

}  // namespace wattn
