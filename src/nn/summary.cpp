#include "nn/summary.h"

#include <set>

namespace wattn::nn {
namespace {

// torchinfo 1.8.0, LayerInfo.calculate_macs; no module without children has convolutions or weights of other names.
std::int64_t mult_adds_of(const Module& module, const Shape& output) {
  std::int64_t sum = 0;
  for (const Module::Named& named : module.own()) {
    if (!named.is_buffer && !output.empty()) sum += output[0] * named.parameter->value().size();
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
  TraceRow row;
  row.name = name;
  row.type = module.type();
  row.module = &module;
  row.is_leaf = module.children().empty();
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

void Tracer::multiplied(std::int64_t macs) {
  for (const std::size_t row : open_) rows_[row].macs += macs;
}

}  // namespace wattn::nn
