// PlanBuilder: writes a plan, a section at a time.
#pragma once

#include "plan/fusions.h"
#include "plan/plan.h"

namespace wattn {

class PlanBuilder {
 public:
  // hidden: the width of the stream.
  PlanBuilder(std::int64_t hidden, const Fusions& fusions) : hidden_(hidden), fusions_(fusions) {}

  // Steps, values and weights belong to this section until end().
  void begin(const char* name);
  // Fuses steps. A section that has the steps and values of an earlier one is that section.
  SectionUse end();

  // Appends a step, and gives the value that it writes; -1 if it writes none. rows: of the result. weight: nothing if its `at` is
  // null.
  PlanId step(Step step, const Weight& weight = {}, Rows rows = Rows::kTokens);
  // An encoder's states.
  PlanId states() { return add_value({.width = hidden_, .rows = Rows::kSources, .place = Place::kSources}); }
  PlanId view(PlanId of, std::int64_t column, std::int64_t width, const char* name);
  Value& value(PlanId id) { return plan.values[static_cast<std::size_t>(section_.first_value + id)]; }
  PlanId named(PlanId id, const char* name) {
    value(id).name = name;
    return id;
  }
  std::int8_t attention(const AttentionStep& constants);

  Plan plan;

 private:
  PlanId add_value(const Value& value);
  PlanId add_weight(const Weight& weight);

  std::int64_t hidden_;
  Fusions fusions_;
  Section section_;
  std::int32_t first_weight_ = 0;
};

}  // namespace wattn
