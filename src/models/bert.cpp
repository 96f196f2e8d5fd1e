// BERT, arXiv 1810.04805; transformers/models/bert/modeling_bert.py (v5.23.0). The architecture the others differ from:
// learned absolute positions, token types, LayerNorm after each residual (post-norm), GELU by erf.
#include "models/arch.h"

namespace wattn {
namespace {

Result<EncoderConfig> parse_config(JsonRef config) {
  // Switches of BertConfig that would change the arithmetic.
  if (auto e = expect_string(config, "position_embedding_type", "absolute"); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "is_decoder", false); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "add_cross_attention", false); !e.ok()) return e.error();
  for (const char* key : {"pruned_heads", "quantization_config", "embedding_size", "rope_scaling", "head_dim"}) {
    if (auto e = expect_absent(config, key); !e.ok()) return e.error();
  }

  EncoderConfig encoder;
  // The limits are far above any model and keep every product of sizes below 2^60.
  const struct {
    const char* key;
    std::int64_t* field;
    std::int64_t limit;
  } sizes[] = {
      {"vocab_size", &encoder.vocab_size, 1 << 24},
      {"hidden_size", &encoder.hidden_size, 1 << 17},
      {"num_hidden_layers", &encoder.num_hidden_layers, 1 << 12},
      {"num_attention_heads", &encoder.num_attention_heads, 1 << 12},
      {"intermediate_size", &encoder.intermediate_size, 1 << 20},
      {"max_position_embeddings", &encoder.max_position_embeddings, 1 << 22},
      {"type_vocab_size", &encoder.type_vocab_size, 1 << 12},
  };
  for (const auto& [key, field, limit] : sizes) {
    const auto size = config_size(config, key, limit);
    if (!size.ok()) return size.error();
    *field = size.value();
  }
  if (encoder.hidden_size % encoder.num_attention_heads != 0) {
    return config["num_attention_heads"].mismatch("a divisor of hidden_size " + std::to_string(encoder.hidden_size));
  }
  const auto epsilon = config["layer_norm_eps"].as_number_or(1e-12);
  if (!epsilon.ok()) return epsilon.error();
  if (!(epsilon.value() >= 0 && epsilon.value() < 1)) return config["layer_norm_eps"].mismatch("a number from 0 to 1");
  encoder.layer_norm_eps = static_cast<float>(epsilon.value());
  const auto activation = config_activation(config, "hidden_act");
  if (!activation.ok()) return activation.error();
  encoder.hidden_act = activation.value();
  return encoder;
}

constexpr const char* kIgnored[] = {
    "embeddings.position_ids",  // a buffer: 0, 1, 2, ...
    "cls.*",                    // the masked-language and next-sentence heads of pre-training
    "classifier.*",
    "qa_outputs.*",
};

// llama.cpp's names (gguf-py/gguf/tensor_mapping.py).
constexpr GgufName kGgufNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"position_embd", "embeddings.position_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"blk.{}.attn_q", "encoder.layer.{}.attention.self.query"},
    {"blk.{}.attn_k", "encoder.layer.{}.attention.self.key"},
    {"blk.{}.attn_v", "encoder.layer.{}.attention.self.value"},
    {"blk.{}.attn_output", "encoder.layer.{}.attention.output.dense"},
    {"blk.{}.attn_output_norm", "encoder.layer.{}.attention.output.LayerNorm"},
    {"blk.{}.ffn_up", "encoder.layer.{}.intermediate.dense"},
    {"blk.{}.ffn_down", "encoder.layer.{}.output.dense"},
    {"blk.{}.layer_output_norm", "encoder.layer.{}.output.LayerNorm"},
    {"cls", "pooler.dense"},
    {"cls.output", "classifier"},
};

}  // namespace

extern const Arch kBert;
const Arch kBert = {
    .model_type = "bert",
    .base_prefix = "bert.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings.word_embeddings",
              .position_embeddings = "embeddings.position_embeddings",
              .token_type_embeddings = "embeddings.token_type_embeddings",
              .embeddings_norm = "embeddings.LayerNorm",
              .query = "encoder.layer.{}.attention.self.query",
              .key = "encoder.layer.{}.attention.self.key",
              .value = "encoder.layer.{}.attention.self.value",
              .attention_output = "encoder.layer.{}.attention.output.dense",
              .attention_norm = "encoder.layer.{}.attention.output.LayerNorm",
              .intermediate = "encoder.layer.{}.intermediate.dense",
              .output = "encoder.layer.{}.output.dense",
              .output_norm = "encoder.layer.{}.output.LayerNorm",
              .pooler = "pooler.dense"},
    .ignored = kIgnored,
    .gguf_names = kGgufNames,
};

}  // namespace wattn
