#include "tasks/plan_text.h"

#include "plan/print.h"

namespace wattn {

std::string plan_text(const Model& model) {
  const std::string first = to_text(model.transformer().plan());
  return model.decoder() ? "encoder:\n" + first + "decoder:\n" + to_text(model.decoder()->plan()) : first;
}

}  // namespace wattn
