// BART, arXiv 1910.13461, and Marian (arXiv 1804.00344; the OPUS-MT models); transformers/models/bart/modeling_bart.py and
// marian/modeling_marian.py (v5.23.0): an encoder, and a decoder with cross attention, both with LayerNorm after each residual and
// biases; both and the head share one table of word embeddings. Marian has sinusoidal positions and no norm after the embeddings.
#include <cmath>

#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void read_encoder(Fields& config, bool is_marian, TransformerConfig& out) {
  for (const char* key : {"normalize_before", "add_final_layer_norm", "add_bias_logits"}) config.expect(key, false);
  config.expect("normalize_embedding", !is_marian);
  config.expect("static_position_embeddings", is_marian);
  config.expect("tie_word_embeddings", true);
  config.expect("share_encoder_decoder_embeddings", true);
  reject_switches(config);
  read_sizes(config,
             {.hidden_size = "d_model",
              .num_hidden_layers = "encoder_layers",
              .num_attention_heads = "encoder_attention_heads",
              .intermediate_size = "encoder_ffn_dim"},
             out);
  config.expect("decoder_vocab_size", out.vocab_size);
  out.hidden_act = read_activation(config, "activation_function");
  out.norm_eps = 1e-5f;
  if (config.boolean_or("scale_embedding", false)) {
    out.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(out.hidden_size)));
  }
  out.embeddings_norm = !is_marian;
  out.positions = is_marian ? Positions::kSinusoidal : Positions::kLearned;
  out.position_offset = 2;
}

template <bool kIsMarian>
void parse_config(Fields& config, ModelConfig& out) {
  read_encoder(config, kIsMarian, out.transformer);
  TransformerConfig& decoder = out.decoder.emplace(out.transformer);
  read_sizes(config,
             {.hidden_size = "d_model",
              .num_hidden_layers = "decoder_layers",
              .num_attention_heads = "decoder_attention_heads",
              .intermediate_size = "decoder_ffn_dim"},
             decoder);
  decoder.causal = decoder.cross_attention = true;
  decoder.lm_head = decoder.tie_word_embeddings = decoder.lm_head_bias = true;
}

constexpr TransformerNames kEncoderNames = {.word_embeddings = "shared",
                                            .position_embeddings = "encoder.embed_positions",
                                            .embeddings_norm = "encoder.layernorm_embedding",
                                            .query = "encoder.layers.{}.self_attn.q_proj",
                                            .key = "encoder.layers.{}.self_attn.k_proj",
                                            .value = "encoder.layers.{}.self_attn.v_proj",
                                            .attention_output = "encoder.layers.{}.self_attn.out_proj",
                                            .attention_norm = "encoder.layers.{}.self_attn_layer_norm",
                                            .up = "encoder.layers.{}.fc1",
                                            .down = "encoder.layers.{}.fc2",
                                            .ffn_norm = "encoder.layers.{}.final_layer_norm"};
constexpr TransformerNames kDecoderNames = {.word_embeddings = "shared",
                                            .position_embeddings = "decoder.embed_positions",
                                            .embeddings_norm = "decoder.layernorm_embedding",
                                            .query = "decoder.layers.{}.self_attn.q_proj",
                                            .key = "decoder.layers.{}.self_attn.k_proj",
                                            .value = "decoder.layers.{}.self_attn.v_proj",
                                            .attention_output = "decoder.layers.{}.self_attn.out_proj",
                                            .attention_norm = "decoder.layers.{}.self_attn_layer_norm",
                                            .up = "decoder.layers.{}.fc1",
                                            .down = "decoder.layers.{}.fc2",
                                            .ffn_norm = "decoder.layers.{}.final_layer_norm",
                                            .cross_query = "decoder.layers.{}.encoder_attn.q_proj",
                                            .cross_key = "decoder.layers.{}.encoder_attn.k_proj",
                                            .cross_value = "decoder.layers.{}.encoder_attn.v_proj",
                                            .cross_output = "decoder.layers.{}.encoder_attn.out_proj",
                                            .cross_norm = "decoder.layers.{}.encoder_attn_layer_norm",
                                            .lm_head_bias = "final_logits_bias"};

constexpr const char* kIgnored[] = {"encoder.embed_tokens.weight",
                                    "decoder.embed_tokens.weight",
                                    "encoder.version",
                                    "decoder.version",
                                    "final_logits_bias",
                                    "lm_head.*",
                                    "classification_head.*",
                                    "qa_outputs.*"};
constexpr const char* kMarianIgnored[] = {"encoder.embed_tokens.weight",    "decoder.embed_tokens.weight",
                                          "encoder.embed_positions.weight",  // sinusoidal
                                          "decoder.embed_positions.weight", "final_logits_bias",           "lm_head.*"};

}  // namespace

extern const Arch kBart = {
    .model_type = "bart",
    .base_prefix = "model.",
    .parse_config = parse_config<false>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kIgnored,
    .heads = {.sequence = {.dense = "classification_head.dense",
                           .activation = Activation::kTanh,
                           .output = "classification_head.out_proj",
                           .input = HeadInput::kEos}},
    .seq2seq_prefix = "model.",
};
extern const Arch kMarian = {
    .model_type = "marian",
    .base_prefix = "model.",
    .parse_config = parse_config<true>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kMarianIgnored,
    .seq2seq_prefix = "model.",
};

}  // namespace wattn
