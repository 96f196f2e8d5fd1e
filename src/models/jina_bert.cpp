// Jina BERT of jina-embeddings-v2, arXiv 2310.19923; modeling_bert.py of jinaai/jina-bert-implementation. Its configs say
// model_type "bert" and position_embedding_type "alibi". Against BERT:
// - ALiBi both ways in place of positions;
// - gated feed-forward without bias on the way in.
#include "models/arch.h"

namespace wattn {
namespace {

Result<EncoderConfig> parse_config(JsonRef config) {
  auto parsed = parse_usual_config(config);
  if (!parsed.ok()) return parsed;
  EncoderConfig& encoder = parsed.value();
  if (auto e = read_type_vocab_size(config, encoder); !e.ok()) return e.error();
  const JsonRef type = config["feed_forward_type"];
  const auto name = type.as_string_or("original");
  if (!name.ok()) return name.error();
  if (name.value() != "geglu" && name.value() != "reglu") {
    return unsupported_error(type.where() + ": expected \"geglu\" or \"reglu\", found " + type.describe());
  }
  encoder.hidden_act = name.value() == "geglu" ? Activation::kGelu : Activation::kRelu;
  encoder.feed_forward = FeedForward::kGated;
  encoder.biases.intermediate = false;
  encoder.positions = Positions::kNone;
  encoder.distances = Distances::kAlibi;
  return parsed;
}

// llama.cpp's names (gguf-py/gguf/tensor_mapping.py): today's files have gate and rest in ffn_up, older ones a tensor for each.
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

constexpr EncoderNames names(const char* gate, const char* rest) {
  return {.word_embeddings = "embeddings.word_embeddings",
          .token_type_embeddings = "embeddings.token_type_embeddings",
          .embeddings_norm = "embeddings.LayerNorm",
          .query = "encoder.layer.{}.attention.self.query",
          .key = "encoder.layer.{}.attention.self.key",
          .value = "encoder.layer.{}.attention.self.value",
          .attention_output = "encoder.layer.{}.attention.output.dense",
          .attention_norm = "encoder.layer.{}.attention.output.LayerNorm",
          .intermediate = gate,
          .multiplied = rest,
          .output = "encoder.layer.{}.mlp.wo",
          .output_norm = "encoder.layer.{}.mlp.layernorm",
          .pooler = "pooler.dense"};
}

constexpr const char* kIgnored[] = {"embeddings.position_ids", "cls.*", "classifier.*", "qa_outputs.*"};

}  // namespace

extern const Arch kJinaBert, kJinaBertInTwo;
const Arch kJinaBert = {
    .model_type = "bert",
    .base_prefix = "bert.",
    .parse_config = parse_config,
    .names = names("encoder.layer.{}.mlp.gated_layers", nullptr),
    .ignored = kIgnored,
    .gguf_names = kGgufNames,
    .only_key = "position_embedding_type",
    .only_value = "alibi",
};
const Arch kJinaBertInTwo = {
    .model_type = "bert",
    .base_prefix = "bert.",
    .parse_config = parse_config,
    .names = names("encoder.layer.{}.mlp.gate", "encoder.layer.{}.mlp.gated_layers"),
    .ignored = kIgnored,
    .gguf_names = kGgufNames,
    .only_key = "position_embedding_type",
    .only_value = "alibi, gate apart",  // gguf_config.cpp
};

}  // namespace wattn
