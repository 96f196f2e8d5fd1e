// What the architectures of the Llama family share with it; each changes single parts.
#pragma once

#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {

// Sizes, heads, rms_norm_eps, hidden_act, rope and ties. Leaves biases and windows to the architecture: none.
void parse_llama(Fields& config, TransformerConfig& out);

inline constexpr TransformerNames kLlamaNames = {
    .word_embeddings = "embed_tokens",
    .query = "layers.{}.self_attn.q_proj",
    .key = "layers.{}.self_attn.k_proj",
    .value = "layers.{}.self_attn.v_proj",
    .query_norm = "layers.{}.self_attn.q_norm",
    .key_norm = "layers.{}.self_attn.k_norm",
    .attention_output = "layers.{}.self_attn.o_proj",
    .attention_norm = "layers.{}.input_layernorm",
    .gate = "layers.{}.mlp.gate_proj",
    .up = "layers.{}.mlp.up_proj",
    .down = "layers.{}.mlp.down_proj",
    .ffn_norm = "layers.{}.post_attention_layernorm",
    .final_norm = "norm",
};

inline constexpr const char* kLlamaIgnored[] = {"layers.{}.self_attn.rotary_emb.inv_freq", "lm_head.*", "score.*", "qa_outputs.*"};

inline constexpr Heads kLlamaHeads = {
    .sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast},
    .token = {.output = "score"},
    .answer = {.output = "qa_outputs"},
};

// llama.cpp's names (gguf-py/gguf/tensor_mapping.py).
inline constexpr GgufName kLlamaGgufNames[] = {
    {"token_embd", "embed_tokens"},
    {"blk.{}.attn_q", "layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "layers.{}.self_attn.k_proj"},
    {"blk.{}.attn_v", "layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_q_norm", "layers.{}.self_attn.q_norm"},
    {"blk.{}.attn_k_norm", "layers.{}.self_attn.k_norm"},
    {"blk.{}.attn_output", "layers.{}.self_attn.o_proj"},
    {"blk.{}.attn_norm", "layers.{}.input_layernorm"},
    {"blk.{}.ffn_gate", "layers.{}.mlp.gate_proj"},
    {"blk.{}.ffn_up", "layers.{}.mlp.up_proj"},
    {"blk.{}.ffn_down", "layers.{}.mlp.down_proj"},
    {"blk.{}.ffn_norm", "layers.{}.post_attention_layernorm"},
    {"output_norm", "norm"},
    {"output", "lm_head"},
    {"cls.output", "score"},
};
inline constexpr GgufField kLlamaGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", false},
    {"head_dim", "attention.key_length", false},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"rope_theta", "rope.freq_base", false},
};
constexpr GgufLayout llama_gguf(const char* architecture) {
  return {.architecture = architecture, .config = R"("hidden_act": "silu")", .fields = kLlamaGgufFields, .names = kLlamaGgufNames};
}

}  // namespace wattn
