// Functions and forwards by name, with tensors by name: what a binding needs of this room.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/generate.h"
#include "nn/module.h"

namespace wattn::nn {

class Inputs {
 public:
  void add(std::string name, Tensor tensor) { tensors_.emplace_back(std::move(name), std::move(tensor)); }
  const Tensor* find(std::string_view name) const;
  // A message for the first tensor whose name is not among these.
  Result<void> check(const std::string& where, const std::vector<std::string_view>& known) const;

 private:
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

// nn.functional.* and nn.positional.*, by name: "softmax" with the tensor "input" and the option "dim", and so on.
Result<Outputs> call_function(std::string_view name, const Inputs& inputs, Options options);

// A module's forward: tensors and options by the names of Arguments.
Result<Outputs> call_module(const Module& module, const Inputs& inputs, Options options, KeyValueCache* cache, Observer* observer);

Result<GenerateOptions> read_generate_options(Options& options);

}  // namespace wattn::nn
