#include "models/training_pass.h"

#include <algorithm>

#include "ops/activation.h"

namespace wattn {

TrainingPass::TrainingPass(const Transformer& model, ThreadTeam& team, const Batch& batch, const PassSize& size,
                           Transformer* gradients, const BackwardScope& scope, const TapeOptions& options,
                           const CrossSources& sources, Arena& arena)
    : model_(model),
      config_(model.config_),
      gradients_(gradients),
      scope_(scope),
      options_(options),
      sources_(sources),
      pass_{{*model.kernels_, team}, batch, {}},
      tokens_(size.tokens),
      max_seq_(size.max_seq),
      size_(size.tokens * config_.hidden_size) {
  take(arena, size.threads, size.sources);
}

void TrainingPass::forward(const TapeView& tape, float* hidden) {
  use_tape(tape);
  if (is_disentangled()) prepare_relative_embeddings();
  embed(tape.row(0));
  const std::int64_t layers = config_.num_hidden_layers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    forward_layer(layer, input_of(tape, layer), tape.keeps(layer) ? tape.layer(layer) : scratch_, tape.row(layer + 1));
  }
  std::copy_n(input_of(tape, layers), size_, hidden);
  if (!is_post()) normalise(pass_.compute, config_.norm, model_.ends().final_norm, hidden, tokens_, hidden);
  drop(pass_.compute, dropout_of(kOutput), hidden, size_);
}

void TrainingPass::backward(const TapeView& tape, float* d) {
  use_tape(tape);
  if (is_disentangled()) {
    prepare_relative_embeddings();
    std::fill_n(d_relative_, pass_.work.disentangled.count * config_.hidden_size, 0.0f);
  }
  drop(pass_.compute, dropout_of(kOutput), d, size_);
  if (!is_post()) {
    std::fill_n(d_sum_, size_, 0.0f);
    norm_backward(config_.norm, model_.ends().final_norm, scope_.layers ? gradients_->ends().final_norm : LayerNorm(),
                  tape.row(config_.num_hidden_layers), d, tokens_, d_sum_, scope_.layers);
    std::copy_n(d_sum_, size_, d);
  }
  for (std::int64_t layer = config_.num_hidden_layers - 1; layer >= scope_.first_layer; --layer) {
    const float* x = input_of(tape, layer);
    const LayerTape kept = tape.keeps(layer) ? tape.layer(layer) : scratch_;
    if (tape.keeps(layer)) {
      restore_layer(layer, x, kept);
    } else {
      forward_layer(layer, x, kept, nullptr);
    }
    if (options_.spare) clear_gradients(layer);
    layer_backward(layer, x, kept, tape.row(layer + 1), d);
  }
  if (!wants_embeddings()) return;
  embeddings_backward(d);
  if (is_disentangled()) relative_embeddings_backward();
  if (config_.relative_positions == RelativePositions::kT5Buckets) share_buckets();
}

void TrainingPass::use_tape(const TapeView& tape) {
  if (!scratch_.qkv && options_.kept_layers > 0) scratch_ = tape.layer(config_.num_hidden_layers - 1);
}

void TrainingPass::clear_gradients(std::int64_t layer) const {
  if (config_.shares_layers() || layer + 1 == config_.num_hidden_layers) return;
  std::fill(TapeView::begin_of(*gradients_, layer), TapeView::begin_of(*gradients_, layer + 1), 0.0f);
}

void TrainingPass::take(Arena& arena, int threads, const SourceLimits& sources) {
  const std::int64_t hidden = config_.hidden_size, ffn = config_.intermediate_size, width = config_.embedding_width();
  const std::int64_t up = config_.gated() ? 2 * ffn : ffn, row = config_.qkv_width();
  const bool disentangled = config_.relative_positions == RelativePositions::kDisentangled;
  buckets_ = disentangled ? std::min(config_.relative_rows(), 2 * max_seq_) : 0;
  const std::int64_t keys = std::max(max_seq_, sources.max_seq), queries = config_.query_width();
  const auto rows = [&](std::int64_t of) { return arena.take<float>(tokens_ * of); };
  const bool cross = config_.cross_attention;
  const auto if_cross = [&](std::int64_t count) { return arena.take<float>(cross ? count : 0); };
  auto& work = pass_.work;
  if (config_.embedding_size > 0) work.embedded = rows(width);
  work.context = rows(queries);
  if (buckets_ > 0) work.relative = arena.take<float>(buckets_ * hidden);
  if (buckets_ > 0) work.relative_qk = arena.take<float>(buckets_ * 2 * hidden);
  for (int i = 0; i < threads; ++i) {
    work.attention[i] = take_attention_scratch(arena, config_.attention_shape(), keys, keys, buckets_);
  }
  if (options_.kept_layers == 0 || (options_.spare && options_.kept_layers < config_.num_hidden_layers)) {
    scratch_ = {rows(row), rows(hidden), if_cross(tokens_ * hidden), rows(up)};
  }
  cross_read_ = if_cross(tokens_ * hidden);
  cross_queries_ = if_cross(tokens_ * queries);
  d_cross_queries_ = if_cross(tokens_ * queries);
  cross_context_ = if_cross(tokens_ * queries);
  cross_kv_ = if_cross(sources.tokens * 2 * queries);
  d_cross_kv_ = if_cross(sources.tokens * 2 * queries);
  d_cross_states_ = if_cross(sources.tokens * hidden);
  placed_ = config_.query_key_norm ? rows(row) : nullptr;
  input_ = rows(is_post() ? hidden : 0);
  middle_ = rows(std::max(hidden, width));
  d_sum_ = rows(hidden);
  output_ = rows(config_.output_norms ? hidden : 0);
  d_output_ = rows(config_.output_norms ? hidden : 0);
  d_in_ = rows(std::max(hidden, width));
  normal_ = is_post() ? d_in_ : rows(std::max(hidden, width));  // post-norm: read after the last layer only
  const bool drops = options_.dropout.attention + options_.dropout.feed_forward > 0;
  work.projected = drops ? rows(hidden) : d_in_;  // without dropout: of a forward pass
  // The feed-forward, then attention.
  const std::uint64_t before = arena.used();
  float*& act = config_.gated() ? work.gated : work.intermediate;
  d_act_ = act = rows(ffn);
  d_up_ = config_.gated() ? rows(up) : d_act_;
  if (const std::int64_t experts = config_.experts.count; experts > 0) {
    work.experts = take_experts_scratch(arena, *model_.layer_at(1 % config_.experts.every).experts, tokens_, true);
    work.experts_sum = rows(hidden);
    d_router_ = rows(experts);
  }
  const std::uint64_t of_feed_forward = arena.used();
  arena.rewind(before);
  d_qkv_ = rows(row);
  d_context_ = rows(queries);
  arena.rewind(std::max(arena.used(), of_feed_forward));
  d_head_ = arena.take<float>(config_.num_attention_heads * config_.head_size());
  d_embedded_ = rows(config_.embedding_size > 0 ? width : 0);
  norm_scratch_ = arena.take<float>(2 * std::max({tokens_, config_.num_attention_heads, buckets_}));
  d_relative_ = arena.take<float>(buckets_ * hidden);
  d_relative_qk_ = arena.take<float>(buckets_ * 2 * hidden);
  d_relative_in_ = arena.take<float>(buckets_ * hidden);
  std::int64_t scratch = 0;
  for (const auto& [in, out] : {std::pair{hidden, row}, {queries, hidden}, {hidden, up}, {ffn, hidden}, {width, hidden}}) {
    scratch = std::max(scratch, linear_backward_scratch(in, out, std::max(tokens_, buckets_), threads));
  }
  if (cross) scratch = std::max(scratch, linear_backward_scratch(hidden, 2 * queries, sources.tokens, threads));
  if (config_.experts.count > 0) {
    scratch = std::max(scratch, linear_backward_scratch(hidden, config_.experts.count, tokens_, threads));
  }
  const std::int64_t most_rows = std::max({tokens_, buckets_, sources.tokens});
  std::int64_t rank = 0, lora_in = 0;
  for (const LoraFactors& one : options_.lora) {
    rank = std::max(rank, one.a.out);
    lora_in = std::max(lora_in, one.a.in);
    scratch = std::max({scratch, linear_backward_scratch(one.a.in, one.a.out, most_rows, threads),
                        linear_backward_scratch(one.b.in, one.b.out, most_rows, threads)});
  }
  lora_inner_ = arena.take<float>(most_rows * rank);
  d_lora_inner_ = arena.take<float>(most_rows * rank);
  lora_input_ = arena.take<float>(options_.dropout.lora > 0 ? most_rows * lora_in : 0);
  lora_added_ = arena.take<float>(options_.dropout.lora > 0 && rank > 0 ? most_rows * std::max({row, up, hidden, ffn}) : 0);
  linear_scratch_ = arena.take<float>(scratch);
  const std::int64_t attention = attention_backward_scratch(config_.attention_shape(), keys, buckets_);
  for (int i = 0; i < threads; ++i) attention_scratch_.push_back(arena.take<float>(attention));
}

Dropout TrainingPass::dropout_of(Place place, std::int64_t layer) const {
  const DropoutRates& rates = options_.dropout;
  const float of_place[kPlaces] = {rates.embeddings, rates.output,       rates.probabilities, rates.attention,
                                   rates.activation, rates.feed_forward, rates.probabilities, rates.attention};
  return dropout_at(of_place[place], options_.seed, options_.step, static_cast<std::uint64_t>(layer * kPlaces + place));
}

const float* TrainingPass::before_drop(const Dropout& dropout, const float* d) {
  if (dropout.rate == 0) return d;
  float* out = std::copy_n(d, size_, pass_.work.projected) - size_;
  drop(pass_.compute, dropout, out, size_);
  return out;
}

const float* TrainingPass::input_of(const TapeView& tape, std::int64_t layer) {
  if (layer == 0 || !is_post()) return tape.row(layer);
  normalise(pass_.compute, NormKind::kLayer, model_.layer_at(layer - 1).ffn_norm, tape.row(layer), tokens_, input_);
  return input_;
}

const float* TrainingPass::attention_input(std::int64_t layer, const float* x) {
  if (!has_attention_norm(layer)) return x;
  normalise(pass_.compute, config_.norm, model_.layer_at(layer).attention_norm, x, tokens_, normal_);
  return normal_;
}

void TrainingPass::output_norm(std::int64_t index, LayerNorm Layer::* norm, float* rows) {
  if (config_.output_norms) normalise(pass_.compute, config_.norm, model_.layer_at(index).*norm, rows, tokens_, rows);
}

const float* TrainingPass::output_norm_backward(const Use& use, LayerNorm Layer::* norm, const float* read, const float* dy) {
  if (!config_.output_norms) return dy;
  product(use, read, tokens_, output_);
  std::fill_n(d_output_, size_, 0.0f);
  norm_backward(config_.norm, use.layer, norm, output_, dy, d_output_);
  return d_output_;
}

const float* TrainingPass::activate(std::int64_t layer, const float* up) {
  const std::int64_t ffn = config_.intermediate_size;
  float* out = config_.gated() ? pass_.work.gated : pass_.work.intermediate;
  for_parts(pass_.compute, tokens_, 1, 32, [&](std::int64_t begin, std::int64_t end) {
    if (config_.gated()) {
      pass_.compute.kernels.gate_rows(config_.hidden_act, up + begin * 2 * ffn, out + begin * ffn, end - begin, ffn);
    } else {
      pass_.compute.kernels.activate(config_.hidden_act, up + begin * ffn, out + begin * ffn, (end - begin) * ffn);
    }
  });
  drop(pass_.compute, dropout_of(kActivation, layer), out, tokens_ * ffn);
  return out;
}

void TrainingPass::forward_layer(std::int64_t index, const float* x, const LayerTape& kept, float* out) {
  float* projected = pass_.work.projected;
  product({index, &Layer::qkv}, attention_input(index, x), tokens_, kept.qkv);
  place(index, kept, true);
  attend(index);
  product({index, &Layer::attention_output}, pass_.work.context, tokens_, projected);
  output_norm(index, &Layer::attention_output_norm, projected);
  drop(pass_.compute, dropout_of(kAttention, index), projected, size_);
  sum(projected, x, kept.attention_sum);
  if (config_.cross_attention) {
    cross_attend(index, kept);
    product({index, &Layer::cross_output}, cross_context_, tokens_, projected);
    drop(pass_.compute, dropout_of(kCrossAttention, index), projected, size_);
    sum(projected, is_post() ? cross_read_ : kept.attention_sum, kept.cross_sum);
  }
  normalise(pass_.compute, middle_kind(), model_.layer_at(index).*middle_norm(), middle_sum(kept), tokens_, middle_);
  if (config_.has_experts(index)) {
    if (!out) return;  // their backward pass computes them again
    experts_feed_forward(pass_.compute, *model_.layer_at(index).experts, config_.hidden_act, pass_.work.experts, {}, middle_,
                         tokens_, projected);
  } else {
    product({index, &Layer::up}, middle_, tokens_, kept.up);
    const float* active = activate(index, kept.up);
    if (!out) return;
    product({index, &Layer::down}, active, tokens_, projected);
  }
  output_norm(index, &Layer::ffn_output_norm, projected);
  drop(pass_.compute, dropout_of(kFeedForward, index), projected, size_);
  sum(projected, is_post() ? middle_ : middle_sum(kept), out);
}

void TrainingPass::restore_layer(std::int64_t index, const float* x, const LayerTape& kept) {
  attention_input(index, x);
  place(index, kept, false);
  if (config_.cross_attention) cross_attend(index, kept);
  if (config_.output_norms || trains(index, &Layer::attention_output)) attend(index);
  if (trains(index, &Layer::up) || config_.has_experts(index)) {
    normalise(pass_.compute, middle_kind(), model_.layer_at(index).*middle_norm(), middle_sum(kept), tokens_, middle_);
  }
  if (!config_.has_experts(index) && (config_.output_norms || trains(index, &Layer::down))) activate(index, kept.up);
}

void TrainingPass::layer_backward(std::int64_t index, const float* x, const LayerTape& kept, const float* last_sum, float* d) {
  const bool normed = has_attention_norm(index);
  const float* read = normed ? normal_ : x;
  float* d_read = index > scope_.first_layer || wants_embeddings() ? d_in_ : nullptr;
  if (is_post()) {
    std::fill_n(d_sum_, size_, 0.0f);
    norm_backward(NormKind::kLayer, index, &Layer::ffn_norm, last_sum, d, d_sum_);
    feed_forward_backward(index, kept.up, before_drop(dropout_of(kFeedForward, index), d_sum_), d_in_);
    sum(d_sum_, d_in_, d);
    if (config_.cross_attention) {
      std::fill_n(d_sum_, size_, 0.0f);
      norm_backward(NormKind::kLayer, index, &Layer::cross_norm, kept.cross_sum, d, d_sum_);
      cross_attention_backward(index, before_drop(dropout_of(kCrossAttention, index), d_sum_), d_in_);
      sum(d_sum_, d_in_, d);
    }
    std::fill_n(d_sum_, size_, 0.0f);
    norm_backward(NormKind::kLayer, index, &Layer::attention_norm, kept.attention_sum, d, d_sum_);
    attention_backward(index, read, kept.qkv, before_drop(dropout_of(kAttention, index), d_sum_), d_read);
    if (d_read) sum(d_sum_, d_read, d);
    return;
  }
  const float* d_output = output_norm_backward({index, &Layer::down}, &Layer::ffn_output_norm,
                                               config_.gated() ? pass_.work.gated : pass_.work.intermediate,
                                               before_drop(dropout_of(kFeedForward, index), d));
  feed_forward_backward(index, kept.up, d_output, d_in_);
  norm_backward(config_.norm, index, &Layer::ffn_norm, middle_sum(kept), d_in_, d);
  if (config_.cross_attention) {
    cross_attention_backward(index, before_drop(dropout_of(kCrossAttention, index), d), d_in_);
    norm_backward(config_.norm, index, &Layer::cross_norm, kept.attention_sum, d_in_, d);
  }
  // The norm's own weights need what comes through it.
  if (normed && (scope_.layers || !scope_.biases.empty())) d_read = d_in_;
  d_output = output_norm_backward({index, &Layer::attention_output}, &Layer::attention_output_norm, pass_.work.context,
                                  before_drop(dropout_of(kAttention, index), d));
  attention_backward(index, read, kept.qkv, d_output, d_read);
  if (!d_read) return;
  if (normed) {
    norm_backward(config_.norm, index, &Layer::attention_norm, x, d_read, d);
  } else {
    add(d_read, size_, d);
  }
}

void TrainingPass::feed_forward_backward(std::int64_t index, const float* up, const float* dy, float* dx) {
  const std::int64_t ffn = config_.intermediate_size;
  if (config_.has_experts(index)) {
    const TransformerLayer& layer = model_.layer_at(index);
    return experts_backward(pass_.compute, *layer.experts, config_.hidden_act,
                            {.x = middle_,
                             .dy = dy,
                             .dx = dx,
                             .gradients = scope_.layers ? gradients_->layer_at(index).experts.get() : nullptr,
                             .d_bias = bias_gradient(layer.experts->bias),
                             .tokens = tokens_},
                            pass_.work.experts, pass_.work.experts_sum, d_router_, linear_scratch_);
  }
  product_backward({index, &Layer::down}, config_.gated() ? pass_.work.gated : pass_.work.intermediate, dy, tokens_, d_act_);
  drop(pass_.compute, dropout_of(kActivation, index), d_act_, tokens_ * ffn);
  if (config_.gated()) {
    gate_backward(pass_.compute, config_.hidden_act, up, d_act_, tokens_, ffn, d_up_);
  } else {
    activate_backward(pass_.compute, config_.hidden_act, up, d_act_, tokens_, ffn, d_up_);
  }
  product_backward({index, &Layer::up}, middle_, d_up_, tokens_, dx);
}

}  // namespace wattn
