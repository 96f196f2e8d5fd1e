// Matrices and norms of a training pass, with LoRA's change of them, and their gradients.
#include <algorithm>

#include "models/training_pass.h"
#include "ops/activation.h"

namespace wattn {

void TrainingPass::lm_head(const Transformer& model, ThreadTeam& team, const LmHeadGradient& g, Arena& arena) {
  const Linear& layer = model.ends().lm_head;
  const float scale = model.config_.lm_head_scale;
  softcap_backward(model.config_.final_logit_softcapping, g.logits, g.rows * layer.out, g.d_logits);
  linear_backward({*model.kernels_, team},
                  {.in = layer.in,
                   .out = layer.out,
                   .tokens = g.rows,
                   .layer = &layer,
                   .x = g.hidden,
                   .dy = g.d_logits,
                   .dx = g.d_hidden,
                   .d_layer = g.gradients ? &g.gradients->ends_->lm_head : nullptr},
                  arena.take<float>(linear_backward_scratch(layer.in, layer.out, g.rows, team.threads())));
  for (std::int64_t i = 0; g.d_hidden && scale != 1.0f && i < g.rows * layer.in; ++i) g.d_hidden[i] *= scale;
}

const LoraFactors* TrainingPass::lora_of(const Linear& layer) const {
  const auto found = std::ranges::find(options_.lora, static_cast<const void*>(layer.weight), &LoraFactors::weight);
  return found == options_.lora.end() ? nullptr : &*found;
}

float* TrainingPass::bias_gradient(const float* bias) const {
  const auto found = std::ranges::find(scope_.biases, bias, &BiasGradient::bias);
  return !bias || found == scope_.biases.end() ? nullptr : found->gradient;
}

bool TrainingPass::trains(std::int64_t layer, Linear TransformerLayer::* part) const {
  return scope_.layers || lora_of(model_.layer_at(layer).*part);
}

Dropout TrainingPass::lora_dropout(const Use& use) const {
  constexpr Linear Layer::* kParts[] = {&Layer::qkv,         &Layer::attention_output,  &Layer::up,          &Layer::down, nullptr,
                                        &Layer::cross_query, &Layer::cross_keys_values, &Layer::cross_output};
  const auto part = use.relative ? 4 : std::ranges::find(kParts, use.part) - std::begin(kParts);
  constexpr std::uint64_t kLoraSeed = 0x10A;  // places of their own
  return dropout_at(options_.dropout.lora, options_.seed ^ (kLoraSeed << 48), options_.step,
                    static_cast<std::uint64_t>(use.layer * std::ssize(kParts) + part));
}

const float* TrainingPass::lora_input(const Use& use, const Linear& a, const float* x, std::int64_t rows) {
  if (options_.dropout.lora == 0) return x;
  std::copy_n(x, rows * a.in, lora_input_);
  drop(pass_.compute, lora_dropout(use), lora_input_, rows * a.in);
  return lora_input_;
}

void TrainingPass::drop_lora(const Use& use, const Linear& layer, const float* x, std::int64_t rows, std::int64_t width, float* y) {
  const LoraFactors* lora = options_.dropout.lora > 0 ? lora_of(layer) : nullptr;
  if (!lora) return;
  lora_input(use, lora->a, x, rows);
  for (std::int64_t i = 0; i < rows * lora->a.in; ++i) lora_input_[i] -= x[i];
  linear(pass_.compute, lora->a, lora_input_, rows, Activation::kNone, {}, lora_inner_);
  linear(pass_.compute, lora->b, lora_inner_, rows, Activation::kNone, {}, lora_added_);
  for (std::int64_t t = 0; t < rows; ++t) add(lora_added_ + t * lora->b.out, width, y + t * width);
}

void TrainingPass::product(const Use& use, const float* x, std::int64_t rows, float* y) {
  const Linear& layer = model_.layer_at(use.layer).*use.part;
  linear(pass_.compute, layer, x, rows, Activation::kNone, pass_.work.linear, y);
  drop_lora(use, layer, x, rows, layer.out, y);
}

void TrainingPass::linear_gradient(const Linear& layer, const Linear* gradient, const float* x, const float* dy, std::int64_t rows,
                                   float* dx) {
  linear_backward(pass_.compute,
                  {.in = layer.in,
                   .out = layer.out,
                   .tokens = rows,
                   .layer = &layer,
                   .x = x,
                   .dy = dy,
                   .dx = dx,
                   .d_bias = gradient ? nullptr : bias_gradient(layer.bias),
                   .d_layer = gradient},
                  linear_scratch_);
}

void TrainingPass::product_backward(const Use& use, const float* x, const float* dy, std::int64_t rows, float* dx,
                                    std::int64_t out) {
  Linear layer = model_.layer_at(use.layer).*use.part;
  if (out > 0) layer.out = out;
  const LoraFactors* lora = lora_of(layer);
  const bool drops = lora && dx && options_.dropout.lora > 0;
  if (lora) lora_backward(use, *lora, x, dy, rows, layer.out, drops ? lora_added_ : nullptr);
  linear_gradient(layer, scope_.layers ? &(gradients_->layer_at(use.layer).*use.part) : nullptr, x, dy, rows, dx);
  if (!drops) return;
  const Dropout dropout = lora_dropout(use);
  for (std::int64_t i = 0; i < rows * layer.in; ++i) {
    dx[i] += (dropout.factor(static_cast<std::uint64_t>(i)) - 1) * lora_added_[i];
  }
}

void TrainingPass::lora_backward(const Use& use, const LoraFactors& lora, const float* x, const float* dy, std::int64_t rows,
                                 std::int64_t out, float* dx) {
  const float* read = lora_input(use, lora.a, x, rows);
  linear(pass_.compute, lora.a, read, rows, Activation::kNone, {}, lora_inner_);
  linear_backward(pass_.compute,
                  {.in = lora.b.in,
                   .out = out,
                   .tokens = rows,
                   .layer = &lora.b,
                   .x = lora_inner_,
                   .dy = dy,
                   .dx = d_lora_inner_,
                   .d_layer = &lora.d_b},
                  linear_scratch_);
  linear_backward(pass_.compute,
                  {.in = lora.a.in,
                   .out = lora.a.out,
                   .tokens = rows,
                   .layer = &lora.a,
                   .x = read,
                   .dy = d_lora_inner_,
                   .dx = dx,
                   .d_layer = &lora.d_a},
                  linear_scratch_);
}

void TrainingPass::norm_backward(NormKind kind, const LayerNorm& norm, const LayerNorm& gradient, const float* x, const float* dy,
                                 std::int64_t rows, float* dx, bool wanted) {
  const bool has_bias = kind == NormKind::kLayer && config_.biases.norms;
  normalise_backward(pass_.compute, kind, norm, x, dy, rows, dx, wanted ? gradient.gamma : nullptr,
                     has_bias ? (wanted ? gradient.beta : bias_gradient(norm.beta)) : nullptr, norm_scratch_);
}

void TrainingPass::norm_backward(NormKind kind, std::int64_t layer, LayerNorm Layer::* part, const float* x, const float* dy,
                                 float* dx) {
  norm_backward(kind, model_.layer_at(layer).*part, scope_.layers ? gradients_->layer_at(layer).*part : LayerNorm(), x, dy, tokens_,
                dx, scope_.layers);
}

}  // namespace wattn
