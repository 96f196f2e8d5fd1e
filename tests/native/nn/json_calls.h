// Calls of nn written as JSON, as a binding makes them.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "nn/call.h"

namespace wattn::test {

inline void set_option(nn::Options& options, const std::string& name, JsonRef value) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < value.size(); ++i) numbers.push_back(value[i].as_number().value());
  if (value.is_array()) options.set(name, numbers);
  if (value.is_string()) options.set_word(name, std::string(value.as_string().value()));
  if (value.is_bool()) options.set(name, value.as_bool().value() ? 1 : 0);
  if (value.is_number()) options.set(name, value.as_number().value());
}

// {"dim": 1, "form": "notes"}; where: "nn.softmax", for messages.
inline nn::Options to_options(const std::string& where, std::string_view json) {
  nn::Options out(where);
  const Json parsed = std::move(Json::parse(json, "options")).value();
  for (const auto& [name, value] : parsed.root().members()) set_option(out, std::string(name), value);
  return out;
}

// {"input": [2, 3]}: tensors of these shapes, filled with one number.
inline nn::Inputs to_inputs(std::string_view json, float fill = 1) {
  nn::Inputs out;
  const Json parsed = std::move(Json::parse(json, "tensors")).value();
  for (const auto& [name, dims] : parsed.root().members()) {
    nn::Tensor tensor;
    std::size_t count = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      count *= static_cast<std::size_t>(tensor.dims.emplace_back(dims[i].as_int().value()));
    }
    tensor.data.assign(count, fill);
    out.emplace_back(std::string(name), std::move(tensor));
  }
  return out;
}

}  // namespace wattn::test
