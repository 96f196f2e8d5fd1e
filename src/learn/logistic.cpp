// build: -Os
#include "learn/logistic.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "core/real_math.h"
#include "learn/softmax_loss.h"
#include "ops/matmul.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostNumbers = std::int64_t{1} << 28;    // of one matrix, 1 GiB
constexpr std::int64_t kBlockProducts = std::int64_t{1} << 24;  // of one matmul of a step
constexpr std::int64_t kLeastBlock = 64, kMostBlock = 1 << 12;  // examples; a sum of more products in f32 would lose digits

std::vector<float> to_floats(const std::vector<double>& values) {
  std::vector<float> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(), [](double value) { return static_cast<float>(value); });
  return out;
}

}  // namespace

Logistic::Logistic(std::int64_t count, std::int64_t dim, std::int64_t num_labels)
    : count_(count), inputs_(dim + 1), num_labels_(num_labels) {}

Result<Logistic> Logistic::make(std::span<const float> vectors, std::vector<std::int32_t> labels, std::int64_t num_labels) {
  const auto count = static_cast<std::int64_t>(labels.size());
  const auto numbers = static_cast<std::int64_t>(vectors.size());
  if (count == 0 || num_labels < 2 || numbers == 0 || numbers % count != 0 || !are_below(labels, num_labels)) {
    return input_error("Logistic: expected a label below " + std::to_string(num_labels) + " for each vector");
  }
  const std::int64_t dim = numbers / count, inputs = dim + 1;
  if (std::max(count * inputs, inputs * num_labels) >= kMostNumbers) {
    return out_of_memory_error("Logistic: " + std::to_string(count) + " vectors of " + std::to_string(dim) + " with " +
                               std::to_string(num_labels) + " labels exceed the limit of 1 GiB");
  }
  Logistic model(count, dim, num_labels);
  model.labels_ = std::move(labels);
  model.rows_.resize(static_cast<std::size_t>(count * inputs));
  model.columns_.resize(model.rows_.size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < inputs; ++k) {
      const float value = k < dim ? vectors[static_cast<std::size_t>(i * dim + k)] : 1.0f;
      model.rows_[static_cast<std::size_t>(i * inputs + k)] = value;
      model.columns_[static_cast<std::size_t>(k * count + i)] = value;
    }
  }
  const std::int64_t block = model.end_of_block(0);
  model.logits_.resize(static_cast<std::size_t>(block * num_labels));
  model.products_.resize(static_cast<std::size_t>(inputs * num_labels));
  model.scratch_.resize(static_cast<std::size_t>(matmul_scratch_size(num_labels, std::max(block, inputs))));
  return model;
}

std::int64_t Logistic::end_of_block(std::int64_t begin) const {
  return std::min(count_, begin + std::clamp(kBlockProducts / (inputs_ * num_labels_), kLeastBlock, kMostBlock));
}

Result<void> Logistic::begin(std::vector<double> weights, double c, std::vector<double> start) {
  double total = 0;
  for (const double weight : weights) total += weight;
  start.resize(start.empty() ? products_.size() : start.size());
  if (weights.size() != labels_.size() || !(total > 0) || !(c > 0) || start.size() != products_.size()) {
    return input_error("Logistic: expected a weight for each example, C above 0, and parameters of these sizes");
  }
  weights_ = std::move(weights);
  for (double& weight : weights_) weight /= total;
  // Two labels have opposite weights of half the size each: their squares together are half the square that scikit-learn counts.
  decay_ = (num_labels_ == 2 ? 2 : 1) / (c * total);
  row_ = 0;
  search_ = Lbfgs(std::move(start));
  return {};
}

// logits_ = [vectors, 1] rounded_, of some examples
void Logistic::apply(std::int64_t begin, std::int64_t end) {
  matmul(one_thread(),
         {.a = rows_.data() + begin * inputs_,
          .a_stride = inputs_,
          .b = rounded_.data(),
          .b_stride = num_labels_,
          .b_is_transposed = true,
          .c = logits_.data(),
          .c_stride = num_labels_,
          .m = end - begin,
          .n = num_labels_,
          .k = inputs_},
         scratch_.data());
}

// Adds the losses of some examples, and their gradient: [vectors, 1]' (softmax(logits) - one-hot labels) weights.
void Logistic::add_block(std::int64_t begin, std::int64_t end) {
  apply(begin, end);
  const auto cols = static_cast<std::size_t>(num_labels_);
  float* row = logits_.data();
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i, row += cols) {
    const auto weight = static_cast<float>(weights_[i]);
    if (weight == 0) {
      std::fill_n(row, cols, 0.0f);
      continue;
    }
    const auto label = static_cast<std::size_t>(labels_[i]);
    sum_ += weights_[i] * softmax_loss(row, cols, label);
    row[label] -= 1;
    for (std::size_t j = 0; j < cols; ++j) row[j] *= weight;
  }
  matmul(one_thread(),
         {.a = columns_.data() + begin,
          .a_stride = count_,
          .b = logits_.data(),
          .b_stride = num_labels_,
          .b_is_transposed = true,
          .c = products_.data(),
          .c_stride = num_labels_,
          .m = inputs_,
          .n = num_labels_,
          .k = end - begin},
         scratch_.data());
  for (std::size_t i = 0; i < products_.size(); ++i) gradient_[i] += products_[i];
}

// Adds the regularisation and lets the search go on.
bool Logistic::finish(double tolerance) {
  const std::vector<double>& parameters = search_.next();
  const std::size_t biases = parameters.size() - static_cast<std::size_t>(num_labels_);
  double squares = 0;
  for (std::size_t i = 0; i < biases; ++i) {
    squares += parameters[i] * parameters[i];
    gradient_[i] += decay_ * parameters[i];
  }
  return search_.tell(sum_ + decay_ / 2 * squares, gradient_, tolerance);
}

bool Logistic::step(double tolerance) {
  if (row_ == 0) {
    rounded_ = to_floats(search_.next());
    gradient_.assign(rounded_.size(), 0);
    sum_ = 0;
  }
  const std::int64_t end = end_of_block(row_);
  add_block(row_, end);
  row_ = end < count_ ? end : 0;
  return row_ > 0 || finish(tolerance);
}

std::vector<float> Logistic::logits(std::int64_t begin) {
  rounded_ = to_floats(parameters());
  const std::int64_t end = end_of_block(begin);
  apply(begin, end);
  return {logits_.begin(), logits_.begin() + (end - begin) * num_labels_};
}

}  // namespace wattn
