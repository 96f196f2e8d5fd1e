// Normalisations as in torch.nn.functional. Null weights are 1, null biases 0.
#pragma once

#include <cstdint>
#include <span>

#include "nn/options.h"
#include "nn/tensor.h"

namespace wattn::nn {

// 1 / sqrt(variance + epsilon), or 1 / (sigma + epsilon).
enum class EpsilonForm : std::uint8_t { kInsideRoot, kBesideSigma };
EpsilonForm read_epsilon_form(Options& options);  // eps_form: "inside" or "outside"

// (x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, of normalized_shape; arXiv 1607.06450. The variance
// is biased.
Result<Tensor> layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor* weight, const Tensor* bias,
                          float eps = 1e-5f, EpsilonForm form = EpsilonForm::kInsideRoot);
// x / sqrt(mean(x^2) + eps) * weight; arXiv 1910.07467. eps below 0: torch's default, f32's 2^-23.
Result<Tensor> rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor* weight, float eps = -1);
// Per channel, with the running statistics: x [batch, channels, ...], all others [channels]; arXiv 1502.03167.
Result<Tensor> batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor* weight,
                          const Tensor* bias, float eps = 1e-5f);
// The same with the batch's own statistics, which move the running ones: running = (1 - momentum) running + momentum now.
Result<Tensor> batch_norm_training(const Tensor& x, std::span<float> running_mean, std::span<float> running_var, double momentum,
                                   const Tensor* weight, const Tensor* bias, float eps);
// Per example and channel, over all other dimensions: x [batch, channels, ...]; arXiv 1607.08022.
Result<Tensor> instance_norm(const Tensor& x, const Tensor* weight, const Tensor* bias, float eps = 1e-5f);
// (sum |x|^p)^(1/p) along dim, which becomes 1 if keep_dim. p may be infinity.
Result<Tensor> vector_norm(const Tensor& x, double p, std::int64_t dim, bool keep_dim);
// x / max(||x||_p, eps) along dim.
Result<Tensor> normalize(const Tensor& x, double p = 2, std::int64_t dim = 1, float eps = 1e-12f);

}  // namespace wattn::nn
