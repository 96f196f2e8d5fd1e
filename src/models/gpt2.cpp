// GPT-2 (Radford et al. 2019); transformers/models/gpt2/modeling_gpt2.py (v5.23.0). Differences from Llama:
// - learned positions, LayerNorm, biases everywhere, ungated feed-forward with the tanh form of GELU;
// - one matrix for query, key and value; matrices are stored as [in, out] in safetensors (Conv1D).
#include "models/gpt2.h"

namespace wattn {

void read_gpt2(Fields& config, TransformerConfig& decoder) {
  reject_foreign(config);
  if (!config.boolean_or("scale_attn_weights", true)) decoder.query_pre_attn_scalar = 1;
  read_sizes(config,
             {.hidden_size = "n_embd",
              .num_hidden_layers = "n_layer",
              .num_attention_heads = "n_head",
              .intermediate_size = nullptr,
              .max_position_embeddings = "n_positions"},
             decoder);
  decoder.intermediate_size = config.size_or("n_inner", kMostFfn, 4 * decoder.hidden_size);
  read_epsilon(config, "layer_norm_epsilon", 1e-5, decoder);
  decoder.hidden_act = read_activation(config, "activation_function");
  decoder.causal = config.boolean_or("is_causal", true);
  decoder.norm_placement = NormPlacement::kPre;
  decoder.embeddings_norm = false;
  decoder.lm_head = true;
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
}

namespace {

void parse_config(Fields& config, ModelConfig& out) {
  read_gpt2(config, out.transformer);
  out.transformer.scale_by_layer = config.boolean_or("scale_attn_by_inverse_layer_idx", false);
}

constexpr const char* kIgnored[] = {
    "h.{}.attn.bias", "h.{}.attn.masked_bias",  // buffers of the mask
    "lm_head.*",      "score.*",
    "classifier.*",   "qa_outputs.*",
};

constexpr GgufField kGgufFields[] = {
    {"n_embd", "embedding_length"},     {"n_layer", "block_count"},        {"n_head", "attention.head_count"},
    {"n_inner", "feed_forward_length"}, {"n_positions", "context_length"}, {"layer_norm_epsilon", "attention.layer_norm_epsilon"},
};

}  // namespace

extern const Arch kGpt2 = {
    .model_type = "gpt2",
    .base_prefix = "transformer.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "wte",
              .position_embeddings = "wpe",
              .query_key_value = "h.{}.attn.c_attn",
              .attention_output = "h.{}.attn.c_proj",
              .attention_norm = "h.{}.ln_1",
              .up = "h.{}.mlp.c_fc",
              .down = "h.{}.mlp.c_proj",
              .ffn_norm = "h.{}.ln_2",
              .final_norm = "ln_f",
              .transposed = true},
    .ignored = kIgnored,
    .heads = {.sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"}},
    .gguf = {.architecture = "gpt2", .config = R"("activation_function": "gelu_new")", .fields = kGgufFields},
    .defaults = {R"("vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, )"
                 R"("activation_function": "gelu_new")"},
};

}  // namespace wattn
