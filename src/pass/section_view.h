// What differentiate.cpp and run_derivative.cpp read of a section.
#pragma once

#include <array>
#include <cstdint>

#include "ops/op_gradient.h"
#include "pass/differentiate.h"

namespace wattn {

inline PlanId gradient(PlanId value) { return static_cast<PlanId>(kGradients + value); }

// A section with the step that writes each value.
class SectionView {
 public:
  SectionView(const Plan& plan, const SectionUse& use)
      : plan_(plan), use_(use), section_(plan.sections[static_cast<std::size_t>(use.section)]) {
    writers_.fill(-1);
    for (int s = 0; s < steps(); ++s) {
      if (step(s).out >= 0) writers_[static_cast<std::size_t>(step(s).out)] = static_cast<std::int8_t>(s);
    }
  }

  int steps() const { return section_.num_steps; }
  int values() const { return section_.num_values; }
  const Step& step(int s) const { return plan_.steps[static_cast<std::size_t>(section_.first_step + s)]; }
  const Value& value(PlanId id) const { return plan_.values[static_cast<std::size_t>(section_.first_value + id)]; }
  int writer(PlanId id) const { return writers_[static_cast<std::size_t>(id)]; }
  const Weight* weight(const Step& step) const {
    return step.weight < 0 ? nullptr : &plan_.weights[static_cast<std::size_t>(use_.first_weight + step.weight)];
  }

 private:
  const Plan& plan_;
  const SectionUse& use_;
  const Section& section_;
  std::array<std::int8_t, kMostValues> writers_{};
};

// What a derivative reads of a step; whole: its weight learns.
template <class Visit>
void each_read(const Step& step, bool whole, const Visit& visit) {
  const GradientRow& row = gradient_row(step.op);
  const auto reads = [&](Reads how) { return how == Reads::kYes || (how == Reads::kToLearn && whole); };
  if (reads(row.x) && step.x >= 0) visit(step.x);
  if (reads(row.other) && step.other >= 0) visit(step.other);
  if (reads(row.out) && step.out >= 0) visit(step.out);
}

}  // namespace wattn
