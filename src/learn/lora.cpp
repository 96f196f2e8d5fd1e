#include "learn/lora.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wattn {
namespace {

float length_of(const float* row, std::int64_t in) { return std::sqrt(exact_kernels().dot(row, row, in)); }

}  // namespace

LoraMatrix::LoraMatrix(const WeightRows& rows, const LoraConfig& config, Generator& generator)
    : rows_(rows),
      r_(config.r),
      scale_(config.lora_alpha / (config.use_rslora ? std::sqrt(static_cast<float>(config.r)) : static_cast<float>(config.r))),
      base_(static_cast<std::size_t>(rows.out * rows.layer.in)),
      a_(static_cast<std::size_t>(config.r * rows.layer.in)),
      b_(static_cast<std::size_t>(rows.out * config.r)) {
  for (std::int64_t j = 0; j < rows_.out; ++j) get_weight_row(rows_.layer, rows_.first + j, base_.data() + j * in());
  const double bound = 1 / std::sqrt(static_cast<double>(in()));
  for (float& x : a_) x = static_cast<float>(generator.uniform(-bound, bound));
  for (std::int64_t j = 0; config.use_dora && j < rows.out; ++j) magnitude_.push_back(length_of(base_.data() + j * in(), in()));
  factors_.assign(magnitude_.size(), 1.0f);
}

void LoraMatrix::merge() {
  const Kernels& kernels = exact_kernels();
  std::vector<float> row(static_cast<std::size_t>(in()));
  for (std::int64_t j = 0; j < rows_.out; ++j) {
    std::copy_n(base_.begin() + j * in(), in(), row.begin());
    for (std::int64_t k = 0; k < r_; ++k) kernels.axpy(scale_ * b_[j * r_ + k], a_.data() + k * in(), row.data(), in());
    if (!magnitude_.empty()) {
      factors_[j] = magnitude_[j] / length_of(row.data(), in());
      for (float& weight : row) weight *= factors_[j];
    }
    set_weight_row(rows_.layer, rows_.first + j, row.data());
  }
}

void LoraMatrix::unmerge() const {
  for (std::int64_t j = 0; j < rows_.out; ++j) set_weight_row(rows_.layer, rows_.first + j, base_.data() + j * in());
}

void LoraMatrix::write(const LoraFactors& factors, std::int64_t at) const {
  for (std::int64_t k = 0; k < r_; ++k) set_weight_row(factors.a, at + k, a_.data() + k * in());
  std::vector<float> row(static_cast<std::size_t>(factors.b.in));
  for (std::int64_t j = 0; j < rows_.out; ++j) {
    get_weight_row(factors.b, rows_.first + j, row.data());
    for (std::int64_t k = 0; k < r_; ++k) row[at + k] = scale_at(j) * b_[j * r_ + k];
    set_weight_row(factors.b, rows_.first + j, row.data());
  }
}

// W'_j x is factor_j (W + scale B A)_j x, and factor_j is magnitude_j / length_j: the derivative by magnitude_j is W'_j x /
// magnitude_j.
void LoraMatrix::read_gradients(const LoraFactors& factors, std::int64_t at, std::span<float> d_a, std::span<float> d_b,
                                std::span<float> d_magnitude) const {
  for (std::int64_t k = 0; k < r_; ++k) get_weight_row(factors.d_a, at + k, d_a.data() + k * in());
  std::vector<float> row(static_cast<std::size_t>(factors.b.in));
  for (std::int64_t j = 0; j < rows_.out; ++j) {
    get_weight_row(factors.d_b, rows_.first + j, row.data());
    for (std::int64_t k = 0; k < r_; ++k) d_b[j * r_ + k] = scale_at(j) * row[at + k];
    if (!d_magnitude.empty()) d_magnitude[j] = factors.d_outputs[rows_.first + j] / magnitude_[j];
  }
}

Result<void> LoraSet::begin() {
  struct Size {
    LinearWeights layer;
    std::int64_t rank;
    bool has_magnitudes;
  };
  std::vector<Size> sizes;
  for (LoraMatrix& matrix : matrices_) {
    const LinearWeights& layer = matrix.rows().layer;
    auto found = std::find_if(sizes.begin(), sizes.end(), [&](const Size& size) { return size.layer.weight == layer.weight; });
    if (found == sizes.end()) found = sizes.insert(sizes.end(), {layer, 0, false});
    places_.push_back({static_cast<std::size_t>(found - sizes.begin()), found->rank});
    found->rank += matrix.r();
    found->has_magnitudes |= !matrix.magnitude().empty();
  }
  const auto take = [&](Arena& arena) {
    factors_.clear();
    outputs_.clear();
    for (const auto& [layer, rank, has_magnitudes] : sizes) {
      const auto take_a = [&] { return take_linear(arena, *layer.kernels, WeightType::kF32, layer.in, rank, false); };
      const auto take_b = [&] { return take_linear(arena, *layer.kernels, WeightType::kF32, rank, layer.out, false); };
      const LinearWeights a = take_a(), b = take_b(), d_a = take_a();
      const LinearWeights d_b = take_b();
      factors_.push_back({layer.weight, a, b, d_a, d_b, has_magnitudes ? arena.take<float>(layer.out) : nullptr});
      outputs_.push_back(has_magnitudes ? layer.out : 0);
    }
  };
  Arena measure;
  take(measure);
  auto memory = Arena::with_zeros(measure.used(), "matrices of LoRA");
  if (!memory.ok()) return memory.error();
  memory_ = std::move(memory).value();
  take(memory_);
  merge();
  return {};
}

void LoraSet::merge() {
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    matrices_[i].merge();
    matrices_[i].write(factors_[places_[i].factors], places_[i].at);
  }
}

void LoraSet::clear_gradients() const {
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    for (const LinearWeights& gradient : {factors_[i].d_a, factors_[i].d_b}) std::ranges::fill(weights_f32(gradient), 0.0f);
    std::fill_n(factors_[i].d_outputs, outputs_[i], 0.0f);
  }
}

void LoraSet::read_gradients(std::size_t i, std::span<float> d_a, std::span<float> d_b, std::span<float> d_magnitude) const {
  matrices_[i].read_gradients(factors_[places_[i].factors], places_[i].at, d_a, d_b, d_magnitude);
}

}  // namespace wattn
