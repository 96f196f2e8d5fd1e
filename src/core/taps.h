// Taps observe and change values inside a model. Passed as a pointer; null disables them and costs one comparison.
#pragma once

#include <string>
#include <string_view>

#include "core/tensor_view.h"

namespace wattn {

struct TapPoint {
  std::string_view name;  // "attention.probs", "output", ...
  int layer = -1;         // -1: outside the layers ("embeddings.output")
  int sequence = -1;      // the sequence the tensor belongs to; -1: it holds the packed tokens of the whole batch
};

class Taps {
 public:
  virtual ~Taps() = default;
  // The view is only valid during the call.
  virtual void on_tensor(const TapPoint& point, const TensorView& tensor) = 0;
  // Called before on_tensor for tensors of packed tokens: rows [count, width], stride apart, whose values it may replace.
  virtual void patch(const TapPoint&, float* /*rows*/, std::int64_t /*count*/, std::int64_t /*width*/, std::int64_t /*stride*/) {}
  // Factors for the attention probabilities of that name and layer, [heads]; null for none.
  virtual const float* head_mask(const TapPoint& /*probs*/) { return nullptr; }
};

// "layer.3.attention.probs", "embeddings.output".
inline std::string to_string(const TapPoint& point) {
  const std::string name(point.name);
  return point.layer < 0 ? name : "layer." + std::to_string(point.layer) + "." + name;
}

}  // namespace wattn
