// NomicBERT of nomic-embed-text, arXiv 2402.01613; modeling_hf_nomic_bert.py of nomic-ai/nomic-bert-2048, and
// transformers/models/nomic_bert/modeling_nomic_bert.py (v5.23.0), whose config speaks BERT's words. Against BERT:
// - rotary positions, gated feed-forward, no biases beside the norms', no pooler.
#include <algorithm>

#include "models/arch.h"

namespace wattn {
namespace {

// Switches of the first config (GPT-2's words) that would change the arithmetic.
Result<void> refuse_first_switches(JsonRef config) {
  for (const char* key : {"prenorm", "use_rms_norm", "causal", "parallel_block", "rotary_emb_interleaved", "qkv_proj_bias",
                          "mlp_fc1_bias", "mlp_fc2_bias", "scale_attn_by_inverse_layer_idx"}) {
    if (auto e = expect_bool(config, key, false); !e.ok()) return e;
  }
  if (auto e = expect_string(config, "activation_function", "swiglu"); !e.ok()) return e;
  for (const char* key : {"rotary_emb_scale_base", "num_experts"}) {
    if (auto e = expect_absent(config, key); !e.ok()) return e;
  }
  const auto fraction = config["rotary_emb_fraction"].as_number_or(1);
  if (!fraction.ok()) return fraction.error();
  if (fraction.value() == 1) return {};
  return unsupported_error(config["rotary_emb_fraction"].where() + ": expected 1, found " +
                           config["rotary_emb_fraction"].describe());
}

Result<EncoderConfig> parse_config(JsonRef config) {
  constexpr ConfigSize kFirstSizes[] = {
      {"vocab_size", &EncoderConfig::vocab_size},     {"n_embd", &EncoderConfig::hidden_size},
      {"n_layer", &EncoderConfig::num_hidden_layers}, {"n_head", &EncoderConfig::num_attention_heads},
      {"n_inner", &EncoderConfig::intermediate_size}, {"n_positions", &EncoderConfig::max_position_embeddings},
  };
  const bool first = config["n_embd"].exists();
  EncoderConfig encoder;
  encoder.hidden_act = Activation::kSilu;
  if (auto e = refuse_switches(config); !e.ok()) return e.error();
  if (auto e = refuse_first_switches(config); !e.ok()) return e.error();
  if (auto e = read_sizes(config, first ? std::span<const ConfigSize>(kFirstSizes) : kUsualSizes, encoder); !e.ok())
    return e.error();
  if (auto e = read_epsilon(config, first ? "layer_norm_epsilon" : "layer_norm_eps", 1e-12, encoder); !e.ok()) return e.error();
  if (auto e = read_type_vocab_size(config, encoder); !e.ok()) return e.error();
  if (!first) {
    if (auto e = read_activation(config, "hidden_act", encoder); !e.ok()) return e.error();
    if (auto e = expect_int(config, "head_dim", encoder.head_dim()); !e.ok()) return e.error();
  }
  const auto theta = first ? config_number(config, "rotary_emb_base", 10000, 1e12)
                           : read_theta(config["rope_parameters"], config, "rope_theta", 1000);
  if (!theta.ok()) return theta.error();
  encoder.rotary.theta = theta.value();
  if (!config["rotary_scaling_factor"].is_null()) {
    // The dynamic NTK rule, which changes nothing up to the trained length and makes vectors depend on the batch beyond it.
    const auto trained = config["max_trained_positions"].as_int_or(2048);
    if (!trained.ok()) return trained.error();
    if (trained.value() < 1) return config["max_trained_positions"].mismatch("a whole number from 1 on");
    encoder.max_position_embeddings = std::min(encoder.max_position_embeddings, trained.value());
  }
  encoder.biases = {.qkv = false, .attention_output = false, .intermediate = false, .output = false, .norms = true};
  encoder.feed_forward = FeedForward::kGated;
  encoder.positions = Positions::kNone;
  encoder.distances = Distances::kRotary;
  encoder.pooler = false;
  return encoder;
}

// llama.cpp's names (gguf-py/gguf/tensor_mapping.py).
constexpr GgufName kGgufNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "emb_ln"},
    {"blk.{}.attn_qkv", "encoder.layers.{}.attn.Wqkv"},
    {"blk.{}.attn_output", "encoder.layers.{}.attn.out_proj"},
    {"blk.{}.attn_output_norm", "encoder.layers.{}.norm1"},
    {"blk.{}.ffn_up", "encoder.layers.{}.mlp.fc11"},
    {"blk.{}.ffn_gate", "encoder.layers.{}.mlp.fc12"},
    {"blk.{}.ffn_down", "encoder.layers.{}.mlp.fc2"},
    {"blk.{}.layer_output_norm", "encoder.layers.{}.norm2"},
};

constexpr const char* kIgnored[] = {"cls.*", "pooler.*", "classifier.*", "lm_head.*"};

}  // namespace

extern const Arch kNomicBert;
const Arch kNomicBert = {
    .model_type = "nomic_bert",
    .base_prefix = "bert.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .token_type_embeddings = "embeddings.token_type_embeddings",
              .embeddings_norm = "emb_ln",
              .query = "encoder.layers.{}.attn.Wqkv",
              .attention_output = "encoder.layers.{}.attn.out_proj",
              .attention_norm = "encoder.layers.{}.norm1",
              .intermediate = "encoder.layers.{}.mlp.fc12",
              .multiplied = "encoder.layers.{}.mlp.fc11",
              .output = "encoder.layers.{}.mlp.fc2",
              .output_norm = "encoder.layers.{}.norm2"},
    .ignored = kIgnored,
    .gguf_names = kGgufNames,
};

}  // namespace wattn
