// MPT (MosaicML); transformers/models/mpt/modeling_mpt.py (v5.24.0). Differences from BLOOM: no biases, not even in norms; query,
// key and value are stored one after the other; no norm of the embeddings.
#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  reject_foreign(config);
  config.expect("no_bias", true);
  config.absent("logit_scale");
  config.expect("expansion_ratio", 4);  // transformers has no other
  read_sizes(config,
             {.hidden_size = "d_model",
              .num_hidden_layers = "n_layers",
              .num_attention_heads = "n_heads",
              .intermediate_size = nullptr,
              .max_position_embeddings = "max_seq_len"},
             decoder);
  Fields attention(config["attn_config"]);
  if (config.has("attn_config")) {
    attention.expect("alibi", true);
    attention.expect("alibi_bias_max", 8);
    attention.expect("attn_type", "multihead_attention");
    for (const char* key : {"prefix_lm", "qk_ln"}) attention.expect(key, false);
    for (const char* key : {"clip_qkv", "softmax_scale"}) attention.absent(key);
    config.fail(attention.error());
  }
  // With others, its slopes are not those of BLOOM.
  if (config.ok() && (decoder.num_attention_heads & (decoder.num_attention_heads - 1)) != 0) {
    config.unsupported("n_heads", "a power of two");
  }
  decoder.intermediate_size = 4 * decoder.hidden_size;
  read_epsilon(config, "layer_norm_epsilon", 1e-5, decoder);
  decoder.causal = config.boolean_or("is_causal", true);
  decoder.norm_placement = NormPlacement::kPre;
  decoder.embeddings_norm = false;
  decoder.biases = {.qkv = false, .attention_output = false, .up = false, .down = false, .norms = false};
  decoder.positions = Positions::kNone;
  decoder.relative_positions = RelativePositions::kAlibi;
  decoder.lm_head = true;
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
}

constexpr const char* kIgnored[] = {"lm_head.*", "score.*", "classifier.*", "qa_outputs.*"};

}  // namespace

extern const Arch kMpt = {
    .model_type = "mpt",
    .base_prefix = "transformer.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "wte",
              .query_key_value = "blocks.{}.attn.Wqkv",
              .attention_output = "blocks.{}.attn.out_proj",
              .attention_norm = "blocks.{}.norm_1",
              .up = "blocks.{}.ffn.up_proj",
              .down = "blocks.{}.ffn.down_proj",
              .ffn_norm = "blocks.{}.norm_2",
              .final_norm = "norm_f"},
    .ignored = kIgnored,
    .heads = {.sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"}},
    .defaults = {R"("vocab_size": 50368, "d_model": 2048, "n_layers": 24, "n_heads": 16, "max_seq_len": 2048)"},
};

}  // namespace wattn
