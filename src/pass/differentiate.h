// The derivative of a section, as instructions. Some run a step again because a derivative reads its result; the others are
// derivatives of steps.
#pragma once

#include <span>
#include <vector>

#include "ops/op_gradient.h"
#include "pass/memory.h"

namespace wattn {

// The gradient of a value has this much more than its number.
constexpr PlanId kGradients = kMostValues / 2;

struct Instruction {
  std::int8_t step = 0;
  bool backward = false;
  // The gradients that a derivative writes, and whether each is added to an existing one.
  PlanId d_x = -1, d_other = -1;
  bool more_x = false, more_other = false;
  bool learns = false;  // the whole weight
  bool reads = false;   // what it needs to
};

// What is differentiated, and with respect to what.
struct Wanted {
  SectionUse use;
  PlanId result = -1;                         // whose gradient is given; -1: only `again` runs
  PlanId relative = -1;                       // a second such result, of the embeddings; or -1
  std::span<const PlanId> known{};            // values whose data is there
  std::span<const PlanId> again{};            // values that are wanted themselves
  bool input = true;                          // the gradient of the stream
  bool relative_input = false;                // that of the relative embeddings, which is added to
  bool sources = false;                       // likewise that of an encoder's states
  bool layers = true;                         // those of weights
  bool embeddings = true;                     // those of weights that all layers share
  std::span<const WeightGradient> weights{};  // that learn in any case, with their gradients
  Place of_result = Place::kStream;           // where the gradient of the result lies; that of the stream lies in the stream
};

struct Derivative {
  std::vector<Instruction> instructions;
  Layout layout;
  bool copies_back = false;  // the gradient of the stream lies in the arena, and belongs into the stream
};
Derivative differentiate(const Plan& plan, const PassInput& pass, const Wanted& wanted);

// The values that a layer's derivative reads and does not compute again from the others, in order.
std::vector<PlanId> values_to_keep(const Plan& plan, const SectionUse& use, PlanId result);
// The subset of them from which the section's result can be computed again.
std::vector<PlanId> values_of_result(const Plan& plan, const SectionUse& use, PlanId result, std::span<const PlanId> kept);

// The value that a section leaves in the stream.
PlanId result_of(const Plan& plan, const SectionUse& use);

// Where a derivative reads and writes, beside its arena.
struct DerivativePlaces {
  float* stream = nullptr;  // the gradient
  float* output = nullptr;  // that of the head's result
  float *relative = nullptr, *d_relative = nullptr;
  float *sources = nullptr, *d_sources = nullptr;
  float* const* known = nullptr;  // by value
  std::byte* arena = nullptr;
};
// gradients: the plan of a model whose weights are the gradients of this one's; null: no whole weight learns.
void run(const Plan& plan, const PassInput& pass, const Wanted& wanted, const Derivative& derivative, const Plan* gradients,
         const DerivativePlaces& places, std::int64_t layer = -1);
// The data of a value after run().
float* data_of(const Derivative& derivative, const DerivativePlaces& places, PlanId value);

}  // namespace wattn
