// T5, arXiv 1910.10683, T5 1.1 and FLAN-T5, arXiv 2210.11416; transformers/models/t5/modeling_t5.py (v5.23.0). Differences from
// BART:
// - RMSNorm before each sublayer and after the last layer, no biases;
// - positions only as a bias by distance, one table per stack; unscaled scores; head_dim is independent of hidden_size;
// - feed-forward with ReLU, or gated with GELU; the input of a head tied to the word embeddings is scaled.
#include <cmath>

#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

// "relu", "gated-silu" and others; "gated-gelu" means the form with tanh.
void read_feed_forward(Fields& config, TransformerConfig& out) {
  constexpr const char* kKey = "feed_forward_proj";
  constexpr std::string_view kGated = "gated-";
  std::string_view word = config.string_or(kKey, "relu");
  if (!config.ok()) return;
  if (word.starts_with(kGated)) {
    out.feed_forward = FeedForward::kGated;
    word = word == "gated-gelu" ? "gelu_new" : word.substr(kGated.size());
  }
  out.hidden_act = find_activation(config, kKey, word);
}

void read_encoder(Fields& config, TransformerConfig& out) {
  reject_switches(config);
  out.head_dim = config.size("d_kv", kMostHeads);
  read_sizes(config,
             {.hidden_size = "d_model",
              .num_hidden_layers = "num_layers",
              .num_attention_heads = "num_heads",
              .intermediate_size = "d_ff",
              .max_position_embeddings = nullptr},
             out);
  out.max_position_embeddings = 4096;  // the buckets have no limit, but tables do
  out.t5.buckets = config.size_or("relative_attention_num_buckets", 1 << 12, 32);
  out.t5.max_distance = config.size_or("relative_attention_max_distance", 1 << 20, 128);
  if (out.t5.buckets % 4 != 0) config.mismatch("relative_attention_num_buckets", "a multiple of 4");
  if (out.t5.max_distance <= out.t5.buckets / 2) {
    config.mismatch("relative_attention_max_distance", "more than half of relative_attention_num_buckets");
  }
  read_epsilon(config, "layer_norm_epsilon", 1e-6, out);
  read_feed_forward(config, out);
  out.norm = NormKind::kRms;
  out.norm_placement = NormPlacement::kPre;
  out.embeddings_norm = false;
  out.query_pre_attn_scalar = 1;
  out.biases = {.qkv = false, .attention_output = false, .up = false, .down = false, .norms = false};
  out.positions = Positions::kNone;
  out.relative_positions = RelativePositions::kT5Buckets;
}

void parse_config(Fields& config, ModelConfig& out) {
  read_encoder(config, out.transformer);
  TransformerConfig& decoder = out.decoder.emplace(out.transformer);
  decoder.num_hidden_layers = config.size_or("num_decoder_layers", 1 << 12, decoder.num_hidden_layers);
  decoder.causal = decoder.cross_attention = true;
  decoder.lm_head = true;
  // transformers 5 always writes tie_word_embeddings but follows scale_decoder_outputs; without scaling, a file may have its own
  // head.
  const bool tied = config.boolean_or("tie_word_embeddings", true);
  decoder.tie_word_embeddings = config.boolean_or("scale_decoder_outputs", tied);
  if (decoder.tie_word_embeddings)
    decoder.lm_head_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(decoder.hidden_size)));
}

// mT5, arXiv 2010.11934: a separate head whose input is not scaled, whatever the config says.
void parse_mt5(Fields& config, ModelConfig& out) {
  parse_config(config, out);
  out.decoder->tie_word_embeddings = false;
  out.decoder->lm_head_scale = 1;
}

// umT5, arXiv 2304.09151: a table of distances for each layer. transformers scales the head's input, and the head may be separate.
void parse_umt5(Fields& config, ModelConfig& out) {
  parse_config(config, out);
  out.decoder->tie_word_embeddings = false;
  out.decoder->lm_head_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(out.decoder->hidden_size)));
  out.transformer.t5.each_layer = out.decoder->t5.each_layer = true;
}

// LongT5, arXiv 2112.07916 (longt5/modeling_longt5.py, v5.24.0): an encoder whose tokens attend to those near them. The form whose
// tokens also attend to sums of blocks is refused.
void parse_longt5(Fields& config, ModelConfig& out) {
  config.expect("encoder_attention_type", "local");
  parse_config(config, out);
  TransformerConfig& encoder = out.transformer;
  encoder.max_position_embeddings = 16384;
  encoder.local_window = config.size_or("local_radius", std::int64_t{1} << 30, 127);
  encoder.local_layers.assign(config.ok() ? static_cast<std::size_t>(encoder.num_hidden_layers) : 0, true);
}

constexpr const char* kIgnored[] = {
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",  // in the first checkpoints by mistake
    "dec.blk.0.cross_attn_rel_b.weight",                                       // the same in GGUF
    "lm_head.*",
    "classification_head.*",
    "classifier.*",
    "qa_outputs.*"};

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
// As llama.cpp: GELU when gated, else ReLU.
constexpr GgufSwitch kGgufSwitches[] = {{.tensor = "enc.blk.0.ffn_gate.weight", .present = R"("feed_forward_proj": "gated-gelu")"}};

constexpr Arch kT5Arch = {
    .model_type = "t5",
    .base_prefix = "transformer.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "shared",
              .query = "encoder.block.{}.layer.0.SelfAttention.q",
              .key = "encoder.block.{}.layer.0.SelfAttention.k",
              .value = "encoder.block.{}.layer.0.SelfAttention.v",
              .attention_output = "encoder.block.{}.layer.0.SelfAttention.o",
              .attention_norm = "encoder.block.{}.layer.0.layer_norm",
              .gate = "encoder.block.{}.layer.1.DenseReluDense.wi_0",
              .up = "encoder.block.{}.layer.1.DenseReluDense.wi_1",
              .plain_up = "encoder.block.{}.layer.1.DenseReluDense.wi",
              .down = "encoder.block.{}.layer.1.DenseReluDense.wo",
              .ffn_norm = "encoder.block.{}.layer.1.layer_norm",
              .final_norm = "encoder.final_layer_norm",
              .relative_attention_bias = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    .decoder_names = {.word_embeddings = "shared",
                      .query = "decoder.block.{}.layer.0.SelfAttention.q",
                      .key = "decoder.block.{}.layer.0.SelfAttention.k",
                      .value = "decoder.block.{}.layer.0.SelfAttention.v",
                      .attention_output = "decoder.block.{}.layer.0.SelfAttention.o",
                      .attention_norm = "decoder.block.{}.layer.0.layer_norm",
                      .gate = "decoder.block.{}.layer.2.DenseReluDense.wi_0",
                      .up = "decoder.block.{}.layer.2.DenseReluDense.wi_1",
                      .plain_up = "decoder.block.{}.layer.2.DenseReluDense.wi",
                      .down = "decoder.block.{}.layer.2.DenseReluDense.wo",
                      .ffn_norm = "decoder.block.{}.layer.2.layer_norm",
                      .final_norm = "decoder.final_layer_norm",
                      .relative_attention_bias = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias",
                      .cross_query = "decoder.block.{}.layer.1.EncDecAttention.q",
                      .cross_key = "decoder.block.{}.layer.1.EncDecAttention.k",
                      .cross_value = "decoder.block.{}.layer.1.EncDecAttention.v",
                      .cross_output = "decoder.block.{}.layer.1.EncDecAttention.o",
                      .cross_norm = "decoder.block.{}.layer.1.layer_norm"},
    .ignored = kIgnored,
    .heads = {.sequence = {.dense = "classification_head.dense",
                           .activation = Activation::kTanh,
                           .output = "classification_head.out_proj",
                           .input = HeadInput::kEos},
              .token = {.output = "classifier"}},
    .gguf = {.architecture = "t5", .config = R"("is_encoder_decoder": true)", .fields = kGgufFields, .switches = kGgufSwitches},
    .defaults =
        {R"("vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "eos_token_id": 1)"},
};

// llama.cpp has a separate name for the encoder alone. Its config.json is that of kT5.
constexpr Arch encoder_in_gguf() {
  Arch arch = kT5Arch;
  arch.gguf.architecture = "t5encoder";
  arch.only_key = kOnlyInGguf;
  return arch;
}

constexpr Arch mt5() {
  Arch arch = kT5Arch;
  arch.model_type = "mt5";
  arch.parse_config = parse_mt5;
  arch.gguf = {};
  arch.defaults[1] = R"("vocab_size": 250112, "d_ff": 1024, "num_layers": 8, "num_heads": 6, "feed_forward_proj": "gated-gelu", )"
                     R"("decoder_start_token_id": 0)";
  return arch;
}

constexpr Arch umt5() {
  Arch arch = mt5();
  arch.model_type = "umt5";
  arch.parse_config = parse_umt5;
  arch.names.relative_attention_bias = "encoder.block.{}.layer.0.SelfAttention.relative_attention_bias";
  arch.decoder_names.relative_attention_bias = "decoder.block.{}.layer.0.SelfAttention.relative_attention_bias";
  return arch;
}

constexpr Arch longt5() {
  Arch arch = kT5Arch;
  arch.model_type = "longt5";
  arch.parse_config = parse_longt5;
  arch.names.query = "encoder.block.{}.layer.0.LocalSelfAttention.q";
  arch.names.key = "encoder.block.{}.layer.0.LocalSelfAttention.k";
  arch.names.value = "encoder.block.{}.layer.0.LocalSelfAttention.v";
  arch.names.attention_output = "encoder.block.{}.layer.0.LocalSelfAttention.o";
  arch.names.relative_attention_bias = "encoder.block.0.layer.0.LocalSelfAttention.relative_attention_bias";
  arch.heads = {};
  arch.gguf = {};
  return arch;
}

}  // namespace

extern const Arch kT5 = kT5Arch;
extern const Arch kT5Encoder = encoder_in_gguf();
extern const Arch kMt5 = mt5();
extern const Arch kUmT5 = umt5();
extern const Arch kLongT5 = longt5();

}  // namespace wattn
