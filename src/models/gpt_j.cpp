// GPT-J; transformers/models/gptj/modeling_gptj.py (v5.24.0). Differences from GPT-2: the first rotary_dim dimensions of a head
// rotate, in pairs of neighbours. Attention and feed-forward read the same norm. Query, key and value have separate matrices,
// without biases, stored as [out, in]. The head has a bias. CodeGen, arXiv 2203.13474 (codegen/modeling_codegen.py), is GPT-J with
// one matrix for query, value and key, in four parts.
#include "models/arch.h"
#include "models/config_fields.h"

namespace wattn {
namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  reject_foreign(config);
  const auto either = [&](const char* own, const char* usual) { return config.has(own) ? own : usual; };
  read_sizes(config,
             {.hidden_size = either("n_embd", "hidden_size"),
              .num_hidden_layers = either("n_layer", "num_hidden_layers"),
              .num_attention_heads = either("n_head", "num_attention_heads"),
              .intermediate_size = nullptr,
              .max_position_embeddings = either("n_positions", "max_position_embeddings")},
             decoder);
  decoder.intermediate_size = config.size_or("n_inner", kMostFfn, 4 * decoder.hidden_size);
  read_epsilon(config, "layer_norm_epsilon", 1e-5, decoder);
  decoder.hidden_act = read_activation(config, "activation_function");
  if (!config.ok()) return;
  const std::int64_t head = decoder.head_size(), rotated = config.size_or("rotary_dim", head, std::min<std::int64_t>(64, head));
  if (rotated % 2 != 0) config.mismatch("rotary_dim", "an even number");
  // It is multiplied by head, and rounded down.
  decoder.rope.partial_rotary_factor = (static_cast<double>(rotated) + 0.5) / static_cast<double>(head);
  decoder.rope.interleaved = true;
  decoder.relative_positions = RelativePositions::kRotary;
  decoder.positions = Positions::kNone;
  decoder.embeddings_norm = false;
  decoder.norm_placement = NormPlacement::kPre;
  decoder.residual = Residual::kParallelOneNorm;
  decoder.biases.qkv = decoder.biases.attention_output = false;
  decoder.causal = config.boolean_or("is_causal", true);
  decoder.lm_head = decoder.lm_head_bias = true;
  decoder.tie_word_embeddings = config.boolean_or("tie_word_embeddings", false);
}

void parse_codegen(Fields& config, ModelConfig& out) {
  parse_config(config, out);
  if (config.ok() && out.transformer.num_attention_heads % 4 != 0) config.mismatch("n_head", "a multiple of 4");
}

constexpr const char* kIgnored[] = {"h.{}.attn.bias",
                                    "h.{}.attn.masked_bias",  // buffers of the mask
                                    "h.{}.attn.embed_positions",
                                    "lm_head.*",
                                    "score.*",
                                    "qa_outputs.*"};

constexpr Arch kGptJArch = {
    .model_type = "gptj",
    .base_prefix = "transformer.",
    .parse_config = parse_config,
    .names = {.word_embeddings = "wte",
              .query = "h.{}.attn.q_proj",
              .key = "h.{}.attn.k_proj",
              .value = "h.{}.attn.v_proj",
              .attention_output = "h.{}.attn.out_proj",
              .attention_norm = "h.{}.ln_1",
              .up = "h.{}.mlp.fc_in",
              .down = "h.{}.mlp.fc_out",
              .final_norm = "ln_f"},
    .ignored = kIgnored,
    .heads = {.sequence = {.output = "score", .output_bias = false, .input = HeadInput::kLast}, .answer = {.output = "qa_outputs"}},
    .defaults = {R"("vocab_size": 50400, "n_positions": 2048, "n_embd": 4096, "n_layer": 28, "n_head": 16, )"
                 R"("activation_function": "gelu_new")"},
};

constexpr Arch codegen() {
  Arch arch = kGptJArch;
  arch.model_type = "codegen";
  arch.parse_config = parse_codegen;
  arch.names.query = arch.names.key = arch.names.value = nullptr;
  arch.names.query_key_value = "h.{}.attn.qkv_proj";
  arch.names.quarters_in_turn = true;
  arch.heads = {};
  return arch;
}

}  // namespace

extern const Arch kGptJ = kGptJArch;
extern const Arch kCodeGen = codegen();

}  // namespace wattn
