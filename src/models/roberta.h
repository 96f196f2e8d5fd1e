// What models derived from RoBERTa share with it.
#pragma once

#include "core/fields.h"
#include "models/heads.h"
#include "models/transformer_config.h"

namespace wattn {

void parse_roberta(Fields& config, ModelConfig& out);

inline constexpr Heads kRobertaHeads = {
    .sequence = {.dense = "classifier.dense", .activation = Activation::kTanh, .output = "classifier.out_proj"},
    .token = {.output = "classifier"},
    .answer = {.output = "qa_outputs"},
    .masked_lm = {.dense = "lm_head.dense",
                  .activation = Activation::kGelu,
                  .norm = "lm_head.layer_norm",
                  .output = "lm_head.bias",
                  .tied = true},
};

}  // namespace wattn
