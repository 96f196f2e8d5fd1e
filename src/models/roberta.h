// RoBERTa's heads, shared by MPNet.
#pragma once

#include "models/heads.h"

namespace wattn {

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
