// What architectures derived from ModernBERT share with it.
#pragma once

#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {

// Everything but what makes it an encoder.
void parse_modernbert(Fields& config, TransformerConfig& out);

inline constexpr HeadLayers kModernBertClassifier = {.dense = "head.dense",
                                                     .activation = Activation::kGelu,
                                                     .activation_key = "classifier_activation",
                                                     .dense_bias_key = "classifier_bias",
                                                     .norm = "head.norm",
                                                     .norm_bias_key = "norm_bias",
                                                     .output = "classifier",
                                                     .dense_bias = false,
                                                     .norm_bias = false};

inline constexpr const char* kModernBertDefaults =
    R"("vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 22, )"
    R"("num_attention_heads": 12, "hidden_activation": "gelu", "max_position_embeddings": 8192)";

}  // namespace wattn
