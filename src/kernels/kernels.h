// The kernel table. A variant is one instruction set or library; every variant computes the same functions.
// "Exact" variants (scalar, wasm) give the same bits: four lanes, one order of sums, no fused multiply-add, no libm.
// Kernels cannot fail: shapes were checked by the op that calls them.
#pragma once

#include <cstdint>
#include <span>

namespace wattn {

enum class Activation : std::uint8_t {
  kNone,
  kGelu,
  kRelu,
  kTanh,
  kGeluTanh,
  kSilu,
  kSigmoid,
  kQuickGelu,  // from here on: kernels/more_activations.h
  kGelu10,
  kRelu2,
  kRelu6,
  kLeakyRelu,
  kMish,
  kElu,
  kSelu,
  kHardSwish,
  kHardSigmoid,
  kHardTanh,
  kSoftsign,
  kLaplace,
};
constexpr bool is_more(Activation activation) { return activation > Activation::kSigmoid; }

// c[i, j] = activation(scale * (sum over k, in rising order, of a[i, k] * b[j, k]) + bias[j]), 0 <= i < m, 0 <= j < n.
struct GemmF32 {
  const float* a = nullptr;  // [m, k], rows a_stride apart
  std::int64_t a_stride = 0;
  const float* b = nullptr;     // packed, see pack.h: [ceil(n / 8)][b_depth][8]; uses the first k of each panel
  std::int64_t b_depth = 0;     // 0: k
  const float* bias = nullptr;  // [n] or null
  float* c = nullptr;           // [m, n], rows c_stride apart; must not overlap a or b
  std::int64_t c_stride = 0;
  std::int64_t m = 0, n = 0, k = 0;
  float scale = 1.0f;
  Activation activation = Activation::kNone;
};

// Rows of activations quantised for an integer product, in groups along k (quant.h): x[i, j] is about
// scale[i, g] * (q[i, j] - z[i, g]). Each variant has its own format of q and zero; q has room for rows x k int16.
struct QuantizedRows {
  void* q = nullptr;             // [rows, k], k a multiple of the group
  float* scale = nullptr;        // [rows, groups]
  std::int32_t* zero = nullptr;  // [rows, groups], only for q8
};

// c[i, j] = activation(sum over groups g, in rising order, of I(i, j, g) * (b_scale[j, g] * a.scale[i, g]) + bias[j]),
// I(i, j, g) the exact integer sum over the group's k of (q[i, k] - z[i, g]) * b[j, k]. Formats: quant.h.
struct GemmQuant {
  QuantizedRows a;                       // [m, k]
  const void* b = nullptr;               // packed: int16 for gemm_q16, int8 for gemm_q8, PackedQ4's codes for gemm_q4
  const std::uint8_t* b_book = nullptr;  // PackedQ4's books, for gemm_q4
  const float* b_scale = nullptr;        // [ceil(n / 8)][groups][8]
  const std::int32_t* b_sum = nullptr;   // sums of each group's b, shaped as b_scale; only if q8_step is 4
  const float* bias = nullptr;           // [n] or null
  float* c = nullptr;                    // [m, n], rows c_stride apart
  std::int64_t c_stride = 0;
  std::int64_t m = 0, n = 0, k = 0;
  Activation activation = Activation::kNone;
};

// A matrix [n, k] in 4 bits, see q4.h.
struct PackedQ4 {
  std::uint8_t* codes;  // [ceil(n / 8)][k / 16][4][16], k rounded up to whole groups
  std::uint8_t* books;  // [ceil(n / 8)][k / 16][8]
  float* scales;        // shaped as GemmQuant::b_scale
  std::int32_t* sums;   // shaped as GemmQuant::b_sum; may be null
};

// Unpacks 4-bit weights to the b of gemm_q8.
struct UnpackQ4 {
  const std::uint8_t* codes = nullptr;  // as in PackedQ4
  const std::uint8_t* books = nullptr;
  std::int8_t* out = nullptr;
  std::int64_t n = 0, k = 0;
};

struct Kernels {
  const char* name;

  void (*gemm_f32)(const GemmF32& gemm);
  void (*gemm_q16)(const GemmQuant& gemm);
  void (*gemm_q8)(const GemmQuant& gemm);
  void (*gemm_q4)(const GemmQuant& gemm);  // m is 1; the activations and the bits of gemm_q8 after unpack_q4

  // Quantise contiguous x [rows, cols] for gemm_q16 and gemm_q8.
  void (*quantize_q16)(const float* x, std::int64_t rows, std::int64_t cols, const QuantizedRows& out);
  void (*quantize_q8)(const float* x, std::int64_t rows, std::int64_t cols, const QuantizedRows& out);
  // Quantises and packs row j of a matrix, [k]. Rows may come in any order.
  void (*quantize_q4_row)(const PackedQ4& packed, std::int64_t j, const float* row, std::int64_t k);
  void (*unpack_q4)(const UnpackQ4& unpack);
  int q8_step;  // neighbours along k that are adjacent in gemm_q8's packed weights: 2, or 4 for dot products of bytes

  // x[i, :] = exp(x[i, :] - max) / sum, in place; x is [rows, cols] with rows stride apart. cols may be 0.
  void (*softmax_rows)(float* x, std::int64_t rows, std::int64_t cols, std::int64_t stride);

  // out[i, :] = (v - mean(v)) / sqrt(var(v) + epsilon) * gamma + beta with v = x[i, :] + residual[i, :]; var is the mean
  // of squared differences. All are contiguous [rows, cols]; residual may be null; out may be x or residual.
  void (*layer_norm_rows)(const float* x, const float* residual, const float* gamma, const float* beta, float epsilon, float* out,
                          std::int64_t rows, std::int64_t cols);

  // out[i, j] = activation(x[i, j]) * x[i, cols + j]; x is [rows, 2 * cols], out [rows, cols], both contiguous.
  void (*gate_rows)(Activation activation, const float* x, float* out, std::int64_t rows, std::int64_t cols);

  // Rotates the pairs (x[j], x[half + j]), j in [0, half), in place by angles with the given cosines and sines, [half].
  void (*rotate)(float* x, const float* cos, const float* sin, std::int64_t half);

  // out[j] += scale * x[j]. out must not overlap x.
  void (*axpy)(float scale, const float* x, float* out, std::int64_t n);

  // out[j] = max(out[j], x[j]).
  void (*max_into)(const float* x, float* out, std::int64_t n);

  // out[j] = activation(x[j]); out may be x.
  void (*activate)(Activation activation, const float* x, float* out, std::int64_t n);

  // sum of x[j] * y[j].
  float (*dot)(const float* x, const float* y, std::int64_t n);

  // x_step[j] += scale * y[j], then y[j] += scale * x[j]: both sides of one step of logistic regression. No overlaps.
  void (*pair_step)(float scale, const float* x, float* y, float* x_step, std::int64_t n);

  // x = x / max(||x||, epsilon), the Euclidean norm, in place (torch.nn.functional.normalize).
  void (*l2_normalize)(float* x, float epsilon, std::int64_t n);
};

// The same bits in every build, on every machine.
const Kernels& exact_kernels();
// May use fused multiply-add or a library: as fast as the build can, equal to exact_kernels() within rounding.
const Kernels& fast_kernels();
// Every variant in this build, the scalar one first, for tests and benchmarks.
std::span<const Kernels* const> kernel_variants();

}  // namespace wattn
