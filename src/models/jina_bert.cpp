// Jina BERT of jina-embeddings-v2, arXiv 2310.19923; modeling_bert.py of jinaai/jina-bert-implementation. Its configs say
// model_type "bert" and position_embedding_type "alibi". Against BERT:
// - ALiBi in both directions instead of positions;
// - gated feed-forward without bias on the way in.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  constexpr std::pair<std::string_view, Activation> kTypes[] = {{"geglu", Activation::kGelu}, {"reglu", Activation::kRelu}};
  config.absent("rope_scaling");
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.hidden_act = config.choice("feed_forward_type", kTypes, "original");
  encoder.feed_forward = FeedForward::kGated;
  encoder.biases.up = false;
  encoder.positions = Positions::kNone;
  encoder.relative_positions = RelativePositions::kAlibi;
  encoder.pooler = true;
}

// llama.cpp's names (gguf-py/gguf/tensor_mapping.py): today's files have gate and up in ffn_up, older ones a tensor for each.
constexpr GgufName kGgufNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"blk.{}.attn_q", "encoder.layer.{}.attention.self.query"},
    {"blk.{}.attn_k", "encoder.layer.{}.attention.self.key"},
    {"blk.{}.attn_v", "encoder.layer.{}.attention.self.value"},
    {"blk.{}.attn_output", "encoder.layer.{}.attention.output.dense"},
    {"blk.{}.attn_output_norm", "encoder.layer.{}.attention.output.LayerNorm"},
    {"blk.{}.ffn_gate", "encoder.layer.{}.mlp.gate"},
    {"blk.{}.ffn_up", "encoder.layer.{}.mlp.gated_layers"},
    {"blk.{}.ffn_down", "encoder.layer.{}.mlp.wo"},
    {"blk.{}.layer_output_norm", "encoder.layer.{}.mlp.layernorm"},
    {"cls", "pooler.dense"},
};
constexpr GgufSwitch kGgufSwitches[] = {{.tensor = "blk.0.ffn_gate.weight",
                                         .present = R"("position_embedding_type": "alibi, gate apart")",
                                         .absent = R"("position_embedding_type": "alibi")"}};

constexpr const char* kIgnored[] = {"embeddings.position_ids", "cls.*", "classifier.*", "qa_outputs.*"};

constexpr Arch jina_with(const char* position_embedding_type, bool gate_apart) {
  Arch arch = {
      .model_type = "bert",
      .base_prefix = "bert.",
      .parse_config = parse_config,
      .names = kBertNames,
      .ignored = kIgnored,
      .heads = kBertHeads,
      .gguf = {.architecture = gate_apart ? nullptr : "jina-bert-v2",
               .config = R"("hidden_act": "gelu", "feed_forward_type": "geglu")",
               .fields = kBertGgufFields,
               .names = kGgufNames,
               .switches = kGgufSwitches},
      .only_key = "position_embedding_type",
      .only_value = position_embedding_type,
  };
  arch.names.position_embeddings = nullptr;
  arch.names.gate = gate_apart ? "encoder.layer.{}.mlp.gate" : nullptr;
  arch.names.up = gate_apart ? "encoder.layer.{}.mlp.gated_layers" : nullptr;
  arch.names.gate_up = gate_apart ? nullptr : "encoder.layer.{}.mlp.gated_layers";
  arch.names.down = "encoder.layer.{}.mlp.wo";
  arch.names.ffn_norm = "encoder.layer.{}.mlp.layernorm";
  return arch;
}

}  // namespace

extern const Arch kJinaBert, kJinaBertInTwo;
const Arch kJinaBert = jina_with("alibi", false);
const Arch kJinaBertInTwo = jina_with("alibi, gate apart", true);  // kGgufSwitches

}  // namespace wattn
