// Megatron-BERT, arXiv 1909.08053; transformers/models/megatron_bert/modeling_megatron_bert.py (v5.24.0), and ERNIE (2.0 and its
// kin), arXiv 1907.12412, transformers/models/ernie/modeling_ernie.py.
// - Megatron-BERT: BERT with norms before attention and feed-forward and after the last layer, none of the embeddings;
// - ERNIE: BERT. Embeddings of tasks are not read.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  config.expect("position_embedding_type", "absolute");
  read_bert_like(config, out.transformer);
  read_type_vocab_size(config, out.transformer);
  out.transformer.pooler = true;
}

void parse_megatron(Fields& config, ModelConfig& out) {
  parse_config(config, out);
  out.transformer.norm_placement = NormPlacement::kPre;
  out.transformer.embeddings_norm = false;
}

void parse_ernie(Fields& config, ModelConfig& out) {
  config.expect("use_task_id", false);
  parse_config(config, out);
}

constexpr const char* kIgnored[] = {"cls.*", "classifier.*", "qa_outputs.*", "embeddings.task_type_embeddings.*"};

constexpr Arch arch(const char* model_type, void (*parse)(Fields&, ModelConfig&), const char* prefix, const char* defaults) {
  return {
      .model_type = model_type,
      .base_prefix = prefix,
      .parse_config = parse,
      .names = kBertNames,
      .ignored = kIgnored,
      .heads = kBertHeads,
      .defaults = {kBertDefaults, defaults},
  };
}

constexpr Arch megatron() {
  Arch out = arch("megatron-bert", parse_megatron, "bert.",
                  R"("vocab_size": 29056, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, )"
                  R"("intermediate_size": 4096)");
  out.names.embeddings_norm = nullptr;
  out.names.attention_norm = "encoder.layer.{}.attention.ln";
  out.names.ffn_norm = "encoder.layer.{}.ln";
  out.names.final_norm = "encoder.ln";
  return out;
}

}  // namespace

extern const Arch kMegatronBert = megatron();
extern const Arch kErnie = arch("ernie", parse_ernie, "ernie.", nullptr);

}  // namespace wattn
