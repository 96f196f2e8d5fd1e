// T5, arXiv 1910.10683, T5 1.1 and FLAN-T5, arXiv 2210.11416; transformers/models/t5/modeling_t5.py (v5.23.0). Against BART:
// - RMSNorm before each part and after the last layer, no biases;
// - no positions but a bias by distance, one table a stack for all layers; scores that are not scaled, heads of a width of their
// own;
// - feed-forward with ReLU, or gated with GELU; what the head sees is scaled where it is the words' own table.
#include <cmath>

#include "models/decoder_arch.h"

namespace wattn {
namespace {

// The buckets know no end, tables do.
constexpr std::int64_t kPositions = 4096;

struct Sizes {
  std::int64_t vocab = 0, hidden = 0, head_dim = 0, ffn = 0, layers = 0, decoder_layers = 0, heads = 0, buckets = 32,
               max_distance = 128;
  float epsilon = 0;
  Activation activation = Activation::kRelu;
  bool gated = false;
};

Result<void> read_feed_forward(JsonRef config, Sizes& out) {
  const auto name = config["feed_forward_proj"].as_string_or("relu");
  if (!name.ok()) return name.error();
  constexpr struct {
    std::string_view name;
    Activation activation;
    bool gated;
  } kKinds[] = {{"relu", Activation::kRelu, false},
                {"gelu", Activation::kGelu, false},
                {"gated-gelu", Activation::kGeluTanh, true},
                {"gated-relu", Activation::kRelu, true},
                {"gated-silu", Activation::kSilu, true}};
  for (const auto& kind : kKinds) {
    if (kind.name != name.value()) continue;
    out.activation = kind.activation;
    out.gated = kind.gated;
    return {};
  }
  return unsupported_error(config["feed_forward_proj"].where() + ": expected \"relu\", \"gelu\" or \"gated-gelu\", found " +
                           config["feed_forward_proj"].describe());
}

Result<Sizes> read_sizes(JsonRef config) {
  Sizes out;
  const struct {
    const char* key;
    std::int64_t* size;
    std::int64_t limit;
    std::int64_t fallback;  // 0: it must be there
  } rows[] = {{"vocab_size", &out.vocab, 1 << 24, 0},
              {"d_model", &out.hidden, 1 << 17, 0},
              {"d_kv", &out.head_dim, 1 << 12, 0},
              {"d_ff", &out.ffn, 1 << 20, 0},
              {"num_layers", &out.layers, 1 << 12, 0},
              {"num_decoder_layers", &out.decoder_layers, 1 << 12, -1},
              {"num_heads", &out.heads, 1 << 12, 0},
              {"relative_attention_num_buckets", &out.buckets, 1 << 12, 32},
              {"relative_attention_max_distance", &out.max_distance, 1 << 20, 128}};
  for (const auto& [key, size, limit, fallback] : rows) {
    if (fallback != 0 && config[key].is_null()) {
      *size = fallback < 0 ? out.layers : fallback;
      continue;
    }
    const auto value = config_size(config, key, limit);
    if (!value.ok()) return value.error();
    *size = value.value();
  }
  if (out.buckets % 4 != 0) return config["relative_attention_num_buckets"].mismatch("a multiple of 4");
  if (out.max_distance <= out.buckets / 2) {
    return config["relative_attention_max_distance"].mismatch("more than half of relative_attention_num_buckets");
  }
  if (auto e = expect_absent(config, "quantization_config"); !e.ok()) return e.error();
  const auto epsilon = config_number(config, "layer_norm_epsilon", 1e-6, 1);
  if (!epsilon.ok()) return epsilon.error();
  out.epsilon = static_cast<float>(epsilon.value());
  if (auto e = read_feed_forward(config, out); !e.ok()) return e.error();
  return out;
}

Result<DecoderConfig> parse_decoder(JsonRef config) {
  const auto sizes = read_sizes(config);
  if (!sizes.ok()) return sizes.error();
  const Sizes& from = sizes.value();
  const auto tied = config["tie_word_embeddings"].as_bool_or(true);
  if (!tied.ok()) return tied.error();
  DecoderConfig out;
  out.vocab_size = from.vocab;
  out.hidden_size = from.hidden;
  out.num_hidden_layers = from.decoder_layers;
  out.num_attention_heads = out.num_key_value_heads = from.heads;
  out.head_dim = from.head_dim;
  out.intermediate_size = from.ffn;
  out.max_position_embeddings = kPositions;
  out.norm_eps = from.epsilon;
  out.hidden_act = from.activation;
  out.gated = from.gated;
  out.positions = TokenPlaces::kT5Buckets;
  out.t5 = {.buckets = from.buckets, .max_distance = from.max_distance};
  out.scaled_scores = false;
  out.cross_attention = true;
  out.tie_word_embeddings = tied.value();
  if (tied.value()) out.head_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(from.hidden)));
  return out;
}

Result<EncoderConfig> parse_encoder(JsonRef config) {
  const auto sizes = read_sizes(config);
  if (!sizes.ok()) return sizes.error();
  const Sizes& from = sizes.value();
  EncoderConfig out;
  out.vocab_size = from.vocab;
  out.hidden_size = from.hidden;
  out.num_hidden_layers = from.layers;
  out.num_attention_heads = from.heads;
  out.head_size = from.head_dim;
  out.intermediate_size = from.ffn;
  out.max_position_embeddings = kPositions;
  out.layer_norm_eps = from.epsilon;
  out.hidden_act = from.activation;
  out.norm = NormKind::kRms;
  out.norms = NormPlacement::kPre;
  out.embeddings_norm = false;
  out.scaled_scores = false;
  out.feed_forward = from.gated ? FeedForward::kGated : FeedForward::kPlain;
  out.pooler = false;
  out.biases = {.qkv = false, .attention_output = false, .intermediate = false, .output = false, .norms = false};
  out.positions = Positions::kNone;
  out.distances = Distances::kT5Buckets;
  out.t5 = {.buckets = from.buckets, .max_distance = from.max_distance};
  return out;
}

constexpr const char* kIgnored[] = {
    "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};  // a slip of the first files

constexpr GgufName kGgufNames[] = {
    {"token_embd", "shared"},
    {"enc.blk.{}.attn_q", "encoder.block.{}.layer.0.SelfAttention.q"},
    {"enc.blk.{}.attn_k", "encoder.block.{}.layer.0.SelfAttention.k"},
    {"enc.blk.{}.attn_v", "encoder.block.{}.layer.0.SelfAttention.v"},
    {"enc.blk.{}.attn_o", "encoder.block.{}.layer.0.SelfAttention.o"},
    {"enc.blk.{}.attn_rel_b", "encoder.block.{}.layer.0.SelfAttention.relative_attention_bias"},
    {"enc.blk.{}.attn_norm", "encoder.block.{}.layer.0.layer_norm"},
    {"enc.blk.{}.ffn_gate", "encoder.block.{}.layer.1.DenseReluDense.wi_0"},
    {"enc.blk.{}.ffn_up", "encoder.block.{}.layer.1.DenseReluDense.wi_1"},
    {"enc.blk.{}.ffn_down", "encoder.block.{}.layer.1.DenseReluDense.wo"},
    {"enc.blk.{}.ffn_norm", "encoder.block.{}.layer.1.layer_norm"},
    {"enc.output_norm", "encoder.final_layer_norm"},
    {"dec.blk.{}.attn_q", "decoder.block.{}.layer.0.SelfAttention.q"},
    {"dec.blk.{}.attn_k", "decoder.block.{}.layer.0.SelfAttention.k"},
    {"dec.blk.{}.attn_v", "decoder.block.{}.layer.0.SelfAttention.v"},
    {"dec.blk.{}.attn_o", "decoder.block.{}.layer.0.SelfAttention.o"},
    {"dec.blk.{}.attn_rel_b", "decoder.block.{}.layer.0.SelfAttention.relative_attention_bias"},
    {"dec.blk.{}.attn_norm", "decoder.block.{}.layer.0.layer_norm"},
    {"dec.blk.{}.cross_attn_q", "decoder.block.{}.layer.1.EncDecAttention.q"},
    {"dec.blk.{}.cross_attn_k", "decoder.block.{}.layer.1.EncDecAttention.k"},
    {"dec.blk.{}.cross_attn_v", "decoder.block.{}.layer.1.EncDecAttention.v"},
    {"dec.blk.{}.cross_attn_o", "decoder.block.{}.layer.1.EncDecAttention.o"},
    {"dec.blk.{}.cross_attn_rel_b", "decoder.block.{}.layer.1.EncDecAttention.relative_attention_bias"},
    {"dec.blk.{}.cross_attn_norm", "decoder.block.{}.layer.1.layer_norm"},
    {"dec.blk.{}.ffn_gate", "decoder.block.{}.layer.2.DenseReluDense.wi_0"},
    {"dec.blk.{}.ffn_up", "decoder.block.{}.layer.2.DenseReluDense.wi_1"},
    {"dec.blk.{}.ffn_down", "decoder.block.{}.layer.2.DenseReluDense.wo"},
    {"dec.blk.{}.ffn_norm", "decoder.block.{}.layer.2.layer_norm"},
    {"dec.output_norm", "decoder.final_layer_norm"},
    {"output", "lm_head"},
};
constexpr GgufField kGgufFields[] = {
    {"d_model", "embedding_length"},
    {"d_kv", "attention.key_length"},
    {"d_ff", "feed_forward_length"},
    {"num_layers", "block_count"},
    {"num_decoder_layers", "decoder_block_count", false},
    {"num_heads", "attention.head_count"},
    {"relative_attention_num_buckets", "attention.relative_buckets_count"},
    {"layer_norm_epsilon", "attention.layer_norm_rms_epsilon"},
    {"decoder_start_token_id", "decoder_start_token_id", false},
};

}  // namespace

extern const DecoderArch kT5;
const DecoderArch kT5 = {
    .model_type = "t5",
    .base_prefix = "",
    .gguf_architecture = "t5",
    .parse_config = parse_decoder,
    .names = {.word_embeddings = "shared",
              .query = "decoder.block.{}.layer.0.SelfAttention.q",
              .key = "decoder.block.{}.layer.0.SelfAttention.k",
              .value = "decoder.block.{}.layer.0.SelfAttention.v",
              .attention_output = "decoder.block.{}.layer.0.SelfAttention.o",
              .attention_norm = "decoder.block.{}.layer.0.layer_norm",
              .gate = "decoder.block.{}.layer.2.DenseReluDense.wi_0",
              .up = "decoder.block.{}.layer.2.DenseReluDense.wi_1",
              .plain = "decoder.block.{}.layer.2.DenseReluDense.wi",
              .down = "decoder.block.{}.layer.2.DenseReluDense.wo",
              .feed_forward_norm = "decoder.block.{}.layer.2.layer_norm",
              .final_norm = "decoder.final_layer_norm",
              .distance_bias = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias",
              .cross_query = "decoder.block.{}.layer.1.EncDecAttention.q",
              .cross_key = "decoder.block.{}.layer.1.EncDecAttention.k",
              .cross_value = "decoder.block.{}.layer.1.EncDecAttention.v",
              .cross_output = "decoder.block.{}.layer.1.EncDecAttention.o",
              .cross_norm = "decoder.block.{}.layer.1.layer_norm"},
    .ignored = kIgnored,
    .gguf_names = kGgufNames,
    .gguf_fields = kGgufFields,
    .parse_encoder = parse_encoder,
    .encoder_names = {.word_embeddings = "shared",
                      .query = "encoder.block.{}.layer.0.SelfAttention.q",
                      .key = "encoder.block.{}.layer.0.SelfAttention.k",
                      .value = "encoder.block.{}.layer.0.SelfAttention.v",
                      .attention_output = "encoder.block.{}.layer.0.SelfAttention.o",
                      .attention_norm = "encoder.block.{}.layer.0.layer_norm",
                      .intermediate = "encoder.block.{}.layer.1.DenseReluDense.wi_0",
                      .multiplied = "encoder.block.{}.layer.1.DenseReluDense.wi_1",
                      .plain = "encoder.block.{}.layer.1.DenseReluDense.wi",
                      .output = "encoder.block.{}.layer.1.DenseReluDense.wo",
                      .output_norm = "encoder.block.{}.layer.1.layer_norm",
                      .final_norm = "encoder.final_layer_norm",
                      .distance_bias = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    .gguf_rest = R"("is_encoder_decoder": true)",
};

}  // namespace wattn
