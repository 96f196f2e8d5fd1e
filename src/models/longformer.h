// What Longformer and its encoder-decoder share.
#pragma once

#include "core/fields.h"
#include "models/transformer_config.h"

namespace wattn {

// attention_window, of all layers: half of it is on each side of a token.
void read_attention_window(Fields& config, TransformerConfig& out);

}  // namespace wattn
