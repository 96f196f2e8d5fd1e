#include "nn/summary.h"

#include <set>

namespace wattn::nn {
namespace {

// torchinfo 1.8.0, LayerInfo.calculate_macs.
std::int64_t mult_adds_of(const Module& module, const Shape& output) {
  std::int64_t sum = 0;
  if (output.empty()) return 0;
  for (const Module::Named& named : module.state()) {
    if (named.is_buffer) continue;
    const std::int64_t size = named.parameter->value().size();
    if (named.name == "weight" || named.name == "bias") {
      sum += output[0] * size;
    } else if (named.name.find("weight") != std::string::npos || named.name.find("bias") != std::string::npos) {
      sum += output[0] * (output.size() > 1 ? output[1] : 1) * size;
    }
  }
  return sum;
}

std::int64_t count(const std::vector<Module::Named>& parameters) {
  std::set<const Parameter*> seen;
  std::int64_t sum = 0;
  for (const Module::Named& named : parameters) {
    if (!named.is_buffer && seen.insert(named.parameter.get()).second) sum += named.parameter->value().size();
  }
  return sum;
}

}  // namespace

void Tracer::before(const Module& module, std::string_view name, const Tensor& input) {
  for (const std::size_t row : open_) rows_[row].is_leaf = false;
  TraceRow row;
  row.name = name;
  row.type = module.type();
  row.depth = static_cast<int>(open_.size());
  row.input = input.dims;
  row.kernel = module.kernel_shape();
  row.parameters = count(module.state());
  row.own_parameters = count(module.own());
  open_.push_back(rows_.size());
  rows_.push_back(std::move(row));
}

void Tracer::after(const Module& module, const Outputs& outputs) {
  TraceRow& row = rows_[open_.back()];
  open_.pop_back();
  row.output = outputs.output.dims;
  if (row.is_leaf) row.mult_adds = mult_adds_of(module, row.output);
  if (keep_outputs_) row.outputs = outputs;
}

}  // namespace wattn::nn
