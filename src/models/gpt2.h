// What architectures derived from GPT-2 share with it.
#pragma once

#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {

// Everything but what scales scores by the layer.
void read_gpt2(Fields& config, TransformerConfig& out);

}  // namespace wattn
