// Taps: the one way to see tensors inside a model. Passed as a pointer; null is off and costs one comparison.
#pragma once

#include <string_view>

#include "core/tensor_view.h"

namespace wattn {

class Taps {
 public:
  virtual ~Taps() = default;
  // name: "layer.3.attention.probs". sequence: index of the sequence the tensor belongs to, or -1 when it holds the
  // packed tokens of the whole batch. The view is valid during the call only.
  virtual void on_tensor(std::string_view name, int sequence, const TensorView& tensor) = 0;
};

}  // namespace wattn
