// DistilBERT, arXiv 1910.01108; transformers/models/distilbert/modeling_distilbert.py (v5.23.0). Differences from BERT:
// - no token types, no pooler;
// - other names in config and checkpoint, and the norms' epsilon is 1e-12 whatever the config says.
#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  reject_decoder(config);
  read_sizes(
      config,
      {.hidden_size = "dim", .num_hidden_layers = "n_layers", .num_attention_heads = "n_heads", .intermediate_size = "hidden_dim"},
      out.transformer);
  out.transformer.hidden_act = read_activation(config, "activation");
  out.transformer.norm_eps = 1e-12f;
}

constexpr const char* kIgnored[] = {
    "vocab_transform.*", "vocab_layer_norm.*", "vocab_projector.*", "pre_classifier.*", "classifier.*", "qa_outputs.*",
};

}  // namespace

extern const Arch kDistilBert = {
    .model_type = "distilbert",
    .base_prefix = "distilbert.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .position_embeddings = "embeddings.position_embeddings",
              .embeddings_norm = "embeddings.LayerNorm",
              .query = "transformer.layer.{}.attention.q_lin",
              .key = "transformer.layer.{}.attention.k_lin",
              .value = "transformer.layer.{}.attention.v_lin",
              .attention_output = "transformer.layer.{}.attention.out_lin",
              .attention_norm = "transformer.layer.{}.sa_layer_norm",
              .up = "transformer.layer.{}.ffn.lin1",
              .down = "transformer.layer.{}.ffn.lin2",
              .ffn_norm = "transformer.layer.{}.output_layer_norm"},
    .ignored = kIgnored,
    .heads = {.sequence = {.dense = "pre_classifier", .activation = Activation::kRelu, .output = "classifier"},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"},
              .masked_lm = {.dense = "vocab_transform",
                            .activation_key = "activation",
                            .norm = "vocab_layer_norm",
                            .output = "vocab_projector.bias",
                            .tied = true}},
    .defaults = {R"("vocab_size": 30522, "max_position_embeddings": 512, "n_layers": 6, "n_heads": 12, "dim": 768, )"
                 R"("hidden_dim": 3072, "activation": "gelu")"},
};

}  // namespace wattn
