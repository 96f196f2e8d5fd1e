#include "nn/losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "nn/shapes.h"

namespace wattn::nn {
namespace {

// A loss of these inputs. compute(gradients, parts) gives its value and fills the gradients that are wanted, as large as their
// inputs. each: the dims of a loss that is not reduced, which is what compute() writes to parts; each part is of as many neighbours
// of every input.
template <std::size_t kInputs, class Compute>
Tensor loss_of(const std::array<const Tensor*, kInputs>& inputs, const LossReduction& reduction, const Shape& each,
               const Compute& compute) {
  std::array<std::vector<float>, kInputs> gradients;
  std::array<float*, kInputs> to{};
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (!records({inputs[i]})) continue;
    gradients[i].resize(inputs[i]->data.size());
    to[i] = gradients[i].data();
  }
  Tensor out = Tensor::of({}, {0.0f});
  if (reduction.none) {
    const auto count = std::accumulate(each.begin(), each.end(), std::int64_t{1}, std::multiplies<>());
    out = Tensor::of(each, std::vector<float>(static_cast<std::size_t>(count)));
  }
  const double value = compute(to, reduction.none ? out.data.data() : nullptr);
  if (!reduction.none) out.data[0] = static_cast<float>(value);
  if (std::none_of(inputs.begin(), inputs.end(), [](const Tensor* input) { return records({input}); })) return out;
  new_node(out, inputs.data(), kInputs).backward = [gradients = std::move(gradients), parts = out.size()](const Flow& flow) {
    for (std::size_t i = 0; i < kInputs; ++i) {
      if (!flow.wants(i)) continue;
      const std::int64_t width = parts == 0 ? 0 : static_cast<std::int64_t>(gradients[i].size()) / parts;
      for (std::int64_t part = 0; part < parts; ++part) {
        wattn::nn::compute().kernels.axpy(flow.dy[part], gradients[i].data() + part * width, flow.to(i) + part * width, width);
      }
    }
  };
  return out;
}

Result<void> same_shape(std::string_view where, const Tensor& x, const Tensor& targets) {
  if (x.dims == targets.dims) return {};
  return wrong_shape(where, "target", to_string(x.dims) + " as the input", targets.dims);
}

LossInput rows_of(const Tensor& x) {
  const std::int64_t cols = x.rank() == 0 ? 1 : x.dim(-1);
  return {x.at(0), cols == 0 ? 0 : x.size() / cols, cols};
}

// x and targets of one shape, both with gradients of which one is the other's, negated.
template <class F>
Result<Tensor> difference_loss(std::string_view where, const Tensor& x, const Tensor& targets, const LossReduction& reduction,
                               const F& f) {
  if (const auto fits = same_shape(where, x, targets); !fits.ok()) return fits.error();
  return loss_of<2>({&x, &targets}, reduction, x.dims, [&](const std::array<float*, 2>& to, float* parts) {
    const double loss = f(rows_of(x), targets.at(0), reduction.of, to[0], parts);
    if (to[1]) f(rows_of(targets), x.at(0), reduction.of, to[1], nullptr);
    return loss;
  });
}

Result<void> check_signs(const Tensor& targets) {
  for (const float y : targets.data) {
    if (y != 1 && y != -1) return input_error("nn.cosine_embedding_loss: expected targets 1 or -1, found " + std::to_string(y));
  }
  return {};
}

Result<std::vector<std::int32_t>> classes_of(const Tensor& targets, std::int64_t classes, std::int64_t ignore_index) {
  std::vector<std::int32_t> out;
  for (const float target : targets.data) {
    const bool ignored = target == static_cast<float>(ignore_index);
    if (!ignored && !(target >= 0 && target < static_cast<float>(classes) && target == std::floor(target))) {
      return input_error("nn.cross_entropy: expected targets that are whole numbers below " + std::to_string(classes) +
                         ", or ignore_index = " + std::to_string(ignore_index) + ", found " + std::to_string(target) +
                         " at index " + std::to_string(out.size()));
    }
    out.push_back(ignored ? static_cast<std::int32_t>(ignore_index) : static_cast<std::int32_t>(target));
  }
  return out;
}

// [batch, classes, ...] with the classes as the last dimension.
Result<Tensor> classes_last(const Tensor& x) {
  if (x.rank() < 3) return x;
  std::vector<std::int64_t> order{0};
  for (int i = 2; i < x.rank(); ++i) order.push_back(i);
  order.push_back(1);
  return permute(x, order);
}

// A weight of each column; one number stands for all.
Result<std::vector<float>> column_weights(std::string_view what, const Tensor* weight, std::int64_t cols) {
  if (!weight) return std::vector<float>();
  if (weight->size() == 1) return std::vector<float>(static_cast<std::size_t>(cols), weight->data[0]);
  if (weight->dims != Shape{cols})
    return wrong_shape("nn.binary_cross_entropy_with_logits", what, to_string(Shape{cols}), weight->dims);
  return weight->data;
}

}  // namespace

LossReduction read_reduction(Options& options, bool batch_mean) {
  constexpr LossReduction kReductions[] = {{Reduction::kMean}, {Reduction::kSum}, {Reduction::kSum, true}, {Reduction::kBatchMean}};
  const auto chosen = batch_mean ? options.choice("reduction", {"mean", "sum", "none", "batchmean"})
                                 : options.choice("reduction", {"mean", "sum", "none"});
  return kReductions[static_cast<std::size_t>(chosen)];
}

Result<Tensor> cross_entropy(const Tensor& x, const Tensor& targets, const Tensor* weight, const CrossEntropyOptions& options) {
  constexpr std::string_view kWhere = "nn.cross_entropy";
  if (x.rank() == 0 || x.dim(x.rank() == 1 ? 0 : 1) == 0) return wrong_shape(kWhere, "the input", "[rows, classes]", x.dims);
  Shape expected = x.dims;
  expected.erase(expected.begin() + (x.rank() > 1));
  const auto moved = classes_last(x);
  if (!moved.ok()) return moved;
  const Tensor& logits = moved.value();
  const std::int64_t classes = logits.dim(-1);
  const bool soft = targets.dims == x.dims;
  if (!soft && targets.dims != expected)
    return wrong_shape(kWhere, "target", to_string(expected) + ", or as the input", targets.dims);
  if (weight && weight->dims != Shape{classes}) return wrong_shape(kWhere, "weight", to_string(Shape{classes}), weight->dims);
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    return input_error("nn.cross_entropy: expected label_smoothing from 0 to 1, found " + std::to_string(options.label_smoothing));
  }
  const CrossEntropy how{.weight = weight ? weight->at(0) : nullptr,
                         .ignore_index = static_cast<std::int32_t>(options.ignore_index),
                         .label_smoothing = static_cast<float>(options.label_smoothing),
                         .reduction = options.reduction.of};
  if (soft) {
    const auto probabilities = classes_last(targets);
    if (!probabilities.ok()) return probabilities;
    const Tensor& of = probabilities.value();
    return loss_of<2>({&logits, &of}, options.reduction, expected, [&](const auto& to, float* parts) {
      return soft_cross_entropy(rows_of(logits), of.at(0), how, to[0], to[1], parts);
    });
  }
  const auto ids = classes_of(targets, classes, options.ignore_index);
  if (!ids.ok()) return ids.error();
  return loss_of<1>({&logits}, options.reduction, expected, [&](const auto& to, float* parts) {
    return wattn::cross_entropy(rows_of(logits), ids.value(), how, to[0], parts);
  });
}

Result<Tensor> binary_cross_entropy_with_logits(const Tensor& x, const Tensor& targets, const Tensor* weight,
                                                const Tensor* pos_weight, const LossReduction& reduction) {
  if (const auto fits = same_shape("nn.binary_cross_entropy_with_logits", x, targets); !fits.ok()) return fits.error();
  const LossInput rows = rows_of(x);
  const auto weights = column_weights("weight", weight, rows.cols), positive = column_weights("pos_weight", pos_weight, rows.cols);
  if (!weights.ok()) return weights.error();
  if (!positive.ok()) return positive.error();
  const auto data = [](const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); };
  return loss_of<1>({&x}, reduction, x.dims, [&](const auto& to, float* parts) {
    return wattn::binary_cross_entropy_with_logits(
        rows, targets.at(0), {.weight = data(weights.value()), .pos_weight = data(positive.value()), .reduction = reduction.of},
        to[0], parts);
  });
}

Result<Tensor> mse_loss(const Tensor& x, const Tensor& targets, const LossReduction& reduction) {
  return difference_loss("nn.mse_loss", x, targets, reduction, wattn::mse_loss);
}

Result<Tensor> l1_loss(const Tensor& x, const Tensor& targets, const LossReduction& reduction) {
  return difference_loss("nn.l1_loss", x, targets, reduction, wattn::l1_loss);
}

Result<Tensor> kl_div(const Tensor& x, const Tensor& targets, const LossReduction& reduction) {
  if (const auto fits = same_shape("nn.kl_div", x, targets); !fits.ok()) return fits.error();
  LossInput rows = rows_of(x);
  if (reduction.of == Reduction::kBatchMean && x.rank() > 0) rows = {x.at(0), x.dim(0), x.dim(0) == 0 ? 0 : x.size() / x.dim(0)};
  return loss_of<1>({&x}, reduction, x.dims,
                    [&](const auto& to, float* parts) { return wattn::kl_div(rows, targets.at(0), reduction.of, to[0], parts); });
}

Result<Tensor> cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& targets, double margin,
                                     const LossReduction& reduction) {
  constexpr std::string_view kWhere = "nn.cosine_embedding_loss";
  if (x1.rank() < 1 || x1.rank() > 2) return wrong_shape(kWhere, "the input", "[rows, hidden]", x1.dims);
  if (x2.dims != x1.dims) return wrong_shape(kWhere, "the other input", to_string(x1.dims), x2.dims);
  const Shape expected(x1.dims.begin(), x1.dims.end() - 1);
  if (targets.dims != expected) return wrong_shape(kWhere, "target", to_string(expected), targets.dims);
  if (const auto fits = check_signs(targets); !fits.ok()) return fits.error();
  const std::vector<std::int32_t> y(targets.data.begin(), targets.data.end());
  return loss_of<2>({&x1, &x2}, reduction, expected, [&](const auto& to, float* parts) {
    return wattn::cosine_embedding_loss(rows_of(x1), x2.at(0), y, static_cast<float>(margin), reduction.of, to[0], to[1], parts);
  });
}

Result<Tensor> triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, TripletMargin options,
                                   const LossReduction& reduction) {
  constexpr std::string_view kWhere = "nn.triplet_margin_loss";
  if (anchor.rank() < 1 || anchor.rank() > 2) return wrong_shape(kWhere, "the anchor", "[rows, hidden]", anchor.dims);
  if (positive.dims != anchor.dims) return wrong_shape(kWhere, "positive", to_string(anchor.dims), positive.dims);
  if (negative.dims != anchor.dims) return wrong_shape(kWhere, "negative", to_string(anchor.dims), negative.dims);
  options.reduction = reduction.of;
  const Shape each(anchor.dims.begin(), anchor.dims.end() - 1);
  return loss_of<3>({&anchor, &positive, &negative}, reduction, each, [&](const auto& to, float* parts) {
    return wattn::triplet_margin_loss(rows_of(anchor), positive.at(0), negative.at(0), options, {to[0], to[1], to[2]}, parts);
  });
}

}  // namespace wattn::nn
