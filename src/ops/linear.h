// Linear: y = activation(x W^T + b), as torch.nn.Linear. W is stored in kernel layout, in one of several number formats.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.h"
#include "ops/compute.h"

namespace wattn {

// How weights are stored and multiplied; the public API's dtype.
enum class WeightType : std::uint8_t {
  kF32,  // 4 bytes per weight
  kQ16,  // 2 bytes, practically the results of f32 (kernels/quant.h)
  kQ8,   // 1 byte
  kQ4,   // half a byte for large matrices that tolerate it (kernels/q4.h), q8 for the others
  kF16,  // 2 bytes, widened to f32 to be multiplied (kernels/half.h)
};

// For weights that are small, or more sensitive than the rest of the model.
constexpr WeightType at_least_q8(WeightType type) { return type == WeightType::kQ4 ? WeightType::kQ8 : type; }
constexpr WeightType at_least_q16(WeightType type) { return at_least_q8(type) == WeightType::kQ8 ? WeightType::kQ16 : type; }

struct LinearWeights {
  std::int64_t in = 0;
  std::int64_t out = 0;
  WeightType type = WeightType::kF32;
  const Kernels* kernels = nullptr;  // whose layout the weights have
  int step = 0;                      // adjacent inputs stored side by side, kernels/quant.h
  void* weight = nullptr;            // [out, in]: f32 and f16 as [ceil(out / 8)][in][8], else as in kernels/quant.h or q4.h
  std::uint8_t* book = nullptr;      // of the parts of W, q4 only
  float* scale = nullptr;            // of the groups of W, of its rows for f16; none for f32
  std::int32_t* sum = nullptr;       // of the groups of W, where step is 4
  float* bias = nullptr;             // [out], or null
};

// Quantised activations and each thread's unpacked columns of q4 or f16; empty for f32.
struct LinearScratch {
  QuantizedRows rows;
  std::int8_t* unpacked = nullptr;  // [threads, unpacked_bytes]
  std::int64_t unpacked_bytes = 0;
};

LinearWeights take_linear(Arena& arena, const Kernels& kernels, WeightType type, std::int64_t in, std::int64_t out, bool bias);
// Enough for linear() on max_tokens rows of max_in values with a team of so many threads.
LinearScratch take_linear_scratch(Arena& arena, WeightType type, std::int64_t max_tokens, std::int64_t max_in, int threads);

// Sets row j of W from values [in].
void set_weight_row(const LinearWeights& linear, std::int64_t j, const float* values);

// The same from W8 blocks, in a layer of q8 whose rows are whole groups. False: they are not as q8 has them, and the row is
// unusable.
bool set_weight_blocks(const LinearWeights& linear, std::int64_t j, const char* blocks);

// Adds values [in] to row j of W, which is stored in f32.
void add_weight_row(const LinearWeights& linear, std::int64_t j, const float* values);

// All of W, which is stored in f32, in kernel layout, with zeros after the last row.
std::span<float> weights_f32(const LinearWeights& linear);

// Row j of W as stored, widened to f32: [in].
void get_weight_row(const LinearWeights& linear, std::int64_t j, float* values);

// Adds the sums of the groups of W in q4, as whole numbers: [ceil(out / 8)][groups][8]. The entries of all books: [256][16].
void add_q4_sums(const LinearWeights& linear, std::int32_t* sums);
std::span<const std::int8_t> q4_entries();

// x: [tokens, in], y: [tokens, out], both contiguous; y must not overlap x. compute.lora may add to it, or have another layer in
// place of this one, whose out may differ.
void linear(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t tokens, Activation activation,
            const LinearScratch& scratch, float* y);

// The same over rows [rows, in] into memory of its own.
std::vector<float> run_linear(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t rows,
                              Activation activation = Activation::kNone);

// A linear layer of the backward pass. Its weights are those of a Linear, or rows as a checkpoint has them.
struct LinearGradient {
  std::int64_t in = 0, out = 0, tokens = 0;
  const float* weight = nullptr;         // [out, in], row-major; null: those of layer
  const LinearWeights* layer = nullptr;  // its first `out` rows
  const float* x = nullptr;              // [tokens, in], what the layer read; for d_weight
  const float* dy = nullptr;             // [tokens, out], before the activation (ops/activation.h)
  float* dx = nullptr;                   // [tokens, in] written, may be x; null: not wanted, like the next three
  float* d_weight = nullptr;             // [out, in], row-major, added to
  float* d_bias = nullptr;               // [out] added to
  const LinearWeights* d_layer =
      nullptr;  // in f32: the first `out` rows of its weights, and of its bias if it has one, are added to
};

// Floats of scratch for linear_backward() on at most so many tokens with a team of so many threads.
std::int64_t linear_backward_scratch(std::int64_t in, std::int64_t out, std::int64_t tokens, int threads);

// dx = dy W, dW += dy^T x, db += the sum of the rows of dy; each sum over tokens is one chain in rising order.
void linear_backward(const Compute& compute, const LinearGradient& gradient, float* scratch);

}  // namespace wattn
