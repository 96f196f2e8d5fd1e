// ModernBERT as a decoder (Ettin, arXiv 2507.11412); transformers/models/modernbert_decoder/modeling_modernbert_decoder.py
// (v5.24.0). Differences from ModernBERT: causal attention; separate matrices for query, key and value; a dense layer and a norm
// before the head over the vocabulary.
#include "models/modernbert.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  reject_switches(config);
  parse_modernbert(config, decoder);
  config.expect("classifier_bias", false);
  decoder.causal = config.boolean_or("is_causal", true);
  if (decoder.causal) --decoder.local_window;  // the token itself counts
  decoder.lm_head = true;
  decoder.lm_head_bias = config.boolean_or("decoder_bias", true);
  decoder.lm_head_dense.present = true;
  if (config.has("classifier_activation")) decoder.lm_head_dense.activation = read_activation(config, "classifier_activation");
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
}

constexpr const char* kIgnored[] = {"lm_head.*", "decoder.*", "head.*", "classifier.*", "drop.*"};

constexpr Heads heads() {
  HeadLayers classifier = kModernBertClassifier;
  classifier.output_bias = false;
  classifier.input = HeadInput::kLast;
  return {.sequence = classifier};
}

}  // namespace

extern const Arch kModernBertDecoder = {
    .model_type = "modernbert-decoder",
    .base_prefix = "model.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.tok_embeddings",
              .embeddings_norm = "embeddings.norm",
              .query = "layers.{}.attn.q_proj",
              .key = "layers.{}.attn.k_proj",
              .value = "layers.{}.attn.v_proj",
              .attention_output = "layers.{}.attn.Wo",
              .attention_norm = "layers.{}.attn_norm",
              .gate_up = "layers.{}.mlp.Wi",
              .down = "layers.{}.mlp.Wo",
              .ffn_norm = "layers.{}.mlp_norm",
              .final_norm = "final_norm",
              .lm_head = "decoder",
              .lm_head_dense = "lm_head.dense",
              .lm_head_norm = "lm_head.norm"},
    .ignored = kIgnored,
    .heads = heads(),
    .defaults = {kModernBertDefaults},
};

}  // namespace wattn
