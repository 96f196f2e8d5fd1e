// jina-embeddings-v3, arXiv 2409.10173, and jina-reranker-v2, as published on the hub (xlm-roberta-flash-implementation of jinaai)
// and as transformers saves the first (transformers/models/jina_embeddings_v3, v5.23.0). Differences from XLM-RoBERTa:
// - other names, and one matrix for queries, keys and values;
// - jina-embeddings-v3: rotary positions. Its files on the hub have a LoRA for each of five tasks (engine/task_adapters.cpp), in
// the
//   words of torch.nn.utils.parametrize.
#include "models/bert.h"
#include "models/config_fields.h"
#include "models/roberta.h"

namespace wattn {
namespace {

void parse_rotary(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.rope.theta = read_theta(config, config["rope_parameters"], "rotary_emb_base", 20000);
  encoder.positions = Positions::kNone;
  encoder.relative_positions = RelativePositions::kRotary;
  encoder.pooler = true;
}

constexpr TransformerNames kNames = {.word_embeddings = "embeddings.word_embeddings",
                                     .position_embeddings = "embeddings.position_embeddings",
                                     .token_type_embeddings = "embeddings.token_type_embeddings",
                                     .embeddings_norm = "emb_ln",
                                     .query_key_value = "encoder.layers.{}.mixer.Wqkv",
                                     .attention_output = "encoder.layers.{}.mixer.out_proj",
                                     .attention_norm = "encoder.layers.{}.norm1",
                                     .up = "encoder.layers.{}.mlp.fc1",
                                     .down = "encoder.layers.{}.mlp.fc2",
                                     .ffn_norm = "encoder.layers.{}.norm2",
                                     .pooler = "pooler.dense"};

constexpr const char* kIgnored[] = {"lm_head.*",
                                    "classifier.*",
                                    "qa_outputs.*",
                                    "embeddings.position_ids",
                                    "embeddings.word_embeddings.parametrizations.*",
                                    "embeddings.token_type_embeddings.parametrizations.*",
                                    "encoder.layers.{}.mixer.Wqkv.parametrizations.*",
                                    "encoder.layers.{}.mixer.out_proj.parametrizations.*",
                                    "encoder.layers.{}.mlp.fc1.parametrizations.*",
                                    "encoder.layers.{}.mlp.fc2.parametrizations.*",
                                    "pooler.dense.parametrizations.*"};

constexpr Arch arch(const char* model_type, void (*parse_config)(Fields&, ModelConfig&)) {
  return {.model_type = model_type,
          .base_prefix = "roberta.",
          .parse_config = parse_config,
          .names = kNames,
          .ignored = kIgnored,
          .heads = kRobertaHeads,
          .task_loras = true};
}

constexpr Arch on_the_hub(void (*parse_config)(Fields&, ModelConfig&), const char* only_key, const char* only_value) {
  Arch out = arch("xlm-roberta", parse_config);
  out.only_key = only_key;
  out.only_value = only_value;
  return out;
}

}  // namespace

extern const Arch kJinaV3 = arch("jina_embeddings_v3", parse_rotary);
extern const Arch kXlmRobertaRotary = on_the_hub(parse_rotary, "position_embedding_type", "rotary");
extern const Arch kXlmRobertaFlash = on_the_hub(parse_roberta, "use_flash_attn", nullptr);

}  // namespace wattn
