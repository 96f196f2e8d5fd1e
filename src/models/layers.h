// What a model computes, as a plan.
#pragma once

#include <span>

#include "models/transformer.h"
#include "plan/fusions.h"
#include "plan/plan.h"

namespace wattn {

// layers: the layers with their own weights. Steps refer to weights by address before these have memory: the plan says their
// shapes and how they are held.
struct PlanOptions {
  Fusions fusions{};
  bool for_training = false;  // without fusions; cross attention projects an encoder's states itself
};
Plan plan_of(const TransformerConfig& config, TransformerEnds& ends, std::span<TransformerLayer> layers,
             const PlanOptions& options = {});

}  // namespace wattn
