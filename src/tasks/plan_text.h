// plan_text: the steps of a model's forward pass.
#pragma once

#include <string>

#include "engine/model.h"

namespace wattn {

// As plan/print.h has them; of an encoder-decoder, those of both stacks.
std::string plan_text(const Model& model);

}  // namespace wattn
