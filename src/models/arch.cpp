#include "models/arch.h"

namespace wattn {

std::string canonical_weight_name(const Arch& arch, std::string_view name) {
  if (name.starts_with(arch.base_prefix)) name.remove_prefix(std::string_view(arch.base_prefix).size());
  constexpr std::string_view kGamma = ".gamma";
  constexpr std::string_view kBeta = ".beta";
  if (name.ends_with(kGamma)) return std::string(name.substr(0, name.size() - kGamma.size())) + ".weight";
  if (name.ends_with(kBeta)) return std::string(name.substr(0, name.size() - kBeta.size())) + ".bias";
  return std::string(name);
}

std::string canonical_gguf_name(const Arch& arch, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string(name);
  const std::string_view stem = name.substr(0, dot), ending = name.substr(dot);
  for (const GgufName& row : arch.gguf_names) {
    const std::string_view pattern = row.gguf, canonical = row.canonical;
    const std::size_t hole = pattern.find("{}");
    if (hole == std::string_view::npos) {
      if (stem == pattern) return std::string(canonical) + std::string(ending);
      continue;
    }
    const std::string_view before = pattern.substr(0, hole), after = pattern.substr(hole + 2);
    if (stem.size() <= before.size() + after.size() || !stem.starts_with(before) || !stem.ends_with(after)) continue;
    const std::string_view layer = stem.substr(before.size(), stem.size() - before.size() - after.size());
    if (layer.find_first_not_of("0123456789") != std::string_view::npos) continue;
    const std::size_t into = canonical.find("{}");
    return std::string(canonical.substr(0, into)) + std::string(layer) + std::string(canonical.substr(into + 2)) +
           std::string(ending);
  }
  return std::string(name);
}

Result<std::int64_t> config_size(JsonRef config, std::string_view key, std::int64_t limit) {
  const JsonRef value = config[key];
  const auto size = value.as_int();
  if (!size.ok()) return size;
  if (size.value() < 1 || size.value() > limit) return value.mismatch("a whole number from 1 to " + std::to_string(limit));
  return size;
}

Result<Activation> config_activation(JsonRef config, std::string_view key) {
  const auto name = config[key].as_string();
  if (!name.ok()) return name.error();
  if (name.value() == "gelu" || name.value() == "gelu_python") return Activation::kGelu;
  if (name.value() == "relu") return Activation::kRelu;
  return unsupported_error(config[key].where() + ": expected \"gelu\" or \"relu\", found " + config[key].describe());
}

Result<void> expect_string(JsonRef config, std::string_view key, std::string_view only) {
  const auto value = config[key].as_string_or(only);
  if (!value.ok()) return value.error();
  if (value.value() == only) return {};
  return unsupported_error(config[key].where() + ": expected \"" + std::string(only) + "\", found " + config[key].describe());
}

Result<void> expect_bool(JsonRef config, std::string_view key, bool only) {
  const auto value = config[key].as_bool_or(only);
  if (!value.ok()) return value.error();
  if (value.value() == only) return {};
  return unsupported_error(config[key].where() + ": expected " + (only ? "true" : "false") + ", found " + config[key].describe());
}

Result<void> expect_absent(JsonRef config, std::string_view key) {
  const JsonRef value = config[key];
  if (value.is_null() || (value.size() == 0 && (value.is_object() || value.is_array()))) return {};
  return unsupported_error(value.where() + ": expected nothing (not supported), found " + value.describe());
}

}  // namespace wattn
