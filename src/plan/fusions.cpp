#include "plan/fusions.h"

#include <algorithm>

#include "ops/norm.h"

namespace wattn {
namespace {

// Makes the second step do the work of both, if that is a rewrite.
bool fuse(const Step& first, Step& second, const Fusions& fusions) {
  if (fusions.activations && first.op == Op::kLinear && first.variant == static_cast<std::uint8_t>(Activation::kNone) &&
      second.op == Op::kActivate) {
    const PlanId out = second.out;
    const std::uint8_t activation = second.variant;
    second = first;
    second.out = out;
    second.variant = activation;
    return true;
  }
  if (fusions.residuals && first.op == Op::kAdd && first.factor == 1 && second.op == Op::kNorm && second.other < 0 &&
      second.variant == static_cast<std::uint8_t>(NormKind::kLayer)) {
    second.x = first.x;
    second.other = first.other;
    return true;
  }
  return false;
}

}  // namespace

void fuse_steps(Plan& plan, const Section& section, const Fusions& fusions) {
  for (auto second = plan.steps.begin() + section.first_step + 1; second < plan.steps.end();) {
    const auto first = second - 1;
    const PlanId between = first->out;
    const auto readers = std::count_if(plan.steps.begin() + section.first_step, plan.steps.end(),
                                       [&](const Step& step) { return step.x == between || step.other == between; });
    const bool free = between >= 0 && second->x == between && readers == 1 &&
                      !plan.values[static_cast<std::size_t>(section.first_value + between)].name;
    if (free && fuse(*first, *second, fusions)) {
      second = plan.steps.erase(first) + 1;
    } else {
      ++second;
    }
  }
}

}  // namespace wattn
