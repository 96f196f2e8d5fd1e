// BERT, arXiv 1810.04805; transformers/models/bert/modeling_bert.py (v5.23.0). The architecture the others differ from:
// learned absolute positions, token types, LayerNorm after each residual (post-norm), GELU by erf.
#include "models/bert.h"

#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  config.expect("position_embedding_type", "absolute");
  for (const char* key : {"embedding_size", "rope_scaling", "head_dim"}) config.absent(key);
  read_bert_like(config, out.transformer);
  out.transformer.type_vocab_size = config.size("type_vocab_size", 1 << 12);
  out.transformer.pooler = true;
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
    .names = kBertNames,
    .ignored = kIgnored,
    .heads = kBertHeads,
    .gguf = {.architecture = "bert", .config = R"("hidden_act": "gelu")", .fields = kBertGgufFields, .names = kGgufNames},
};

}  // namespace wattn
