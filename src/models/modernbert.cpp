// ModernBERT, arXiv 2412.13663; transformers/models/modernbert/modeling_modernbert.py (v5.23.0). Differences from BERT:
// - norms before attention and feed-forward and after the last layer, none before the first attention; usually no biases;
// - rotary positions; most layers attend to a window only, with a rotary base of their own;
// - gated feed-forward; no token types, no pooler.
#include "models/modernbert.h"

namespace wattn {

void parse_modernbert(Fields& config, TransformerConfig& encoder) {
  config.absent("rope_scaling");
  read_sizes(config, {}, encoder);
  read_epsilon(config, "norm_eps", 1e-5, encoder);
  encoder.hidden_act = read_activation(config, "hidden_activation");
  const std::int64_t every = config.has("layer_types") ? 1 : config.size_or("global_attn_every_n_layers", 1 << 12, 3);
  read_local_layers(config, [&](std::int64_t layer) { return layer % every != 0; }, encoder);
  encoder.local_window = config.size_or("local_attention", kMostPositions, 128) / 2;
  const JsonRef rope = config["rope_parameters"];
  encoder.rope.theta = read_theta(config, rope["full_attention"], "global_rope_theta", 160000);
  encoder.local_rope_theta = read_theta(config, rope["sliding_attention"], "local_rope_theta", 10000);
  encoder.biases.qkv = encoder.biases.attention_output = config.boolean_or("attention_bias", false);
  encoder.biases.up = encoder.biases.down = config.boolean_or("mlp_bias", false);
  encoder.biases.norms = config.boolean_or("norm_bias", false);
  encoder.norm_placement = NormPlacement::kPre;
  encoder.first_attention_norm = false;
  encoder.feed_forward = FeedForward::kGated;
  encoder.positions = Positions::kNone;
  encoder.relative_positions = RelativePositions::kRotary;
}

namespace {

void parse_config(Fields& config, ModelConfig& out) {
  reject_decoder(config);
  parse_modernbert(config, out.transformer);
}

constexpr GgufField kGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"norm_eps", "attention.layer_norm_epsilon"},
    {"local_attention", "attention.sliding_window"},
    {"global_attn_every_n_layers", "attention.sliding_window_pattern", false},
    {"global_rope_theta", "rope.freq_base", false},
    {"local_rope_theta", "rope.freq_base_swa", false},
    {"hidden_activation", "hidden_activation", false, R"("gelu")"},
};

constexpr const char* kIgnored[] = {"head.*", "decoder.*", "classifier.*", "drop.*"};

constexpr Heads heads() {
  Heads heads = {.sequence = kModernBertClassifier,
                 .token = kModernBertClassifier,
                 .answer = kModernBertClassifier,
                 .masked_lm = kModernBertClassifier};
  heads.sequence.pooling_key = "classifier_pooling";
  heads.masked_lm.output = "decoder.bias";
  heads.masked_lm.tied = true;
  return heads;
}

}  // namespace

extern const Arch kModernBert = {
    .model_type = "modernbert",
    .base_prefix = "model.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.tok_embeddings",
              .embeddings_norm = "embeddings.norm",
              .query_key_value = "layers.{}.attn.Wqkv",
              .attention_output = "layers.{}.attn.Wo",
              .attention_norm = "layers.{}.attn_norm",
              .gate_up = "layers.{}.mlp.Wi",
              .down = "layers.{}.mlp.Wo",
              .ffn_norm = "layers.{}.mlp_norm",
              .final_norm = "final_norm"},
    .ignored = kIgnored,
    .heads = heads(),
    .gguf = {.architecture = "modern-bert", .fields = kGgufFields},
    .defaults = {kModernBertDefaults},
};

}  // namespace wattn
