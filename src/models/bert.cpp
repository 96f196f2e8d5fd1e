// BERT, arXiv 1810.04805; transformers/models/bert/modeling_bert.py (v5.23.0). Encoders are described by how they differ from it:
// learned absolute positions, token types, LayerNorm after each residual (post-norm), GELU by erf.
#include "models/bert.h"

#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  config.expect("position_embedding_type", "absolute");
  for (const char* key : {"embedding_size", "rope_scaling", "head_dim"}) config.absent(key);
  read_bert_like(config, out.transformer);
  read_type_vocab_size(config, out.transformer);  // none in llama.cpp's files of DistilBERT
  out.transformer.pooler = true;
}

constexpr const char* kIgnored[] = {
    "cls.*",  // the masked-language and next-sentence heads of pre-training
    "classifier.*",
    "qa_outputs.*",
};

}  // namespace

extern const Arch kBert = {
    .model_type = "bert",
    .base_prefix = "bert.",
    .parse_config = parse_config,
    .names = kBertNames,
    .ignored = kIgnored,
    .heads = kBertHeads,
    .gguf = {.architecture = "bert", .config = R"("hidden_act": "gelu")", .fields = kBertGgufFields},
    .defaults = {kBertDefaults},
};

}  // namespace wattn
