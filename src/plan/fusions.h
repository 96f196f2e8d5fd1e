// Rewrites of the steps of a section into fewer ones with the same bits.
#pragma once

#include "plan/plan.h"

namespace wattn {

// Both rewrites, over the last section of a plan, whose steps run to the end of Plan::steps:
//   linear, activate   -> linear with the activation
//   add, norm (layer)  -> norm of the sum
// The value between the two must have no other reader and no name, so that it is nobody's business.
void fuse_steps(Plan& plan, const Section& section);

}  // namespace wattn
