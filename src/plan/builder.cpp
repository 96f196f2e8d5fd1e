#include "plan/builder.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace wattn {
namespace {

// The PlanId of the last of count elements.
PlanId last_id(std::size_t count) {
  assert(count <= std::numeric_limits<PlanId>::max());
  return static_cast<PlanId>(count - 1);
}

std::int64_t width_of(OpWidth width, std::int64_t x, std::int64_t other, const Step& step, const Weight& weight, const Plan& plan) {
  switch (width) {
    case OpWidth::kNone:
      return 0;
    case OpWidth::kOfX:
      return x;
    case OpWidth::kHalfOfX:
      return x / 2;
    case OpWidth::kFactorTimesX:
      return x * static_cast<std::int64_t>(step.factor);
    case OpWidth::kOfWeight:
      return weight.width;
    case OpWidth::kRowsOfWeight:
      return weight.rows;
    case OpWidth::kContext:
      return plan.attentions[static_cast<std::size_t>(step.attention)].shape.context_width();
    case OpWidth::kOfBoth:
      return x + other;
  }
  return 0;
}

}  // namespace

void PlanBuilder::begin(const char* name) {
  section_ = {name, static_cast<std::int32_t>(plan.values.size()), 0, static_cast<std::int32_t>(plan.steps.size()), 0};
  first_weight_ = static_cast<std::int32_t>(plan.weights.size());
  add_value({.width = hidden_, .place = Place::kStream});
  add_value({.width = hidden_, .rows = Rows::kBuckets, .place = Place::kRelative});
}

SectionUse PlanBuilder::end() {
  fuse_steps(plan, section_, fusions_);
  section_.num_values = static_cast<std::int32_t>(plan.values.size()) - section_.first_value;
  section_.num_steps = static_cast<std::int32_t>(plan.steps.size()) - section_.first_step;
  const auto same = [&](const Section& other) {
    return other.num_steps == section_.num_steps && other.num_values == section_.num_values &&
           std::equal(plan.steps.begin() + section_.first_step, plan.steps.end(), plan.steps.begin() + other.first_step) &&
           std::equal(plan.values.begin() + section_.first_value, plan.values.end(), plan.values.begin() + other.first_value);
  };
  const auto found = std::find_if(plan.sections.begin(), plan.sections.end(), same) - plan.sections.begin();
  if (found == std::ssize(plan.sections)) {
    plan.sections.push_back(section_);
  } else {
    plan.steps.erase(plan.steps.begin() + section_.first_step, plan.steps.end());
    plan.values.erase(plan.values.begin() + section_.first_value, plan.values.end());
  }
  return {static_cast<std::int32_t>(found), first_weight_};
}

PlanId PlanBuilder::add_value(const Value& value) {
  plan.values.push_back(value);
  return last_id(plan.values.size() - static_cast<std::size_t>(section_.first_value));
}

PlanId PlanBuilder::add_weight(const Weight& weight) {
  plan.weights.push_back(weight);
  return last_id(plan.weights.size() - static_cast<std::size_t>(first_weight_));
}

PlanId PlanBuilder::step(Step step, const Weight& weight, Rows rows) {
  const OpWidth width = op_row(step.op).width;
  if (weight.at) step.weight = add_weight(weight);
  if (width != OpWidth::kNone) {
    const auto width_at = [&](PlanId id) { return id < 0 ? 0 : value(id).width; };
    step.out = add_value({.width = width_of(width, width_at(step.x), width_at(step.other), step, weight, plan), .rows = rows});
  }
  plan.steps.push_back(step);
  return step.out;
}

PlanId PlanBuilder::view(PlanId of, std::int64_t column, std::int64_t width, const char* name) {
  return add_value({.name = name, .width = width, .of = of, .column = column});
}

std::int8_t PlanBuilder::attention(const AttentionStep& constants) {
  const auto found = std::find(plan.attentions.begin(), plan.attentions.end(), constants);
  const auto at = found - plan.attentions.begin();
  if (found == plan.attentions.end()) plan.attentions.push_back(constants);
  return static_cast<std::int8_t>(at);
}

}  // namespace wattn
