// What a model computes, as a plan.
#pragma once

#include <span>

#include "models/transformer.h"
#include "plan/fusions.h"
#include "plan/plan.h"

namespace wattn {

// layers: those with weights of their own. Steps refer to the weights where they are, which have no memory yet: the plan says of
// which shape they are, and how they are held.
struct PlanOptions {
  Fusions fusions{};
  bool for_training = false;  // without fusions; cross attention projects an encoder's states itself
};
Plan plan_of(const TransformerConfig& config, TransformerEnds& ends, std::span<TransformerLayer> layers,
             const PlanOptions& options = {});

}  // namespace wattn
