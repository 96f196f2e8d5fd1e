// The architectures there are. Adding one: its file and a line here.
#include <algorithm>

#include "models/arch.h"

namespace wattn {

// Of several with one model_type, those with only_key first.
#define WATTN_ARCHS(ARCH) \
  ARCH(kAlbert)           \
  ARCH(kBart)             \
  ARCH(kJinaBert)         \
  ARCH(kJinaBertInTwo)    \
  ARCH(kBert)             \
  ARCH(kCamembert)        \
  ARCH(kDebertaV2)        \
  ARCH(kDistilBert)       \
  ARCH(kElectra)          \
  ARCH(kEuroBert)         \
  ARCH(kGpt2)             \
  ARCH(kGte)              \
  ARCH(kLlama)            \
  ARCH(kMarian)           \
  ARCH(kMistral)          \
  ARCH(kModernBert)       \
  ARCH(kMpnet)            \
  ARCH(kNewGte)           \
  ARCH(kNomicBert)        \
  ARCH(kQwen2)            \
  ARCH(kQwen3)            \
  ARCH(kRoberta)          \
  ARCH(kT5)               \
  ARCH(kXlmRoberta)

#define WATTN_DECLARE(name) extern const Arch name;
WATTN_ARCHS(WATTN_DECLARE)
#undef WATTN_DECLARE

namespace {

#define WATTN_ADDRESS(name) &name,
const Arch* const kArchs[] = {WATTN_ARCHS(WATTN_ADDRESS)};
#undef WATTN_ADDRESS

// The first whose name is `name` and that may be meant; else "one of" and all names, for a message.
template <class Name, class Accept>
const Arch* find(std::string_view name, const Name& name_of, const Accept& accept, std::string& known) {
  for (const Arch* arch : kArchs) {
    const char* own = name_of(*arch);
    if (!own || !accept(*arch)) continue;
    if (name == own) return arch;
    known += (known.empty() ? "one of \"" : ", \"") + std::string(own) + "\"";
  }
  return nullptr;
}

// The canonical name that GGUF's name stands for; a name that is in no row as it is. Endings (".weight", ".bias") stay.
std::string without_gguf(std::span<const GgufName> rows, std::string_view name) {
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  const std::string_view stem = name.substr(0, dot), ending = name.substr(dot);
  for (const GgufName& row : rows) {
    const std::string_view pattern = row.gguf;
    std::string out(row.canonical);
    const std::size_t hole = pattern.find("{}");
    if (stem == pattern && hole == std::string_view::npos) return out.append(ending);
    if (hole == std::string_view::npos || stem.size() + 2 <= pattern.size()) continue;
    const std::string_view before = pattern.substr(0, hole), after = pattern.substr(hole + 2);
    if (!stem.starts_with(before) || !stem.ends_with(after)) continue;
    const std::string_view layer = stem.substr(hole, stem.size() + 2 - pattern.size());
    if (layer.find_first_not_of("0123456789") != std::string_view::npos) continue;
    return out.replace(out.find("{}"), 2, layer).append(ending);
  }
  return std::string(name);
}

}  // namespace

Result<const Arch*> find_arch(JsonRef config) {
  Fields fields(config);
  const std::string_view model_type = fields.string("model_type");
  if (!fields.ok()) return fields.error();
  std::string known;
  const Arch* arch = find(
      model_type, [](const Arch& one) { return one.model_type; },
      [&](const Arch& one) {
        if (!one.only_key) return true;
        const JsonRef value = config[one.only_key];
        return value.is_string() && value.as_string().value() == one.only_value;
      },
      known);
  if (arch) return arch;
  fields.unsupported("model_type", known);
  return fields.error();
}

Result<const Arch*> find_gguf_arch(std::string_view architecture) {
  std::string known;
  const Arch* arch =
      find(architecture, [](const Arch& one) { return one.gguf.architecture; }, [](const Arch&) { return true; }, known);
  if (arch) return arch;
  return unsupported_error("general.architecture: expected " + known + ", found " +
                           (architecture.empty() ? "nothing" : shown_text(architecture)));
}

Result<ModelConfig> parse_model_config(const Arch& arch, JsonRef config) {
  ModelConfig out;
  Fields fields(config);
  arch.parse_config(fields, out);
  if (!fields.ok()) return fields.error();
  return out;
}

std::string canonical_weight_name(const Arch& arch, std::string_view name, bool is_gguf) {
  std::string out = is_gguf ? without_gguf(arch.gguf.names, name) : std::string(name);
  const std::string own_prefix = std::string(arch.model_type) + ".";
  for (const std::string_view prefix : {std::string_view(arch.base_prefix), std::string_view(own_prefix)}) {
    if (!out.starts_with(prefix)) continue;
    out.erase(0, prefix.size());
    break;
  }
  for (const auto& [old, ending] : {std::pair<std::string_view, const char*>(".gamma", ".weight"), {".beta", ".bias"}}) {
    if (out.ends_with(old)) return out.replace(out.size() - old.size(), old.size(), ending);
  }
  return out;
}

}  // namespace wattn
