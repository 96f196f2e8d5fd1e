// What architectures derived from BERT share with it.
#pragma once

#include "models/arch.h"

namespace wattn {

inline constexpr TransformerNames kBertNames = {
    .word_embeddings = "embeddings.word_embeddings",
    .position_embeddings = "embeddings.position_embeddings",
    .token_type_embeddings = "embeddings.token_type_embeddings",
    .embeddings_norm = "embeddings.LayerNorm",
    .query = "encoder.layer.{}.attention.self.query",
    .key = "encoder.layer.{}.attention.self.key",
    .value = "encoder.layer.{}.attention.self.value",
    .attention_output = "encoder.layer.{}.attention.output.dense",
    .attention_norm = "encoder.layer.{}.attention.output.LayerNorm",
    .up = "encoder.layer.{}.intermediate.dense",
    .down = "encoder.layer.{}.output.dense",
    .ffn_norm = "encoder.layer.{}.output.LayerNorm",
    .pooler = "pooler.dense",
};

inline constexpr const char* kBertDefaults =
    R"("vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, )"
    R"("hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2)";

inline constexpr Heads kBertHeads = {
    .sequence = {.dense = "pooler.dense", .activation = Activation::kTanh, .output = "classifier"},
    .token = {.output = "classifier"},
    .answer = {.output = "qa_outputs"},
    .masked_lm = {.dense = "cls.predictions.transform.dense",
                  .activation_key = "hidden_act",
                  .norm = "cls.predictions.transform.LayerNorm",
                  .output = "cls.predictions.bias",
                  .tied = true},
};

inline constexpr GgufField kBertGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"layer_norm_eps", "attention.layer_norm_epsilon"},
    {"rope_theta", "rope.freq_base", false},
};

}  // namespace wattn
