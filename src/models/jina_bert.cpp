// Jina BERT of jina-embeddings-v2, arXiv 2310.19923; modeling_bert.py of jinaai/jina-bert-implementation. Its configs say
// model_type "bert" and position_embedding_type "alibi". Differences from BERT:
// - ALiBi in both directions instead of learned positions;
// - gated feed-forward, whose gate and up projections have no biases.
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

// llama.cpp writes gate and up as one tensor, ffn_up; its older files have a tensor for each.
constexpr GgufSwitch kGgufSwitches[] = {{.tensor = "blk.0.ffn_gate.weight",
                                         .present = R"("position_embedding_type": "alibi, split gate")",
                                         .absent = R"("position_embedding_type": "alibi")"}};

constexpr const char* kIgnored[] = {"cls.*", "classifier.*", "qa_outputs.*"};

constexpr Arch jina_with(const char* position_embedding_type, bool split_gate) {
  Arch arch = {
      .model_type = "bert",
      .base_prefix = "bert.",
      .parse_config = parse_config,
      .names = kBertNames,
      .ignored = kIgnored,
      .heads = kBertHeads,
      .gguf = {.architecture = split_gate ? nullptr : "jina-bert-v2",
               .config = R"("hidden_act": "gelu", "feed_forward_type": "geglu")",
               .fields = kBertGgufFields,
               .switches = kGgufSwitches},
      .defaults = {kBertDefaults},
      .only_key = "position_embedding_type",
      .only_value = position_embedding_type,
  };
  arch.names.position_embeddings = nullptr;
  arch.names.gate = split_gate ? "encoder.layer.{}.mlp.gate" : nullptr;
  arch.names.up = split_gate ? "encoder.layer.{}.mlp.gated_layers" : nullptr;
  arch.names.gate_up = split_gate ? nullptr : "encoder.layer.{}.mlp.gated_layers";
  arch.names.down = "encoder.layer.{}.mlp.wo";
  arch.names.ffn_norm = "encoder.layer.{}.mlp.layernorm";
  return arch;
}

}  // namespace

extern const Arch kJinaBert = jina_with("alibi", false);
extern const Arch kJinaBertSplitGate = jina_with("alibi, split gate", true);  // kGgufSwitches

}  // namespace wattn
