// nomic-embed-text-v2-moe, arXiv 2502.07972; modeling_hf_nomic_bert.py of nomic-ai/nomic-bert-2048. Differences from NomicBERT:
// - a plain feed-forward, and biases; every second layer has experts instead.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  reject_decoder(config);
  for (const char* key : {"prenorm", "use_rms_norm", "causal", "parallel_block", "rotary_emb_interleaved", "expert_choice_router",
                          "scale_attn_by_inverse_layer_idx", "moe_normalize_expert_weights"}) {
    config.expect(key, false);
  }
  for (const char* key : {"rotary_emb_scale_base", "rope_scaling", "rotary_scaling_factor"}) config.absent(key);
  config.expect("rotary_emb_fraction", 1);
  config.expect("num_shared_experts", 0);
  config.expect("ffn_div", 1);
  read_sizes(config,
             {.hidden_size = "n_embd",
              .num_hidden_layers = "n_layer",
              .num_attention_heads = "n_head",
              .intermediate_size = "n_inner",
              .max_position_embeddings = "n_positions"},
             encoder);
  read_epsilon(config, "layer_norm_epsilon", 1e-12, encoder);
  read_type_vocab_size(config, encoder);
  encoder.hidden_act = read_activation(config, "activation_function");
  encoder.rope.theta = config.number_or("rotary_emb_base", 10000, kMostTheta);
  encoder.biases.qkv = encoder.biases.attention_output = config.boolean_or("qkv_proj_bias", true);
  encoder.biases.up = config.boolean_or("mlp_fc1_bias", true);
  encoder.biases.down = config.boolean_or("mlp_fc2_bias", true);
  encoder.experts.count = config.size("num_experts", 1 << 10);
  encoder.experts.top_k = config.size_or("moe_top_k", encoder.experts.count, 1);
  encoder.experts.every = config.size_or("moe_every_n_layers", 1 << 12, 2);
  encoder.positions = Positions::kNone;
  encoder.relative_positions = RelativePositions::kRotary;
}

constexpr GgufField kGgufFields[] = {
    {"n_embd", "embedding_length"},
    {"n_layer", "block_count"},
    {"n_head", "attention.head_count"},
    {"n_inner", "feed_forward_length"},
    {"n_positions", "context_length"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon"},
    {"rotary_emb_base", "rope.freq_base", false},
    {"num_experts", "expert_count"},
    {"moe_top_k", "expert_used_count"},
    {"moe_every_n_layers", "moe_every_n_layers"},
};

constexpr const char* kIgnored[] = {"cls.*", "pooler.*", "classifier.*", "lm_head.*"};

}  // namespace

extern const Arch kNomicBertMoe = {
    .model_type = "nomic_bert",
    .base_prefix = "bert.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .token_type_embeddings = "embeddings.token_type_embeddings",
              .embeddings_norm = "emb_ln",
              .query_key_value = "encoder.layers.{}.attn.Wqkv",
              .attention_output = "encoder.layers.{}.attn.out_proj",
              .attention_norm = "encoder.layers.{}.norm1",
              .up = "encoder.layers.{}.mlp.fc1",
              .down = "encoder.layers.{}.mlp.fc2",
              .ffn_norm = "encoder.layers.{}.norm2",
              .router = "encoder.layers.{}.mlp.router.layer",
              .experts_up = "encoder.layers.{}.mlp.experts.mlp.w1",
              .experts_down = "encoder.layers.{}.mlp.experts.mlp.w2",
              .experts_bias = "encoder.layers.{}.mlp.experts.bias"},
    .ignored = kIgnored,
    .gguf = {.architecture = "nomic-bert-moe", .config = R"("activation_function": "gelu")", .fields = kGgufFields},
    .only_key = "num_experts",
};

}  // namespace wattn
