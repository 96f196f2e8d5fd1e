#include "learn/lora.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wattn {

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
}

void LoraMatrix::merge() const {
  const Kernels& kernels = exact_kernels();
  std::vector<float> row(static_cast<std::size_t>(in()));
  for (std::int64_t j = 0; j < rows_.out; ++j) {
    std::copy_n(base_.begin() + j * in(), in(), row.begin());
    for (std::int64_t k = 0; k < r_; ++k) kernels.axpy(scale_ * b_[j * r_ + k], a_.data() + k * in(), row.data(), in());
    set_weight_row(rows_.layer, rows_.first + j, row.data());
  }
}

void LoraMatrix::unmerge() const {
  for (std::int64_t j = 0; j < rows_.out; ++j) set_weight_row(rows_.layer, rows_.first + j, base_.data() + j * in());
}

void LoraMatrix::add_gradients(const Linear& gradient, std::span<float> d_a, std::span<float> d_b) const {
  const Kernels& kernels = exact_kernels();
  std::vector<float> row(static_cast<std::size_t>(in()));
  for (std::int64_t j = 0; j < rows_.out; ++j) {
    get_weight_row(gradient, rows_.first + j, row.data());
    for (std::int64_t k = 0; k < r_; ++k) {
      d_b[j * r_ + k] += scale_ * kernels.dot(row.data(), a_.data() + k * in(), in());
      kernels.axpy(scale_ * b_[j * r_ + k], row.data(), d_a.data() + k * in(), in());
    }
  }
}

}  // namespace wattn
