// BERT, arXiv 1810.04805; transformers/models/bert/modeling_bert.py (v5.23.0). The architecture the others differ from:
// learned absolute positions, token types, LayerNorm after each residual (post-norm), GELU by erf.
#include "models/arch.h"

namespace wattn {
namespace {

Result<EncoderConfig> parse_config(JsonRef config) {
  if (auto e = expect_string(config, "position_embedding_type", "absolute"); !e.ok()) return e.error();
  for (const char* key : {"embedding_size", "rope_scaling", "head_dim"}) {
    if (auto e = expect_absent(config, key); !e.ok()) return e.error();
  }
  auto encoder = parse_usual_config(config);
  if (!encoder.ok()) return encoder;
  const auto types = config_size(config, "type_vocab_size", 1 << 12);
  if (!types.ok()) return types.error();
  encoder.value().type_vocab_size = types.value();
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
