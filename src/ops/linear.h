// Linear: y = activation(x W^T + b), as torch.nn.Linear. W is kept packed for the kernel, in one of several number formats.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "ops/compute.h"

namespace wattn {

// How weights are held and multiplied; the dtype of the public API.
enum class WeightType : std::uint8_t {
  kF32,  // 4 bytes a weight
  kQ16,  // 2 bytes, f32's answers for practical purposes (kernels/quant.h)
  kQ8,   // 1 byte
  kQ4,   // half a byte for the large matrices that bear it (kernels/q4.h), as q8 for the others
};

// For what is more sensitive than the rest of a model of this type, or small.
constexpr WeightType at_least_q8(WeightType type) { return type == WeightType::kQ4 ? WeightType::kQ8 : type; }
constexpr WeightType at_least_q16(WeightType type) { return at_least_q8(type) == WeightType::kQ8 ? WeightType::kQ16 : type; }

struct Linear {
  std::int64_t in = 0;
  std::int64_t out = 0;
  WeightType type = WeightType::kF32;
  const Kernels* kernels = nullptr;  // that it is laid out for
  int step = 0;                      // neighbours along in that lie side by side, kernels/quant.h
  void* weight = nullptr;            // [out, in]: floats as [ceil(out / 8)][in][8], else as kernels/quant.h or q4.h has it
  std::uint8_t* book = nullptr;      // of the parts of W, q4 alone
  float* scale = nullptr;            // of the groups of W; none for f32
  std::int32_t* sum = nullptr;       // of the groups of W, where the kernels want it
  float* bias = nullptr;             // [out], or null
};

// Activations quantised on their way into a Linear, and a thread's columns of 4-bit weights unpacked; nothing for f32.
struct LinearScratch {
  QuantizedRows rows;
  std::int8_t* unpacked = nullptr;  // [threads, unpacked_bytes], q4 alone
  std::int64_t unpacked_bytes = 0;
};

// Takes the memory of a Linear from the arena, laid out for these kernels.
Linear take_linear(Arena& arena, const Kernels& kernels, WeightType type, std::int64_t in, std::int64_t out, bool bias);
// Takes what linear() needs for up to max_tokens rows of up to max_in values. threads: of the team that will run it.
LinearScratch take_linear_scratch(Arena& arena, WeightType type, std::int64_t max_tokens, std::int64_t max_in, int threads);

// Sets row j of W from values [in].
void set_weight_row(const Linear& linear, std::int64_t j, const float* values);

// Row j of W as it is held, [in].
void get_weight_row(const Linear& linear, std::int64_t j, float* values);

// x: [tokens, in], y: [tokens, out], both without gaps; y must not overlap x.
void linear(const Compute& compute, const Linear& layer, const float* x, std::int64_t tokens, Activation activation,
            const LinearScratch& scratch, float* y);

}  // namespace wattn
