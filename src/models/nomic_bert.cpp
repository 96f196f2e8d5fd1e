// NomicBERT of nomic-embed-text, arXiv 2402.01613; modeling_hf_nomic_bert.py of nomic-ai/nomic-bert-2048, and
// transformers/models/nomic_bert/modeling_nomic_bert.py (v5.23.0), whose config uses BERT's keys. Differences from BERT:
// - rotary positions, gated feed-forward, no biases except in norms, no pooler.
#include <algorithm>

#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

// Switches of the original config, which uses GPT-2's keys, that would change the arithmetic.
void reject_original_switches(Fields& config) {
  for (const char* key : {"prenorm", "use_rms_norm", "causal", "parallel_block", "rotary_emb_interleaved", "qkv_proj_bias",
                          "mlp_fc1_bias", "mlp_fc2_bias", "scale_attn_by_inverse_layer_idx"}) {
    config.expect(key, false);
  }
  config.expect("activation_function", "swiglu");
  for (const char* key : {"rotary_emb_scale_base", "num_experts", "rope_scaling"}) config.absent(key);
  config.expect("rotary_emb_fraction", 1);
}

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  const bool original = config["n_embd"].exists();
  reject_decoder(config);
  reject_original_switches(config);
  constexpr SizeKeys kOriginalKeys = {.hidden_size = "n_embd",
                                      .num_hidden_layers = "n_layer",
                                      .num_attention_heads = "n_head",
                                      .intermediate_size = "n_inner",
                                      .max_position_embeddings = "n_positions"};
  read_sizes(config, original ? kOriginalKeys : SizeKeys{}, encoder);
  read_epsilon(config, original ? "layer_norm_epsilon" : "layer_norm_eps", 1e-12, encoder);
  read_type_vocab_size(config, encoder);
  encoder.hidden_act = original ? Activation::kSilu : read_activation(config, "hidden_act");
  if (!config.ok()) return;
  if (!original) config.expect("head_dim", encoder.head_size());
  encoder.rope.theta = original ? config.number_or("rotary_emb_base", 10000, kMostTheta)
                                : read_theta(config, config["rope_parameters"], "rope_theta", 1000);
  if (config.has("rotary_scaling_factor")) {
    // Dynamic NTK scaling: no effect up to the trained length; beyond it, vectors would depend on the batch.
    const std::int64_t trained = config.size_or("max_trained_positions", kMostPositions, 2048);
    encoder.max_position_embeddings = std::min(encoder.max_position_embeddings, trained);
  }
  encoder.biases = {.qkv = false, .attention_output = false, .up = false, .down = false, .norms = true};
  encoder.feed_forward = FeedForward::kGated;
  encoder.positions = Positions::kNone;
  encoder.relative_positions = RelativePositions::kRotary;
}

constexpr const char* kIgnored[] = {"cls.*", "pooler.*", "classifier.*", "lm_head.*"};

constexpr Heads heads() {
  Heads heads = kBertHeads;
  heads.answer = {};
  heads.masked_lm.activation = Activation::kSilu;
  heads.masked_lm.norm = "cls.predictions.transform.layer_norm";
  return heads;
}

}  // namespace

extern const Arch kNomicBert = {
    .model_type = "nomic_bert",
    .base_prefix = "bert.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .token_type_embeddings = "embeddings.token_type_embeddings",
              .embeddings_norm = "emb_ln",
              .query_key_value = "encoder.layers.{}.attn.Wqkv",
              .attention_output = "encoder.layers.{}.attn.out_proj",
              .attention_norm = "encoder.layers.{}.norm1",
              .gate = "encoder.layers.{}.mlp.fc12",
              .up = "encoder.layers.{}.mlp.fc11",
              .down = "encoder.layers.{}.mlp.fc2",
              .ffn_norm = "encoder.layers.{}.norm2"},
    .ignored = kIgnored,
    .heads = heads(),
    .gguf = {.architecture = "nomic-bert", .config = R"("hidden_act": "silu")", .fields = kBertGgufFields},
    .defaults = {kBertDefaults, R"("vocab_size": 30528, "hidden_act": "silu", "max_position_embeddings": 2048)"},
};

}  // namespace wattn
