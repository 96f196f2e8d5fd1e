// What a device such as a GPU needs to run a model instead of the processor: the plan as numbers, and the contents of its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model.h"

namespace wattn {

// The plan of a model with one stack, else an UnsupportedError. Numbers are those of plan/plan.h.
struct DevicePlan {
  std::vector<std::int32_t> sections;      // [sections, 4]: first value, values, first step, steps
  std::vector<std::int32_t> uses;          // [layers + 3, 2]: a section, or -1, and its first weight; the last one: of the head
  std::vector<float> score_divisors;       // [layers]
  std::vector<std::int32_t> values;        // [values, 4]: width, Place, the value that it is a view of or -1, Rows
  std::vector<std::string> ops, variants;  // [steps] as plan/print.h has them
  std::vector<std::int32_t> steps;         // [steps, 5]: x, other, out, weight, attention
  std::vector<float> factors;              // [steps]
  std::vector<std::int32_t> attentions;  // [attentions, 8]: heads, those of keys, width of a key and a value, window, causal, cross
  std::vector<float> attention_factors;  // [attentions, 2]: scale, softcap
  std::vector<std::int32_t> weights;     // [weights]: the first one that has the same memory
};
Result<DevicePlan> device_plan(const Model& model);

// What one weight holds, as its op reads it.
// - linear: bias [out], and by type:
//   - f32: weight [ceil(out / 8)][in][8]
//   - f16: the same in halves, and scale [ceil(out / 8)][8] (kernels/half.h)
//   - q8: weight [ceil(out / 8)][groups][16][8][4], scale and sum [ceil(out / 8)][groups][8]
//   - q4: weight [ceil(out / 8)][in / 16][4][16], scale and sum as in q8, and book: the entries [256][16], then the number of each
//     part's book [ceil(out / 8)][in / 16][8] (kernels/q4.h)
// - words, rows: table [rows, width] in f32, or in q8 or f16 with scale [rows]
// - words that the head over the vocabulary holds: as in linear
// - norms: gamma, beta
// - rotate: cos, sin [positions, pairs]
// - attention: values [heads, 2 * span - 1]
struct DeviceWeight {
  struct Part {
    const char* name;
    const void* at;
    std::int64_t bytes;
  };
  WeightType type = WeightType::kF32;
  std::vector<std::int32_t> shape;  // of a matrix or table: rows, width; of a norm: width; of rotary positions: pairs, rest,
                                    // interleaved; of distances: span
  float epsilon = 0;
  std::vector<Part> parts;
  // Values that memory holds in another form, converted.
  std::vector<float> widened;
  std::vector<std::int8_t> placed;
  std::vector<std::int32_t> sums;
};
// weight: a number in the plan, which this step reads. An UnsupportedError for a form that no device supports.
Result<DeviceWeight> device_weight(const Model& model, std::int64_t step, std::int64_t weight);

}  // namespace wattn
