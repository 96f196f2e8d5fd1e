// What DeBERTa and DeBERTa-v2 share.
#pragma once

#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {

// relative_attention, pos_att_type with both ways, max_relative_positions.
void read_disentangled(Fields& config, TransformerConfig& out);

constexpr Heads deberta_heads() {
  Heads heads = kBertHeads;
  heads.sequence.activation = Activation::kGelu;
  heads.sequence.activation_key = "pooler_hidden_act";
  return heads;
}

}  // namespace wattn
