// RoFormer, arXiv 2104.09864; transformers/models/roformer/modeling_roformer.py (v5.24.0), and NeoBERT, arXiv 2502.19587, by the
// model.py of chandar-lab/NeoBERT.
// - RoFormer: BERT whose queries and keys rotate in pairs of neighbours, in place of learned positions; no pooler; the embedding
//   tables may be narrower than the layers;
// - NeoBERT: Llama that reads in both directions and rotates pairs of neighbours, with one matrix for query, key and value.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_roformer(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  config.expect("rotary_value", false);
  read_bert_like(config, encoder);
  read_type_vocab_size(config, encoder);
  encoder.embedding_size = config.size_or("embedding_size", kMostWidth, encoder.hidden_size);
  if (encoder.embedding_size == encoder.hidden_size) encoder.embedding_size = 0;
  encoder.positions = Positions::kNone;
  encoder.relative_positions = RelativePositions::kRotary;
  encoder.rope.interleaved = true;
}

void parse_neobert(Fields& config, ModelConfig& out) {
  constexpr std::int64_t kMultiple = 8;
  TransformerConfig& encoder = out.transformer;
  reject_decoder(config);
  for (const char* key : {"rope", "rms_norm"}) config.expect(key, true);
  config.expect("hidden_act", "SwiGLU");
  read_sizes(config, {.max_position_embeddings = config.has("max_length") ? "max_length" : "max_position_embeddings"}, encoder);
  // Two thirds, up to the next multiple.
  encoder.intermediate_size = (2 * encoder.intermediate_size / 3 + kMultiple - 1) / kMultiple * kMultiple;
  read_epsilon(config, "norm_eps", 1e-6, encoder);
  encoder.hidden_act = Activation::kSilu;
  encoder.feed_forward = FeedForward::kGated;
  encoder.norm = NormKind::kRms;
  encoder.norm_placement = NormPlacement::kPre;
  encoder.embeddings_norm = false;
  encoder.biases = {.qkv = false, .attention_output = false, .up = false, .down = false, .norms = false};
  encoder.positions = Positions::kNone;
  encoder.relative_positions = RelativePositions::kRotary;
  encoder.rope.interleaved = true;
}

constexpr const char* kIgnored[] = {"cls.*", "classifier.*", "qa_outputs.*", "encoder.embed_positions.*"};
constexpr const char* kNeoIgnored[] = {"decoder.*", "dense.*", "classifier.*", "qa_outputs.*", "freqs_cis"};

constexpr TransformerNames roformer_names() {
  TransformerNames names = kBertNames;
  names.position_embeddings = names.pooler = nullptr;
  names.embeddings_projection = "embeddings_project";
  return names;
}

constexpr Heads roformer_heads() {
  Heads heads = kBertHeads;
  heads.sequence = {.dense = "classifier.dense", .activation_key = "hidden_act", .output = "classifier.out_proj"};
  return heads;
}

}  // namespace

extern const Arch kRoFormer = {
    .model_type = "roformer",
    .base_prefix = "roformer.",
    .parse_config = parse_roformer,
    .names = roformer_names(),
    .ignored = kIgnored,
    .heads = roformer_heads(),
    .defaults = {kBertDefaults, R"("vocab_size": 50000, "max_position_embeddings": 1536)"},
};
extern const Arch kNeoBert = {
    .model_type = "neobert",
    .base_prefix = "model.",
    .parse_config = parse_neobert,
    .names = {.word_embeddings = "encoder",
              .query_key_value = "transformer_encoder.{}.qkv",
              .heads_in_turn = true,
              .attention_output = "transformer_encoder.{}.wo",
              .attention_norm = "transformer_encoder.{}.attention_norm",
              .gate_up = "transformer_encoder.{}.ffn.w12",
              .down = "transformer_encoder.{}.ffn.w3",
              .ffn_norm = "transformer_encoder.{}.ffn_norm",
              .final_norm = "layer_norm"},
    .ignored = kNeoIgnored,
    .heads = {.sequence = {.dense = "dense", .activation = Activation::kTanh, .output = "classifier"},
              .masked_lm = {.output = "decoder"}},
    .defaults = {R"("vocab_size": 32064, "hidden_size": 768, "num_hidden_layers": 28, "num_attention_heads": 12, )"
                 R"("intermediate_size": 3072, "max_length": 1024)"},
};

}  // namespace wattn
