// EuroBERT, arXiv 2503.05500; transformers/models/eurobert/modeling_eurobert.py (v5.23.0). Differences from Llama: bidirectional; a
// masked-language head; a sequence head with a dense layer, which may average the logits of all tokens ("late").
#include "models/llama.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  parse_llama(config, encoder);
  encoder.biases.qkv = encoder.biases.attention_output = config.boolean_or("attention_bias", false);
  config.expect("mlp_bias", false);      // also of the masked-language head
  config.expect("clf_pooling", "late");  // the first checkpoints' name for classifier_pooling
  config.absent("sliding_window");
  encoder.causal = encoder.lm_head = encoder.tie_word_embeddings = false;
}

constexpr const char* kIgnored[] = {"lm_head.*", "dense.*", "classifier.*"};

}  // namespace

extern const Arch kEuroBert = {
    .model_type = "eurobert",
    .base_prefix = "model.",
    .parse_config = parse_config,
    .names = kLlamaNames,
    .ignored = kIgnored,
    .heads = {.sequence = {.dense = "dense",
                           .activation = Activation::kGelu,
                           .pooling_key = "classifier_pooling",
                           .output = "classifier",
                           .input = HeadInput::kEach},
              .token = {.output = "classifier"},
              .masked_lm = {.output = "lm_head", .tied_by_config = true, .output_bias = false}},
    .gguf = {.architecture = "eurobert", .config = R"("hidden_act": "silu")", .fields = kLlamaGgufFields},
    .defaults = {kLlamaDefaults, R"("vocab_size": 128256, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, )"
                                 R"("num_attention_heads": 12, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5)"},
};

}  // namespace wattn
