// BART, arXiv 1910.13461, and Marian (arXiv 1804.00344; the OPUS-MT models); transformers/models/bart/modeling_bart.py and
// marian/modeling_marian.py (v5.23.0). An encoder, and a decoder with cross attention, both with LayerNorm after each residual and
// biases. Both and the head share one table of word embeddings. Marian has sinusoidal positions and no norm after the embeddings.
// mBART, arXiv 2001.08210, and Pegasus, arXiv 1912.08777, are BART and Marian with norms before each sublayer and after the last.
// Blenderbot, arXiv 2004.13637, is mBART whose positions begin at the table's first row, without a norm of the embeddings.
// Blenderbot-small (blenderbot_small/modeling_blenderbot_small.py, v5.24.0) is BART with these positions, added in the decoder to
// embeddings that have been normalised.
// LED, arXiv 2004.05150 (led/modeling_led.py, v5.24.0), is BART whose encoder attends to windows, with a table of positions for
// each stack. As in transformers without a mask for it, no token is global. M2M-100, arXiv 2010.11125, and NLLB, arXiv 2207.04672
// (m2m_100/modeling_m2m_100.py), are Pegasus with fairseq's positions, which begin behind the number of the padding token.
#include <cmath>

#include "models/arch.h"
#include "models/config_fields.h"
#include "models/longformer.h"

namespace wattn {
namespace {

// The differences between these relatives.
struct Kind {
  bool sinusoidal = false;       // positions
  bool embeddings_norm = false;  // a norm after the embeddings
  bool pre_norm = false;         // norms before each sublayer and after the last layer
  bool fairseq = false;          // positions of fairseq, no bias of the head
  std::int64_t first_row = 2;    // of the table of positions
  bool windows = false;          // in the encoder; its positions are others than the decoder's
  bool norm_first = false;       // in the decoder, the embeddings' norm is before their positions; they are not scaled
};

void read_encoder(Fields& config, const Kind& kind, TransformerConfig& out) {
  config.expect("add_bias_logits", false);
  for (const char* key : {"normalize_before", "add_final_layer_norm"}) config.expect(key, kind.pre_norm);
  config.expect("normalize_embedding", kind.embeddings_norm);
  if (!kind.fairseq) config.expect("static_position_embeddings", kind.sinusoidal);
  config.expect("tie_word_embeddings", true);
  config.expect("share_encoder_decoder_embeddings", true);
  reject_switches(config);
  read_sizes(config,
             {.hidden_size = "d_model",
              .num_hidden_layers = "encoder_layers",
              .num_attention_heads = "encoder_attention_heads",
              .intermediate_size = "encoder_ffn_dim",
              .max_position_embeddings = kind.windows ? "max_encoder_position_embeddings" : "max_position_embeddings"},
             out);
  config.expect("decoder_vocab_size", out.vocab_size);
  out.hidden_act = read_activation(config, "activation_function");
  out.norm_eps = 1e-5f;
  if (config.boolean_or("scale_embedding", false)) {
    out.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(out.hidden_size)));
  }
  out.embeddings_norm = kind.embeddings_norm;
  if (kind.pre_norm) out.norm_placement = NormPlacement::kPre;
  out.positions = kind.sinusoidal ? Positions::kSinusoidal : Positions::kLearned;
  out.position_offset = kind.first_row;
  out.padding_word = config.take(config["pad_token_id"].as_int_or(-1));  // decoders of Marian and Pegasus begin with it
  if (!kind.fairseq) return;
  out.fairseq_positions = true;
  out.padding_idx = config.integer_or("pad_token_id", 1, 0, kMostPositions);
  out.positions = Positions::kAfterPadding;
  out.position_offset = 0;
}

void parse(Fields& config, const Kind& kind, ModelConfig& out) {
  read_encoder(config, kind, out.transformer);
  TransformerConfig& decoder = out.decoder.emplace(out.transformer);
  read_sizes(config,
             {.hidden_size = "d_model",
              .num_hidden_layers = "decoder_layers",
              .num_attention_heads = "decoder_attention_heads",
              .intermediate_size = "decoder_ffn_dim",
              .max_position_embeddings = kind.windows ? "max_decoder_position_embeddings" : "max_position_embeddings"},
             decoder);
  decoder.causal = decoder.cross_attention = true;
  decoder.norm_before_positions = kind.norm_first;
  if (kind.norm_first) decoder.embedding_scale = 1;
  decoder.lm_head = decoder.tie_word_embeddings = true;
  decoder.lm_head_bias = !kind.fairseq;
  if (kind.fairseq) decoder.positions = Positions::kLearned;  // it reads its tokens one by one
  if (kind.fairseq) decoder.position_offset = decoder.padding_idx + 1;
}
template <Kind kKind>
void parse_config(Fields& config, ModelConfig& out) {
  parse(config, kKind, out);
}

void parse_led(Fields& config, ModelConfig& out) {
  parse(config, {.embeddings_norm = true, .first_row = 0, .windows = true}, out);
  read_attention_window(config, out.transformer);
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
                                            .ffn_norm = "encoder.layers.{}.final_layer_norm",
                                            .final_norm = "encoder.layer_norm"};
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
                                            .final_norm = "decoder.layer_norm",
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

constexpr const char* kM2MIgnored[] = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "encoder.embed_positions.*",
                                       "decoder.embed_positions.*", "lm_head.*"};

constexpr const char* kLedIgnored[] = {"encoder.embed_tokens.weight",
                                       "decoder.embed_tokens.weight",
                                       "final_logits_bias",
                                       "lm_head.*",
                                       "classification_head.*",
                                       "qa_outputs.*",
                                       "encoder.layers.{}.self_attn.longformer_self_attn.query_global.*",
                                       "encoder.layers.{}.self_attn.longformer_self_attn.key_global.*",
                                       "encoder.layers.{}.self_attn.longformer_self_attn.value_global.*"};

constexpr TransformerNames led_names() {
  TransformerNames names = kEncoderNames;
  names.query = "encoder.layers.{}.self_attn.longformer_self_attn.query";
  names.key = "encoder.layers.{}.self_attn.longformer_self_attn.key";
  names.value = "encoder.layers.{}.self_attn.longformer_self_attn.value";
  names.attention_output = "encoder.layers.{}.self_attn.output";
  return names;
}

constexpr const char* kDefaults =
    R"("max_position_embeddings": 1024, "encoder_layers": 12, "encoder_ffn_dim": 4096, "encoder_attention_heads": 16, )"
    R"("decoder_layers": 12, "decoder_ffn_dim": 4096, "decoder_attention_heads": 16, "activation_function": "gelu", "d_model": 1024)";

constexpr HeadLayers kSequenceHead = {.dense = "classification_head.dense",
                                      .activation = Activation::kTanh,
                                      .output = "classification_head.out_proj",
                                      .input = HeadInput::kEos};

}  // namespace

extern const Arch kBart = {
    .model_type = "bart",
    .base_prefix = "model.",
    .parse_config = parse_config<{.embeddings_norm = true}>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kIgnored,
    .heads = {.sequence = kSequenceHead},
    .seq2seq_prefix = "model.",
    .defaults = {kDefaults, R"("vocab_size": 50265, "eos_token_id": 2, "decoder_start_token_id": 2)"},
};
extern const Arch kBlenderbot = {
    .model_type = "blenderbot",
    .base_prefix = "model.",
    .parse_config = parse_config<{.pre_norm = true, .first_row = 0}>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kIgnored,
    .seq2seq_prefix = "model.",
    .defaults = {kDefaults, R"("vocab_size": 8008, "max_position_embeddings": 128, "encoder_layers": 2, "encoder_ffn_dim": 10240, )"
                            R"("encoder_attention_heads": 32, "decoder_layers": 24, "decoder_ffn_dim": 10240, )"
                            R"("decoder_attention_heads": 32, "d_model": 2560, "eos_token_id": 2, "decoder_start_token_id": 1)"},
};
extern const Arch kBlenderbotSmall = {
    .model_type = "blenderbot-small",
    .base_prefix = "model.",
    .parse_config = parse_config<{.embeddings_norm = true, .first_row = 0, .norm_first = true}>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kIgnored,
    .seq2seq_prefix = "model.",
    .defaults = {kDefaults, R"("vocab_size": 50265, "max_position_embeddings": 512, "encoder_layers": 8, "encoder_ffn_dim": 2048, )"
                            R"("decoder_layers": 8, "decoder_ffn_dim": 2048, "d_model": 512, "eos_token_id": 2, )"
                            R"("decoder_start_token_id": 1)"},
};
extern const Arch kLed = {
    .model_type = "led",
    .base_prefix = "led.",
    .parse_config = parse_led,
    .names = led_names(),
    .decoder_names = kDecoderNames,
    .ignored = kLedIgnored,
    .seq2seq_prefix = "led.",
    .defaults = {kDefaults, R"("vocab_size": 50265, "max_encoder_position_embeddings": 16384, )"
                            R"("max_decoder_position_embeddings": 1024, "eos_token_id": 2, "decoder_start_token_id": 2)"},
};
extern const Arch kMarian = {
    .model_type = "marian",
    .base_prefix = "model.",
    .parse_config = parse_config<{.sinusoidal = true}>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kMarianIgnored,
    .seq2seq_prefix = "model.",
    .defaults = {kDefaults, R"("vocab_size": 58101, "eos_token_id": 0, "decoder_start_token_id": 58100)"},
};
extern const Arch kMBart = {
    .model_type = "mbart",
    .base_prefix = "model.",
    .parse_config = parse_config<{.embeddings_norm = true, .pre_norm = true}>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kIgnored,
    .heads = {.sequence = kSequenceHead},
    .seq2seq_prefix = "model.",
    .defaults = {kDefaults, R"("vocab_size": 50265, "eos_token_id": 2)"},
};
extern const Arch kPegasus = {
    .model_type = "pegasus",
    .base_prefix = "model.",
    .parse_config = parse_config<{.sinusoidal = true, .pre_norm = true}>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kMarianIgnored,
    .seq2seq_prefix = "model.",
    .defaults = {kDefaults, R"("vocab_size": 50265, "eos_token_id": 1, "decoder_start_token_id": 0)"},
};
extern const Arch kM2M100 = {
    .model_type = "m2m_100",
    .base_prefix = "model.",
    .parse_config = parse_config<{.pre_norm = true, .fairseq = true}>,
    .names = kEncoderNames,
    .decoder_names = kDecoderNames,
    .ignored = kM2MIgnored,
    .seq2seq_prefix = "model.",
    .defaults = {kDefaults, R"("vocab_size": 128112, "activation_function": "relu", "scale_embedding": true, "pad_token_id": 1, )"
                            R"("eos_token_id": 2, "decoder_start_token_id": 2)"},
};

}  // namespace wattn
