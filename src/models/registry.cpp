// The common architectures, and how one is found. Adding one takes its file and a line here, or in more_archs.cpp if it is rare.
#include <algorithm>

#include "core/part.h"
#include "models/arch.h"
#include "models/gguf_config.h"
#include "models/transformer.h"

namespace wattn {

// Those with only_key before others of the same model_type, and more_archs.cpp's before these.
#define WATTN_ARCHS(ARCH)  \
  ARCH(kBart)              \
  ARCH(kJinaBert)          \
  ARCH(kJinaBertSplitGate) \
  ARCH(kBert)              \
  ARCH(kCamembert)         \
  ARCH(kDebertaV2)         \
  ARCH(kDistilBert)        \
  ARCH(kGpt2)              \
  ARCH(kLlama)             \
  ARCH(kMarian)            \
  ARCH(kMistral)           \
  ARCH(kModernBert)        \
  ARCH(kMpnet)             \
  ARCH(kNomicBert)         \
  ARCH(kQwen2)             \
  ARCH(kQwen3)             \
  ARCH(kRoberta)           \
  ARCH(kT5)                \
  ARCH(kXlmRoberta)

#define WATTN_DECLARE(name) extern const Arch name;
WATTN_ARCHS(WATTN_DECLARE)
#undef WATTN_DECLARE

namespace {

#define WATTN_ADDRESS(name) &(name),
const Arch* const kArchs[] = {WATTN_ARCHS(WATTN_ADDRESS)};
#undef WATTN_ADDRESS

// The first accepted architecture of that name, or null.
template <class Accept>
const Arch* find(std::string_view name, ArchName name_of, const Accept& accept) {
  const auto* more = Part<MoreArchs>::get();
  for (const std::span<const Arch* const> archs :
       {more ? more->archs : std::span<const Arch* const>(), std::span<const Arch* const>(kArchs)}) {
    for (const Arch* arch : archs) {
      const char* own = name_of(*arch);
      if (own && name == own && accept(*arch)) return arch;
    }
  }
  return nullptr;
}

std::string advice(std::string_view name, ArchName name_of) {
  const auto* more = Part<MoreArchs>::get();
  if (!more) return {};
  return more->advice_on(name, name_of, std::span<const Arch* const>(kArchs));
}

constexpr const char* kExpected = "an architecture listed in docs/models.md";

// llama.cpp's names (gguf-py/gguf/tensor_mapping.py), after "enc." or "dec." in encoder-decoders. Where an architecture has several
// weights of one name, the first counts.
constexpr std::pair<std::string_view, const char * TransformerNames::*> kGgufWeights[] = {
    {"token_embd", &TransformerNames::word_embeddings},
    {"position_embd", &TransformerNames::position_embeddings},
    {"token_types", &TransformerNames::token_type_embeddings},
    {"token_embd_norm", &TransformerNames::embeddings_norm},
    {"blk.{}.attn_q", &TransformerNames::query},
    {"blk.{}.attn_k", &TransformerNames::key},
    {"blk.{}.attn_v", &TransformerNames::value},
    {"blk.{}.attn_qkv", &TransformerNames::query_key_value},
    {"blk.{}.attn_q_norm", &TransformerNames::query_norm},
    {"blk.{}.attn_k_norm", &TransformerNames::key_norm},
    {"blk.{}.attn_output", &TransformerNames::attention_output},
    {"blk.{}.attn_o", &TransformerNames::attention_output},
    {"blk.{}.attn_norm", &TransformerNames::attention_norm},
    {"blk.{}.attn_output_norm", &TransformerNames::attention_norm},
    {"blk.{}.attn_rel_b", &TransformerNames::relative_attention_bias},
    {"blk.{}.cross_attn_q", &TransformerNames::cross_query},
    {"blk.{}.cross_attn_k", &TransformerNames::cross_key},
    {"blk.{}.cross_attn_v", &TransformerNames::cross_value},
    {"blk.{}.cross_attn_o", &TransformerNames::cross_output},
    {"blk.{}.cross_attn_norm", &TransformerNames::cross_norm},
    {"blk.{}.post_attention_norm", &TransformerNames::attention_output_norm},
    {"blk.{}.ffn_gate", &TransformerNames::gate},
    {"blk.{}.ffn_up", &TransformerNames::up},
    {"blk.{}.ffn_up", &TransformerNames::gate_up},
    {"blk.{}.ffn_down", &TransformerNames::down},
    {"blk.{}.ffn_norm", &TransformerNames::ffn_norm},
    {"blk.{}.layer_output_norm", &TransformerNames::ffn_norm},
    {"blk.{}.post_ffw_norm", &TransformerNames::ffn_output_norm},
    {"output_norm", &TransformerNames::final_norm},
    {"output", &TransformerNames::lm_head},
};
constexpr std::pair<std::string_view, const char * HeadLayers::*> kGgufHeadWeights[] = {
    {"cls", &HeadLayers::dense}, {"cls.norm", &HeadLayers::norm}, {"cls.output", &HeadLayers::output}};

// The canonical name of the weight with this pattern, as in TransformerNames; null for an unknown one.
const char* find_gguf_weight(const Arch& arch, std::string_view pattern) {
  for (const auto& [tensor, weight] : arch.gguf.names) {
    if (tensor == pattern) return weight;
  }
  const bool of_decoder = pattern.starts_with("dec.");
  const TransformerNames& names = of_decoder ? arch.decoder_names : arch.names;
  if (of_decoder || pattern.starts_with("enc.")) pattern.remove_prefix(4);
  for (const auto& [gguf, weight] : kGgufWeights) {
    if (gguf == pattern && names.*weight) return names.*weight;
  }
  for (const auto& [gguf, weight] : kGgufHeadWeights) {
    if (gguf == pattern) return arch.heads.sequence.*weight;
  }
  for (const GgufModule& module : kGgufModules) {
    if (module.tensor == pattern) return module.weight;
  }
  return nullptr;
}

// Endings (".weight", ".bias") and unknown names stay.
std::string without_gguf(const Arch& arch, std::string_view name) {
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  std::string pattern(name.substr(0, dot)), layer;
  if (const std::size_t block = pattern.find("blk."); block != std::string::npos) {
    const std::size_t begin = block + 4, end = std::min(pattern.find('.', begin), pattern.size());
    layer = pattern.substr(begin, end - begin);
    if (layer.empty() || layer.find_first_not_of("0123456789") != std::string::npos) return std::string(name);
    pattern.replace(begin, layer.size(), "{}");
  }
  const char* canonical = find_gguf_weight(arch, pattern);
  if (!canonical) return std::string(name);
  std::string out = canonical;
  if (const std::size_t hole = out.find("{}"); hole != std::string::npos) out.replace(hole, 2, layer);
  return out.append(name.substr(dot));
}

}  // namespace

Result<const Arch*> find_arch(JsonRef config) {
  Fields fields(config);
  const std::string_view model_type = fields.string("model_type");
  if (!fields.ok()) return fields.error();
  constexpr ArchName kNameOf = [](const Arch& one) { return one.model_type; };
  const Arch* arch = find(model_type, kNameOf, [&](const Arch& one) {
    if (!one.only_key) return true;
    const JsonRef value = config[one.only_key];
    if (!one.only_value) return !value.is_null() && !(value.is_bool() && !value.as_bool().value());
    return value.is_string() && value.as_string().value() == one.only_value;
  });
  if (arch) return arch;
  fields.unsupported("model_type", kExpected);
  Error error = fields.error();
  error.message += advice(model_type, kNameOf);
  return error;
}

Result<const Arch*> find_gguf_arch(std::string_view architecture) {
  constexpr ArchName kNameOf = [](const Arch& one) { return one.gguf.architecture; };
  const Arch* arch = find(architecture, kNameOf, [](const Arch&) { return true; });
  if (arch) return arch;
  return unsupported_error("general.architecture: expected " + std::string(kExpected) + ", found " +
                           (architecture.empty() ? "nothing" : shown_text(architecture)) + advice(architecture, kNameOf));
}

Result<Json> read_config_json(std::string_view text) {
  constexpr const char* kName = "config.json";
  auto config = Json::parse(text, kName);
  if (!config.ok()) return config;
  if (const auto* more = Part<MoreArchs>::get()) {
    const std::string part = more->text_part(config.value().root());
    if (!part.empty()) return read_config_json(part);
  }
  const auto arch = find_arch(config.value().root());
  if (!arch.ok()) return arch.error();
  std::string members;
  for (const char* defaults : arch.value()->defaults) members += defaults ? std::string(defaults) + ", " : "";
  // The last value of a repeated key counts.
  std::string whole(text);
  return Json::parse(whole.insert(whole.find('{') + 1, members), kName);
}

Result<ModelConfig> parse_model_config(const Arch& arch, JsonRef config) {
  ModelConfig out;
  Fields fields(config);
  arch.parse_config(fields, out);
  if (!fields.ok()) return fields.error();
  return out;
}

std::vector<std::string> ignored_tensors(const Arch& arch, const ModelConfig& stacks) {
  const std::int64_t layers =
      std::max(stacks.transformer.num_hidden_layers, stacks.decoder ? stacks.decoder->num_hidden_layers : 0);
  std::vector<std::string> out = stacks.ignored;
  // Buffers that any PyTorch module may have saved: row numbers, token types of zeros, angles; the temperature of a loss; what
  // reads pictures.
  for (const char* buffer : {"*position_ids", "*token_type_ids", "*rotary_emb.inv_freq", "*rotary_emb.cos_cached",
                             "*rotary_emb.sin_cached", "*logit_scale", "visual.*", "vision_tower.*", "multi_modal_projector.*"}) {
    out.emplace_back(buffer);
  }
  for (const char* pattern : arch.ignored) {
    const std::int64_t copies = std::string_view(pattern).find("{}") == std::string_view::npos ? 1 : layers;
    for (std::int64_t i = 0; i < copies; ++i) out.push_back(layer_name(pattern, static_cast<std::size_t>(i)));
  }
  return out;
}

std::string canonical_weight_name(const Arch& arch, std::string_view name, bool is_gguf) {
  std::string out = is_gguf ? without_gguf(arch, name) : std::string(name);
  constexpr std::string_view kTextPart = "language_model.";
  if (const std::size_t at = out.find(kTextPart); at != std::string::npos) out.erase(at, kTextPart.size());
  if (arch.part_of) {
    if (const std::size_t at = out.find(arch.part_of); at != std::string::npos)
      out.erase(0, at + std::string_view(arch.part_of).size());
  }
  const std::string own_prefix = std::string(arch.model_type) + ".";
  for (const std::string_view prefix : {std::string_view(arch.base_prefix), std::string_view(own_prefix)}) {
    if (!out.starts_with(prefix)) continue;
    out.erase(0, prefix.size());
    break;
  }
  if (!arch.names.down && out.find('.') == std::string::npos) return out + ".weight";  // a model without layers
  for (const auto& [old, ending] : {std::pair<std::string_view, const char*>(".gamma", ".weight"),
                                    {".beta", ".bias"},
                                    {".parametrizations.weight.original", ".weight"}}) {
    if (out.ends_with(old)) return out.replace(out.size() - old.size(), old.size(), ending);
  }
  return out;
}

}  // namespace wattn
