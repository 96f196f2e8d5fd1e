#include "tasks/train_modules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/heads_backward.h"

namespace wattn {
namespace {

constexpr float kLeastLength = 1e-12f;  // torch.nn.functional.normalize's

// x: [count, width], before it had length 1; d, its gradient afterwards, becomes that before.
void unit_backward(const Kernels& kernels, const float* x, std::int64_t count, std::int64_t width, float* d) {
  for (std::int64_t i = 0; i < count; ++i, x += width, d += width) {
    const float length = std::max(std::sqrt(kernels.dot(x, x, width)), kLeastLength);
    const float along = kernels.dot(x, d, width) / length;
    for (std::int64_t k = 0; k < width; ++k) d[k] = (d[k] - along * (x[k] / length)) / length;
  }
}

// dx += dy R.
void residual_backward(const Compute& compute, const LinearWeights& layer, std::int64_t count, const std::vector<float>& dy,
                       std::vector<float>& dx) {
  std::vector<float> through(dx.size());
  std::vector<float> scratch(static_cast<std::size_t>(linear_backward_scratch(layer.in, layer.out, count, compute.team.threads())));
  linear_backward(compute,
                  {.in = layer.in, .out = layer.out, .tokens = count, .layer = &layer, .dy = dy.data(), .dx = through.data()},
                  scratch.data());
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += through[i];
}

}  // namespace

Result<void> modules_backward(Model& model, const std::vector<std::vector<float>>& inputs, std::int64_t count,
                              std::vector<float>& d) {
  const Compute compute{model.kernels(), model.team()};
  const std::vector<SentenceModule>& modules = model.sentence().modules;
  for (std::size_t i = modules.size(); i-- > 0;) {
    const SentenceModule& module = modules[i];
    const Model::ModuleWeights& weights = model.module_weights()[i];
    const std::vector<float>& x = inputs[i];
    std::vector<float> dx(x.size());
    switch (module.kind) {
      case SentenceModule::Kind::kNormalize:
        unit_backward(model.kernels(), x.data(), count, module.in, d.data());
        continue;
      case SentenceModule::Kind::kLayerNorm: {
        std::vector<float> scratch(static_cast<std::size_t>(2 * count));
        normalise_backward(compute, NormKind::kLayer, weights.norm, x.data(), d.data(), count, dx.data(), nullptr, nullptr,
                           scratch.data());
        break;
      }
      case SentenceModule::Kind::kDense: {
        auto arena = Arena::with_bytes(dense_backward_bytes(weights.dense, count, compute.team.threads()), "training");
        if (!arena.ok()) return arena.error();
        dense_backward(compute, {weights.dense, module.activation, x.data(), count, d.data(), dx.data()}, arena.value());
        if (module.projects_residual()) {
          residual_backward(compute, weights.residual, count, d, dx);
        } else if (module.residual) {
          for (std::size_t k = 0; k < dx.size(); ++k) dx[k] += d[k];
        }
        break;
      }
    }
    d = std::move(dx);
  }
  return {};
}

}  // namespace wattn
