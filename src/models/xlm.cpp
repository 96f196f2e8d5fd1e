// XLM, arXiv 1901.07291; transformers/models/xlm/modeling_xlm.py (v5.24.0): BERT without token types. Embeddings of languages are
// not read: without a language, transformers leaves them out, too.
#include "models/bert.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  reject_switches(config);
  for (const char* key : {"causal", "asm"}) config.expect(key, false);
  for (const char* key : {"is_encoder", "summary_use_proj", "summary_proj_to_labels"}) config.expect(key, true);
  config.expect("summary_type", "first");
  config.absent("summary_activation");
  const auto either = [&](const char* own, const char* usual) { return config.has(own) ? own : usual; };
  read_sizes(config,
             {.vocab_size = either("n_words", "vocab_size"),
              .hidden_size = either("emb_dim", "hidden_size"),
              .num_hidden_layers = either("n_layers", "num_hidden_layers"),
              .num_attention_heads = either("n_heads", "num_attention_heads"),
              .intermediate_size = nullptr},
             encoder);
  encoder.intermediate_size = 4 * encoder.hidden_size;
  read_epsilon(config, "layer_norm_eps", 1e-12, encoder);
  if (!config.boolean_or("gelu_activation", true)) encoder.hidden_act = Activation::kRelu;
}

constexpr const char* kIgnored[] = {"lang_embeddings.*", "pred_layer.*", "classifier.*", "qa_outputs.*", "sequence_summary.*"};

}  // namespace

extern const Arch kXlm = {
    .model_type = "xlm",
    .base_prefix = "transformer.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "embeddings",
              .position_embeddings = "position_embeddings",
              .embeddings_norm = "layer_norm_emb",
              .query = "attentions.{}.q_lin",
              .key = "attentions.{}.k_lin",
              .value = "attentions.{}.v_lin",
              .attention_output = "attentions.{}.out_lin",
              .attention_norm = "layer_norm1.{}",
              .up = "ffns.{}.lin1",
              .down = "ffns.{}.lin2",
              .ffn_norm = "layer_norm2.{}"},
    .ignored = kIgnored,
    .heads = {.sequence = {.output = "sequence_summary.summary"},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"},
              .masked_lm = {.output = "pred_layer.proj.bias", .tied = true}},
    .defaults = {R"("vocab_size": 30145, "emb_dim": 2048, "n_layers": 12, "n_heads": 16, "max_position_embeddings": 512)"},
};

}  // namespace wattn
