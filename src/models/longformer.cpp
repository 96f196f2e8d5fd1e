// Longformer, arXiv 2004.05150; transformers/models/longformer/modeling_longformer.py (v5.24.0). Differences from RoBERTa:
// - a token attends to half of attention_window tokens on each side;
// - classifiers of texts and of answers also have tokens that attend to all others, by projections of their own. Such heads do not
//   load.
#include "models/bert.h"
#include "models/config_fields.h"
#include "models/roberta.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& encoder = out.transformer;
  config.expect("position_embedding_type", "absolute");
  parse_roberta(config, out);
  const JsonRef windows = config["attention_window"];
  const std::size_t count = windows.is_array() ? windows.size() : 1;
  for (std::size_t i = 0; config.ok() && i < count; ++i) {
    const std::int64_t window = config.take((windows.is_array() ? windows[i] : windows).as_int_or(512));
    if (window < 2 || window > kMostPositions || window % 2 != 0) config.mismatch("attention_window", "even numbers of tokens");
    if (i > 0 && window / 2 != encoder.local_window) config.unsupported("attention_window", "the same number for all layers");
    encoder.local_window = window / 2;
  }
  encoder.local_layers.assign(static_cast<std::size_t>(encoder.num_hidden_layers), true);
}

constexpr const char* kIgnored[] = {"lm_head.*",
                                    "classifier.*",
                                    "qa_outputs.*",
                                    "encoder.layer.{}.attention.self.query_global.*",
                                    "encoder.layer.{}.attention.self.key_global.*",
                                    "encoder.layer.{}.attention.self.value_global.*"};

}  // namespace

extern const Arch kLongformer = {
    .model_type = "longformer",
    .base_prefix = "longformer.",
    .parse_config = parse_config,
    .names = kBertNames,
    .ignored = kIgnored,
    .heads = {.token = kRobertaHeads.token, .masked_lm = kRobertaHeads.masked_lm},
    .defaults = {kBertDefaults, R"("vocab_size": 30522, "pad_token_id": 1)"},
};

}  // namespace wattn
