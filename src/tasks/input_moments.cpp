#include "tasks/input_moments.h"

#include <algorithm>
#include <utility>

#include "models/target_list.h"

namespace wattn {

InputMoments::InputMoments(Model& model, std::span<const std::string> names) : model_(model) {
  const Arch& arch = model.arch();
  std::vector<WeightTarget> targets = model.transformer().weight_targets(arch.names, false);
  if (model.decoder()) add_targets(model.decoder()->weight_targets(arch.decoder_names, false), targets);
  for (const std::string& name : names) {
    const auto found = std::ranges::find(targets, canonical_weight_name(arch, name, false), &WeightTarget::name);
    const auto* layer = found == targets.end() ? nullptr : static_cast<const LinearWeights*>(found->layer);
    // A vector is a bias. What a file has the other way round, or in groups, is no row of the product.
    const bool reads = layer && !found->transposed && found->shape.size() == 2 && found->shape.back() == layer->in;
    layers_.push_back(reads ? number_of(layer->weight) : -1);
    if (layers_.back() == std::ssize(weights_)) weights_.push_back(layer->weight);
  }
  moments_.resize(weights_.size());
  lora_.watch = this;
  model_.set_lora(&lora_);
}

std::int32_t InputMoments::number_of(const void* weight) const {
  return static_cast<std::int32_t>(std::ranges::find(weights_, weight) - weights_.begin());
}

InputMoments::~InputMoments() { model_.set_lora(nullptr); }

InputMoments::Moments InputMoments::take(int layer) { return std::exchange(moments_[static_cast<std::size_t>(layer)], {}); }

void InputMoments::on_inputs(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t tokens) {
  const auto number = static_cast<std::size_t>(number_of(layer.weight));
  if (number == weights_.size()) return;
  Moments& moments = moments_[number];
  moments.sums.resize(static_cast<std::size_t>(layer.in * layer.in));
  moments.tokens += tokens;
  const auto floats = linear_backward_scratch(layer.in, layer.in, tokens, compute.team.most_threads());
  scratch_.resize(std::max(scratch_.size(), static_cast<std::size_t>(floats)));
  // The gradient of a layer's weights is dy^T x.
  linear_backward(compute, {.in = layer.in, .out = layer.in, .tokens = tokens, .x = x, .dy = x, .d_weight = moments.sums.data()},
                  scratch_.data());
}

}  // namespace wattn
