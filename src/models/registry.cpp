// The architectures there are. Adding one: its file, a declaration and a line here.
#include "models/arch.h"

namespace wattn {

extern const Arch kBert;

namespace {

const Arch* const kArchs[] = {&kBert};

}  // namespace

Result<const Arch*> find_arch(JsonRef config) {
  if (!config.is_object()) return config.mismatch("an object");
  const auto model_type = config["model_type"].as_string();
  if (!model_type.ok()) return model_type.error();
  std::string known;
  for (const Arch* arch : kArchs) {
    if (model_type.value() == arch->model_type) return arch;
    known += (known.empty() ? "\"" : ", \"") + std::string(arch->model_type) + "\"";
  }
  return unsupported_error(config["model_type"].where() + ": expected one of " + known + ", found " +
                           config["model_type"].describe());
}

}  // namespace wattn
