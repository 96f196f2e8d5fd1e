// Functions and forwards called by name with named tensors, for the bindings.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/generate.h"
#include "nn/module.h"

namespace wattn::nn {

using Inputs = std::vector<std::pair<std::string, Tensor>>;

// nn.functional.* and nn.positional.*: "softmax" with the tensor "input" and the option "dim", and so on.
Result<Outputs> call_function(std::string_view name, const Inputs& inputs, Options options);

// A module's forward; tensors and options are named as in Arguments.
// seed: of the numbers that dropout draws in train mode.
Result<Outputs> call_module(const Module& module, const Inputs& inputs, Options options, KeyValueCache* cache, Observer* observer,
                            std::uint64_t seed = 0);

Result<GenerateOptions> read_generate_options(Options& options);

}  // namespace wattn::nn
