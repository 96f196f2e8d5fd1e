// Training through the modules between pooling and Normalize, whose weights stay as they are.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model.h"

namespace wattn {

// inputs: of each module, as Model::run_modules() gives them. d: [count, out], the gradient of what the modules have given, becomes
// that of what the first one has read.
Result<void> modules_backward(Model& model, const std::vector<std::vector<float>>& inputs, std::int64_t count,
                              std::vector<float>& d);

}  // namespace wattn
