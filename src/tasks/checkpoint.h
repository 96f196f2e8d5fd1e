// checkpoint: the weights of a Model, with the names, shapes and layout of its original checkpoint.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor_view.h"
#include "engine/model.h"

namespace wattn {

struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

// Tensors of model.head(), without a prefix.
std::vector<NamedTensor> head_tensors(const Model& model);

// The weights are in f32. With a head, the names below it have the prefix that checkpoints with heads use ("bert."). Takes
// additional memory of twice the size of the weights.
Result<std::vector<NamedTensor>> checkpoint(const Model& model);

}  // namespace wattn
