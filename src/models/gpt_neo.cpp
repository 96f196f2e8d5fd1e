// GPT-Neo; transformers/models/gpt_neo/modeling_gpt_neo.py (v5.24.0). Differences from GPT-2: separate matrices for query, key and
// value, without biases, stored as [out, in]; scores are not divided; some layers attend to a window only.
#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

// attention_types: [[["global", "local"], 12]], kinds of layers and how often they follow each other.
void read_windows(Fields& config, TransformerConfig& out) {
  const JsonRef types = config["attention_types"];
  config.each(types, [&](JsonRef group) {
    const std::int64_t times = config.take(group[std::size_t{1}].as_int());
    const auto most = static_cast<std::size_t>(out.num_hidden_layers);
    for (std::int64_t i = 0; i < times && out.local_layers.size() < most && config.ok(); ++i) {
      config.each(group[std::size_t{0}], [&](JsonRef kind) {
        const std::string_view name = config.take(kind.as_string());
        if (name != "global" && name != "local") config.fail(kind.mismatch("\"global\" or \"local\""));
        out.local_layers.push_back(name == "local");
      });
    }
  });
  if (types.is_null()) {
    for (std::int64_t i = 0; i < out.num_hidden_layers; ++i) out.local_layers.push_back(i % 2 == 1);
  }
  if (config.ok() && out.local_layers.size() != static_cast<std::size_t>(out.num_hidden_layers)) {
    config.mismatch("attention_types", "a type for each of " + std::to_string(out.num_hidden_layers) + " layers");
  }
  out.local_window = config.size_or("window_size", std::int64_t{1} << 30, 256) - (out.causal ? 1 : 0);
}

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  reject_foreign(config);
  const auto either = [&](const char* own, const char* usual) { return config.has(own) ? own : usual; };
  read_sizes(config,
             {.num_hidden_layers = either("num_layers", "num_hidden_layers"),
              .num_attention_heads = either("num_heads", "num_attention_heads"),
              .intermediate_size = nullptr},
             decoder);
  decoder.intermediate_size = config.size_or("intermediate_size", kMostFfn, 4 * decoder.hidden_size);
  read_epsilon(config, "layer_norm_epsilon", 1e-5, decoder);
  decoder.hidden_act = read_activation(config, "activation_function");
  decoder.query_pre_attn_scalar = 1;
  decoder.biases.qkv = false;
  decoder.causal = config.boolean_or("is_causal", true);
  decoder.norm_placement = NormPlacement::kPre;
  decoder.embeddings_norm = false;
  decoder.lm_head = true;
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", true);
  if (config.ok()) read_windows(config, decoder);
}

constexpr const char* kIgnored[] = {
    "h.{}.attn.attention.bias",
    "h.{}.attn.attention.masked_bias",  // buffers of the mask
    "lm_head.*",
    "score.*",
    "classifier.*",
    "qa_outputs.*",
};

}  // namespace

extern const Arch kGptNeo = {
    .model_type = "gpt_neo",
    .base_prefix = "transformer.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "wte",
              .position_embeddings = "wpe",
              .query = "h.{}.attn.attention.q_proj",
              .key = "h.{}.attn.attention.k_proj",
              .value = "h.{}.attn.attention.v_proj",
              .attention_output = "h.{}.attn.attention.out_proj",
              .attention_norm = "h.{}.ln_1",
              .up = "h.{}.mlp.c_fc",
              .down = "h.{}.mlp.c_proj",
              .ffn_norm = "h.{}.ln_2",
              .final_norm = "ln_f"},
    .ignored = kIgnored,
    .heads = {.sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast},
              .token = {.output = "classifier"},
              .answer = {.output = "qa_outputs"}},
    .defaults = {R"("vocab_size": 50257, "max_position_embeddings": 2048, "hidden_size": 2048, "num_layers": 24, "num_heads": 16, )"
                 R"("activation_function": "gelu_new")"},
};

}  // namespace wattn
