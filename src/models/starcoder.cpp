// StarCoder, arXiv 2305.06161 (GPTBigCode), and StarCoder 2, arXiv 2402.19173;
// transformers/models/gpt_bigcode/modeling_gpt_bigcode.py and starcoder2/modeling_starcoder2.py (v5.24.0).
// - GPTBigCode: GPT-2 whose heads share one key and value, with matrices stored as [out, in];
// - StarCoder 2: Llama with LayerNorm, biases everywhere and an ungated feed-forward.
#include "models/gpt2.h"
#include "models/llama.h"

namespace wattn {
namespace {

void parse_gpt_bigcode(Fields& config, ModelConfig& out) {
  read_gpt2(config, out.transformer);
  // Without it the query, key and value of each head stand in turn.
  config.expect("multi_query", true);
  out.transformer.num_key_value_heads = 1;
}

constexpr const char* kIgnored[] = {
    "h.{}.attn.bias", "h.{}.attn.masked_bias",  // buffers of the mask
    "lm_head.*",      "score.*",
    "classifier.*",
};

void parse_starcoder2(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder);
  read_epsilon(config, "norm_epsilon", 1e-5, decoder);
  decoder.norm = NormKind::kLayer;
  decoder.feed_forward = FeedForward::kPlain;
  const bool biases = config.boolean_or("use_bias", true);
  decoder.biases = {.qkv = biases, .attention_output = biases, .up = biases, .down = biases, .norms = true};
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
  read_sliding_window(config, true, 0, decoder);
}

constexpr GgufField kGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"norm_epsilon", "attention.layer_norm_epsilon"},
    {"rope_theta", "rope.freq_base", false},
};

constexpr Arch starcoder2() {
  Arch arch = llama_arch("starcoder2", parse_starcoder2, "starcoder2",
                         R"("vocab_size": 49152, "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 30, )"
                         R"("num_attention_heads": 24, "num_key_value_heads": 2, "hidden_act": "gelu_pytorch_tanh", )"
                         R"("max_position_embeddings": 4096)");
  arch.names.gate = nullptr;
  arch.names.up = "layers.{}.mlp.c_fc";
  arch.names.down = "layers.{}.mlp.c_proj";
  arch.gguf.config = R"("hidden_act": "gelu_pytorch_tanh")";
  arch.gguf.fields = kGgufFields;
  arch.heads.answer = {};
  return arch;
}

}  // namespace

extern const Arch kGptBigCode = {
    .model_type = "gpt_bigcode",
    .base_prefix = "transformer.",
    .parse_config = parse_gpt_bigcode,
    .names = {.word_embeddings = "wte",
              .position_embeddings = "wpe",
              .query_key_value = "h.{}.attn.c_attn",
              .attention_output = "h.{}.attn.c_proj",
              .attention_norm = "h.{}.ln_1",
              .up = "h.{}.mlp.c_fc",
              .down = "h.{}.mlp.c_proj",
              .ffn_norm = "h.{}.ln_2",
              .final_norm = "ln_f"},
    .ignored = kIgnored,
    .heads = {.sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast}, .token = {.output = "classifier"}},
    .defaults = {R"("vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, )"
                 R"("activation_function": "gelu_pytorch_tanh")"},
};
extern const Arch kStarCoder2 = starcoder2();

}  // namespace wattn
