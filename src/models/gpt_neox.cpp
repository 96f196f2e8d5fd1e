// GPT-NeoX, arXiv 2204.06745 (Pythia), Phi 1 to 2, arXiv 2306.11644, and StableLM, arXiv 2402.17834;
// transformers/models/gpt_neox/modeling_gpt_neox.py, phi/modeling_phi.py and stablelm/modeling_stablelm.py (v5.23.0). Differences
// from Llama:
// - LayerNorm; only the first dimensions of a head rotate; attention and feed-forward may read the same sum, after one norm or two;
// - GPT-NeoX, Phi: biases everywhere, ungated feed-forward; Phi: a bias of the head; StableLM: at most biases of query, key, value;
// - GPT-NeoX: one matrix with the query, key and value of each head in turn.
#include <algorithm>
#include <cmath>

#include "models/llama.h"

namespace wattn {
namespace {

void read_layers(Fields& config, const PartialRotary& part, double theta, TransformerConfig& out) {
  parse_llama(config, out, {.own = {"partial_rotary_factor"}, .part = part, .theta = theta});
  config.expect("qk_layernorm", false);
  read_epsilon(config, "layer_norm_eps", 1e-5, out);
  out.norm = NormKind::kLayer;
  out.biases.norms = true;
}

void set_plain(TransformerConfig& out) {
  out.feed_forward = FeedForward::kPlain;
  out.biases = {};
}

void parse_gpt_neox(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  read_layers(config, {.key = "rotary_pct", .factor = 0.25}, config.number_or("rotary_emb_base", 10000, kMostTheta), decoder);
  decoder.num_key_value_heads = 0;
  set_plain(decoder);
  decoder.biases.qkv = decoder.biases.attention_output = config.boolean_or("attention_bias", true);
  if (config.boolean_or("use_parallel_residual", true)) decoder.residual = Residual::kParallel;
}

void parse_phi(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  read_layers(config, {.key = "partial_rotary_factor", .factor = 0.5}, 10000, decoder);
  set_plain(decoder);
  decoder.residual = Residual::kParallelOneNorm;
  decoder.lm_head_bias = true;
}

void parse_stablelm(Fields& config, ModelConfig& out) {
  TransformerConfig& decoder = out.transformer;
  read_layers(config, {.key = "partial_rotary_factor", .factor = 0.25}, 10000, decoder);
  decoder.biases.qkv = config.boolean_or("use_qkv_bias", false);
  if (config.boolean_or("use_parallel_residual", false)) decoder.residual = Residual::kParallelOneNorm;
}

std::string truth(bool value) { return value ? "true" : "false"; }

std::string more_of_gpt_neox(const GgufKeys& keys) {
  return partial_rotary(keys, "rotary_pct") + R"(, "use_parallel_residual": )" +
         truth(keys.number_or("use_parallel_residual", 1) != 0);
}
// The first files of Phi 2 have one matrix for query, key and value.
constexpr const char* kFused = "fused_query_key_value";
std::string more_of_phi(const GgufKeys& keys) {
  const std::string part = partial_rotary(keys, "partial_rotary_factor");
  return keys.find("blk.0.attn_qkv.weight") ? part + ", \"" + kFused + "\": true" : part;
}
// As llama.cpp, by the norms: files of StableLM 2 12B name no residual.
std::string more_of_stablelm(const GgufKeys& keys) {
  return partial_rotary(keys, "partial_rotary_factor") + R"(, "use_parallel_residual": )" +
         truth(!keys.find("blk.0.ffn_norm.weight")) + R"(, "use_qkv_bias": )" + truth(keys.find("blk.0.attn_q.bias"));
}

constexpr GgufField kGgufFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", false},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"layer_norm_eps", "attention.layer_norm_epsilon"},
    {"rope_theta", "rope.freq_base", false},
};

constexpr const char* kNeoXIgnored[] = {"layers.{}.attention.bias",
                                        "layers.{}.attention.masked_bias",  // buffers of the mask
                                        "embed_out.*",
                                        "score.*",
                                        "classifier.*",
                                        "qa_outputs.*"};

constexpr Arch gpt_neox() {
  Arch arch = llama_arch("gpt_neox", parse_gpt_neox, "gptneox",
                         R"("vocab_size": 50432, "hidden_size": 6144, "num_hidden_layers": 44, "num_attention_heads": 64, )"
                         R"("intermediate_size": 24576, "max_position_embeddings": 2048, "hidden_act": "gelu")");
  arch.gguf = {.architecture = "gptneox", .config = R"("hidden_act": "gelu")", .fields = kGgufFields, .more = more_of_gpt_neox};
  arch.base_prefix = "gpt_neox.";
  arch.names = {.word_embeddings = "embed_in",
                .query_key_value = "layers.{}.attention.query_key_value",
                .heads_in_turn = true,
                .attention_output = "layers.{}.attention.dense",
                .attention_norm = "layers.{}.input_layernorm",
                .up = "layers.{}.mlp.dense_h_to_4h",
                .down = "layers.{}.mlp.dense_4h_to_h",
                .ffn_norm = "layers.{}.post_attention_layernorm",
                .final_norm = "final_layer_norm",
                .lm_head = "embed_out"};
  arch.ignored = kNeoXIgnored;
  arch.heads.token.output = "classifier";
  return arch;
}

constexpr Arch phi() {
  Arch arch = llama_arch("phi", parse_phi, "phi2",
                         R"("vocab_size": 51200, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24, )"
                         R"("max_position_embeddings": 2048, "hidden_act": "gelu_new")");
  arch.gguf = {.architecture = "phi2", .config = R"("hidden_act": "gelu_new")", .fields = kGgufFields, .more = more_of_phi};
  arch.names.attention_output = "layers.{}.self_attn.dense";
  arch.names.up = "layers.{}.mlp.fc1";
  arch.names.down = "layers.{}.mlp.fc2";
  arch.names.gate = arch.names.ffn_norm = nullptr;
  arch.names.final_norm = "final_layernorm";
  arch.heads.answer = {};
  return arch;
}

constexpr Arch phi_fused() {
  Arch arch = phi();
  arch.names.query_key_value = "layers.{}.self_attn.query_key_value";
  arch.names.query = arch.names.key = arch.names.value = nullptr;
  arch.gguf.architecture = nullptr;
  arch.only_key = kFused;
  return arch;
}

constexpr Arch stablelm() {
  Arch arch = llama_arch("stablelm", parse_stablelm, "stablelm",
                         R"("vocab_size": 50304, "hidden_size": 2560, "intermediate_size": 6912, "num_key_value_heads": 32, )"
                         R"("max_position_embeddings": 4096)");
  arch.gguf.fields = kGgufFields;
  arch.gguf.more = more_of_stablelm;
  arch.heads.answer = {};
  return arch;
}

}  // namespace

std::string partial_rotary(const GgufKeys& keys, const char* field) {
  const double heads = std::max(keys.number_or("attention.head_count", 1), 1.0);
  const double size = keys.number_or("attention.key_length", keys.number_or("embedding_length", 0) / heads);
  const double dims = keys.number_or("rope.dimension_count", size);
  if (!(dims > 0 && dims < size)) return json_text(field) + ": 1";
  double part = dims / size;
  if (part * size < dims) part = std::nextafter(part, 1.0);  // it is multiplied by size, and rounded down
  return json_text(field) + ": " + json_text(part);
}

extern const Arch kGptNeoX = gpt_neox();
extern const Arch kPhi = phi();
extern const Arch kPhiFused = phi_fused();
extern const Arch kStableLm = stablelm();

}  // namespace wattn
