// BART, arXiv 1910.13461, and Marian (arXiv 1804.00344; the OPUS-MT models); transformers/models/bart/modeling_bart.py and
// marian/modeling_marian.py (v5.23.0): an encoder and a decoder that looks at it, both with LayerNorm after each residual, biases,
// and one table of words for all three. Marian has sines as positions and no norm after the embeddings.
#include <cmath>

#include "models/decoder_arch.h"

namespace wattn {
namespace {

constexpr float kNormEps = 1e-5f;

// What both halves take from the config.
struct Common {
  std::int64_t vocab = 0, hidden = 0, positions = 0;
  Activation activation = Activation::kGelu;
  float embedding_scale = 1.0f;
};

Result<Common> read_common(JsonRef config, bool is_marian) {
  for (const char* key : {"normalize_before", "add_final_layer_norm", "add_bias_logits"}) {
    if (auto e = expect_bool(config, key, false); !e.ok()) return e.error();
  }
  if (auto e = expect_bool(config, "normalize_embedding", !is_marian); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "static_position_embeddings", is_marian); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "tie_word_embeddings", true); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "share_encoder_decoder_embeddings", true); !e.ok()) return e.error();
  for (const char* key : {"quantization_config", "pruned_heads"}) {
    if (auto e = expect_absent(config, key); !e.ok()) return e.error();
  }
  Common out;
  const struct {
    const char* key;
    std::int64_t* size;
    std::int64_t limit;
  } rows[] = {
      {"vocab_size", &out.vocab, 1 << 24}, {"d_model", &out.hidden, 1 << 17}, {"max_position_embeddings", &out.positions, 1 << 22}};
  for (const auto& [key, size, limit] : rows) {
    const auto value = config_size(config, key, limit);
    if (!value.ok()) return value.error();
    *size = value.value();
  }
  if (auto e = expect_int(config, "decoder_vocab_size", out.vocab); !e.ok()) return e.error();
  const auto activation = config_activation(config, "activation_function");
  if (!activation.ok()) return activation.error();
  out.activation = activation.value();
  const auto scaled = config["scale_embedding"].as_bool_or(false);
  if (!scaled.ok()) return scaled.error();
  if (scaled.value()) out.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(out.hidden)));
  return out;
}

// "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim" of one half.
struct Half {
  std::int64_t layers = 0, heads = 0, ffn = 0;
};

Result<Half> read_half(JsonRef config, const std::string& which, std::int64_t hidden) {
  const auto layers = config_size(config, which + "_layers", 1 << 12);
  if (!layers.ok()) return layers.error();
  const auto heads = config_size(config, which + "_attention_heads", 1 << 12);
  if (!heads.ok()) return heads.error();
  const auto ffn = config_size(config, which + "_ffn_dim", 1 << 20);
  if (!ffn.ok()) return ffn.error();
  if (hidden % heads.value() != 0) {
    return config[which + "_attention_heads"].mismatch("a divisor of d_model " + std::to_string(hidden));
  }
  return Half{layers.value(), heads.value(), ffn.value()};
}

template <bool kIsMarian>
Result<DecoderConfig> parse_decoder(JsonRef config) {
  const auto common = read_common(config, kIsMarian);
  if (!common.ok()) return common.error();
  const auto half = read_half(config, "decoder", common.value().hidden);
  if (!half.ok()) return half.error();
  DecoderConfig out;
  out.vocab_size = common.value().vocab;
  out.hidden_size = common.value().hidden;
  out.num_hidden_layers = half.value().layers;
  out.num_attention_heads = out.num_key_value_heads = half.value().heads;
  out.head_dim = out.hidden_size / out.num_attention_heads;
  out.intermediate_size = half.value().ffn;
  out.max_position_embeddings = common.value().positions;
  out.norm_eps = kNormEps;
  out.norm = NormKind::kLayer;
  out.hidden_act = common.value().activation;
  out.gated = false;
  out.biases = {.qkv = true, .attention_output = true, .feed_forward = true, .norms = true};
  out.positions = kIsMarian ? TokenPlaces::kSinusoidal : TokenPlaces::kLearned;
  out.position_offset = 2;
  out.norms_after = true;
  out.embeddings_norm = !kIsMarian;
  out.embedding_scale = common.value().embedding_scale;
  out.cross_attention = true;
  out.tie_word_embeddings = true;
  out.head_bias = true;
  return out;
}

template <bool kIsMarian>
Result<EncoderConfig> parse_encoder(JsonRef config) {
  const auto common = read_common(config, kIsMarian);
  if (!common.ok()) return common.error();
  const auto half = read_half(config, "encoder", common.value().hidden);
  if (!half.ok()) return half.error();
  EncoderConfig out;
  out.vocab_size = common.value().vocab;
  out.hidden_size = common.value().hidden;
  out.num_hidden_layers = half.value().layers;
  out.num_attention_heads = half.value().heads;
  out.intermediate_size = half.value().ffn;
  out.max_position_embeddings = common.value().positions;
  out.layer_norm_eps = kNormEps;
  out.hidden_act = common.value().activation;
  out.embeddings_norm = !kIsMarian;
  out.embedding_scale = common.value().embedding_scale;
  out.positions = kIsMarian ? Positions::kSinusoidal : Positions::kLearned;
  out.position_offset = 2;
  out.pooler = false;
  return out;
}

constexpr const char* kIgnored[] = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "encoder.version",
                                    "decoder.version"};
constexpr const char* kMarianIgnored[] = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                          "encoder.embed_positions.weight", "decoder.embed_positions.weight"};  // sines

constexpr DecoderNames kDecoderNames = {.word_embeddings = "shared",
                                        .position_embeddings = "decoder.embed_positions",
                                        .query = "decoder.layers.{}.self_attn.q_proj",
                                        .key = "decoder.layers.{}.self_attn.k_proj",
                                        .value = "decoder.layers.{}.self_attn.v_proj",
                                        .attention_output = "decoder.layers.{}.self_attn.out_proj",
                                        .attention_norm = "decoder.layers.{}.self_attn_layer_norm",
                                        .up = "decoder.layers.{}.fc1",
                                        .down = "decoder.layers.{}.fc2",
                                        .feed_forward_norm = "decoder.layers.{}.final_layer_norm",
                                        .head_bias = "final_logits_bias",
                                        .embeddings_norm = "decoder.layernorm_embedding",
                                        .cross_query = "decoder.layers.{}.encoder_attn.q_proj",
                                        .cross_key = "decoder.layers.{}.encoder_attn.k_proj",
                                        .cross_value = "decoder.layers.{}.encoder_attn.v_proj",
                                        .cross_output = "decoder.layers.{}.encoder_attn.out_proj",
                                        .cross_norm = "decoder.layers.{}.encoder_attn_layer_norm"};
constexpr EncoderNames kEncoderNames = {.word_embeddings = "shared",
                                        .position_embeddings = "encoder.embed_positions",
                                        .embeddings_norm = "encoder.layernorm_embedding",
                                        .query = "encoder.layers.{}.self_attn.q_proj",
                                        .key = "encoder.layers.{}.self_attn.k_proj",
                                        .value = "encoder.layers.{}.self_attn.v_proj",
                                        .attention_output = "encoder.layers.{}.self_attn.out_proj",
                                        .attention_norm = "encoder.layers.{}.self_attn_layer_norm",
                                        .intermediate = "encoder.layers.{}.fc1",
                                        .output = "encoder.layers.{}.fc2",
                                        .output_norm = "encoder.layers.{}.final_layer_norm"};

constexpr EncoderNames without_positions(EncoderNames names) {
  names.position_embeddings = nullptr;
  return names;
}

}  // namespace

extern const DecoderArch kBart;
extern const DecoderArch kMarian;
const DecoderArch kBart = {
    .model_type = "bart",
    .base_prefix = "model.",
    .gguf_architecture = nullptr,
    .parse_config = parse_decoder<false>,
    .names = kDecoderNames,
    .ignored = kIgnored,
    .parse_encoder = parse_encoder<false>,
    .encoder_names = kEncoderNames,
};
const DecoderArch kMarian = {
    .model_type = "marian",
    .base_prefix = "model.",
    .gguf_architecture = nullptr,
    .parse_config = parse_decoder<true>,
    .names = kDecoderNames,
    .ignored = kMarianIgnored,
    .parse_encoder = parse_encoder<true>,
    .encoder_names = without_positions(kEncoderNames),
};

}  // namespace wattn
