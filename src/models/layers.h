// What a model computes, as a plan.
#pragma once

#include <span>

#include "models/transformer.h"
#include "plan/fusions.h"
#include "plan/plan.h"

namespace wattn {

// layers: those with weights of their own. Steps refer to the weights where they are.
Plan plan_of(const TransformerConfig& config, const TransformerEnds& ends, std::span<const TransformerLayer> layers,
             const Fusions& fusions = {});

}  // namespace wattn
