// OPT, arXiv 2205.01068; transformers/models/opt/modeling_opt.py (v5.23.0). Differences from GPT-2:
// - separate matrices for query, key and value, stored as [out, in]; positions begin at row 2; ReLU.
#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  reject_foreign(config);
  for (const char* key : {"do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"}) config.expect(key, true);
  config.expect("_remove_final_layer_norm", false);
  read_sizes(config, {.intermediate_size = "ffn_dim"}, decoder);
  config.expect("word_embed_proj_dim", decoder.hidden_size);
  decoder.hidden_act = read_activation(config, "activation_function");
  decoder.norm_eps = 1e-5f;
  decoder.causal = config.boolean_or("is_causal", true);
  decoder.norm_placement = NormPlacement::kPre;
  decoder.embeddings_norm = false;
  decoder.position_offset = 2;
  decoder.lm_head = true;
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
}

constexpr const char* kIgnored[] = {"lm_head.*", "score.*", "qa_outputs.*"};

}  // namespace

extern const Arch kOpt = {
    .model_type = "opt",
    .base_prefix = "model.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "decoder.embed_tokens",
              .position_embeddings = "decoder.embed_positions",
              .query = "decoder.layers.{}.self_attn.q_proj",
              .key = "decoder.layers.{}.self_attn.k_proj",
              .value = "decoder.layers.{}.self_attn.v_proj",
              .attention_output = "decoder.layers.{}.self_attn.out_proj",
              .attention_norm = "decoder.layers.{}.self_attn_layer_norm",
              .up = "decoder.layers.{}.fc1",
              .down = "decoder.layers.{}.fc2",
              .ffn_norm = "decoder.layers.{}.final_layer_norm",
              .final_norm = "decoder.final_layer_norm"},
    .ignored = kIgnored,
    .heads = {.sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast}, .answer = {.output = "qa_outputs"}},
    .defaults = {R"("vocab_size": 50272, "hidden_size": 768, "num_hidden_layers": 12, "ffn_dim": 3072, "num_attention_heads": 12, )"
                 R"("max_position_embeddings": 2048, "activation_function": "relu")"},
};

}  // namespace wattn
