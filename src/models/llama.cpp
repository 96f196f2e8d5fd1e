// Llama, arXiv 2302.13971 and 2407.21783, SmolLM and others with the same code; transformers/models/llama/modeling_llama.py
// (v5.23.0): RMSNorm before attention and feed-forward, rotary positions, grouped queries, gated feed-forward. Decoders are
// described by how they differ from it.
#include "models/llama.h"

#include <algorithm>

namespace wattn {

void parse_llama(Fields& config, TransformerConfig& out, const LlamaReading& reading) {
  reject_foreign(config, reading.own);
  out.head_dim = config.size_or("head_dim", kMostHeads, 0);
  read_sizes(config, {}, out);
  read_kv_heads(config, out);
  read_epsilon(config, "rms_norm_eps", 1e-6, out);
  out.hidden_act = read_activation(config, "hidden_act");
  if (reading.reads_rope) out.rope = read_rope(config, reading.theta, reading.part);
  if (out.rope.most_positions > 0) out.max_position_embeddings = std::min(out.max_position_embeddings, out.rope.most_positions);
  out.tie_word_embeddings = config.boolean_or("tie_word_embeddings", false);
  out.causal = config.boolean_or("is_causal", true);
  set_llama_layers(out);
}

void set_llama_layers(TransformerConfig& out) {
  out.norm = NormKind::kRms;
  out.norm_placement = NormPlacement::kPre;
  out.embeddings_norm = false;
  out.feed_forward = FeedForward::kGated;
  out.biases = {.qkv = false, .attention_output = false, .up = false, .down = false, .norms = false};
  out.positions = Positions::kNone;
  out.relative_positions = RelativePositions::kRotary;
  out.lm_head = true;
}

namespace {

void parse_config(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  parse_llama(config, decoder);
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", false);
  decoder.biases.up = decoder.biases.down = config.boolean_or("mlp_bias", false);
  config.absent("sliding_window");
}

constexpr Arch arch() {
  Arch arch = llama_arch("llama", parse_config, "llama",
                         R"("vocab_size": 32000, "intermediate_size": 11008, "max_position_embeddings": 2048)");
  arch.names.rope_permuted_in_gguf = true;
  return arch;
}

}  // namespace

extern const Arch kLlama = arch();

}  // namespace wattn
