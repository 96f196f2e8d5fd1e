// GPT-2 (Radford and others 2019); transformers/models/gpt2/modeling_gpt2.py (v5.23.0). Against Llama:
// - learned positions, LayerNorm, biases everywhere, plain feed-forward with GELU by tanh;
// - one matrix for query, key and value; matrices are [in, out] in safetensors (Conv1D).
#include "models/decoder_arch.h"

namespace wattn {
namespace {

Result<DecoderConfig> parse_config(JsonRef config) {
  DecoderConfig out;
  if (auto e = refuse_decoder_switches(config); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "scale_attn_weights", true); !e.ok()) return e.error();
  if (auto e = expect_bool(config, "scale_attn_by_inverse_layer_idx", false); !e.ok()) return e.error();
  const struct {
    const char* key;
    std::int64_t DecoderConfig::* field;
    std::int64_t limit;
  } sizes[] = {{"vocab_size", &DecoderConfig::vocab_size, 1 << 24},
               {"n_embd", &DecoderConfig::hidden_size, 1 << 17},
               {"n_layer", &DecoderConfig::num_hidden_layers, 1 << 12},
               {"n_head", &DecoderConfig::num_attention_heads, 1 << 12},
               {"n_positions", &DecoderConfig::max_position_embeddings, 1 << 22},
               {"n_inner", &DecoderConfig::intermediate_size, 1 << 20}};
  for (const auto& [key, field, limit] : sizes) {
    if (field == &DecoderConfig::intermediate_size && config[key].is_null()) {
      out.*field = 4 * out.hidden_size;
      continue;
    }
    const auto size = config_size(config, key, limit);
    if (!size.ok()) return size.error();
    out.*field = size.value();
  }
  out.positions = TokenPlaces::kLearned;
  if (auto e = check_heads(config, "n_head", out); !e.ok()) return e.error();
  const auto epsilon = config_number(config, "layer_norm_epsilon", 1e-5, 1);
  if (!epsilon.ok()) return epsilon.error();
  out.norm_eps = static_cast<float>(epsilon.value());
  const auto activation = config_activation(config, "activation_function");
  if (!activation.ok()) return activation.error();
  out.hidden_act = activation.value();
  const auto tied = config["tie_word_embeddings"].as_bool_or(true);
  if (!tied.ok()) return tied.error();
  out.tie_word_embeddings = tied.value();
  out.norm = NormKind::kLayer;
  out.gated = false;
  out.biases = {.qkv = true, .attention_output = true, .feed_forward = true, .norms = true};
  return out;
}

constexpr const char* kIgnored[] = {"h.{}.attn.bias", "h.{}.attn.masked_bias"};  // buffers of the mask

constexpr GgufName kGgufNames[] = {
    {"token_embd", "wte"},
    {"position_embd", "wpe"},
    {"blk.{}.attn_norm", "h.{}.ln_1"},
    {"blk.{}.attn_qkv", "h.{}.attn.c_attn"},
    {"blk.{}.attn_output", "h.{}.attn.c_proj"},
    {"blk.{}.ffn_norm", "h.{}.ln_2"},
    {"blk.{}.ffn_up", "h.{}.mlp.c_fc"},
    {"blk.{}.ffn_down", "h.{}.mlp.c_proj"},
    {"output_norm", "ln_f"},
    {"output", "lm_head"},
};
constexpr GgufField kGgufFields[] = {
    {"n_embd", "embedding_length"},     {"n_layer", "block_count"},        {"n_head", "attention.head_count"},
    {"n_inner", "feed_forward_length"}, {"n_positions", "context_length"}, {"layer_norm_epsilon", "attention.layer_norm_epsilon"},
};

}  // namespace

extern const DecoderArch kGpt2;
const DecoderArch kGpt2 = {
    .model_type = "gpt2",
    .base_prefix = "transformer.",
    .gguf_architecture = "gpt2",
    .parse_config = parse_config,
    .names = {.word_embeddings = "wte",
              .position_embeddings = "wpe",
              .query = "h.{}.attn.c_attn",
              .attention_output = "h.{}.attn.c_proj",
              .attention_norm = "h.{}.ln_1",
              .up = "h.{}.mlp.c_fc",
              .down = "h.{}.mlp.c_proj",
              .feed_forward_norm = "h.{}.ln_2",
              .final_norm = "ln_f",
              .transposed = true},
    .ignored = kIgnored,
    .gguf_names = kGgufNames,
    .gguf_fields = kGgufFields,
    .gguf_rest = R"("activation_function": "gelu_new")",
};

}  // namespace wattn
