// The architectures there are. Adding one: its file, a declaration and a line here.
#include "models/arch.h"

namespace wattn {

extern const Arch kAlbert;
extern const Arch kBert;
extern const Arch kCamembert;
extern const Arch kDebertaV2;
extern const Arch kDistilBert;
extern const Arch kElectra;
extern const Arch kGte;
extern const Arch kJinaBert;
extern const Arch kJinaBertInTwo;
extern const Arch kModernBert;
extern const Arch kMpnet;
extern const Arch kNewGte;
extern const Arch kNomicBert;
extern const Arch kRoberta;
extern const Arch kXlmRoberta;

namespace {

const Arch* const kArchs[] = {&kAlbert,    &kJinaBert,   &kJinaBertInTwo, &kBert,       &kCamembert,
                              &kDebertaV2, &kDistilBert, &kElectra,       &kModernBert, &kMpnet,
                              &kGte,       &kNewGte,     &kNomicBert,     &kRoberta,    &kXlmRoberta};

}  // namespace

Result<const Arch*> find_arch(JsonRef config) {
  if (!config.is_object()) return config.mismatch("an object");
  const auto model_type = config["model_type"].as_string();
  if (!model_type.ok()) return model_type.error();
  std::string known;
  for (const Arch* arch : kArchs) {
    if (arch->only_key) {
      const JsonRef value = config[arch->only_key];
      if (!value.is_string() || value.as_string().value() != arch->only_value) continue;
    }
    if (model_type.value() == arch->model_type) return arch;
    known += (known.empty() ? "\"" : ", \"") + std::string(arch->model_type) + "\"";
  }
  return unsupported_error(config["model_type"].where() + ": expected one of " + known + ", found " +
                           config["model_type"].describe());
}

}  // namespace wattn
