// Rewrites of the steps of a section into fewer ones with the same bits.
#pragma once

#include "plan/plan.h"

namespace wattn {

struct Fusions {
  bool activations = true;  // linear, activate: linear with the activation
  bool residuals = true;    // add, layer norm: norm of the sum
};
// Over the last section of a plan, whose steps run to the end of Plan::steps. A value that a tap shows, or that another step reads,
// stays.
void fuse_steps(Plan& plan, const Section& section, const Fusions& fusions);

}  // namespace wattn
