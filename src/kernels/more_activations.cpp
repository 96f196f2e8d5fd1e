#include "kernels/more_activations.h"

#include "kernels/more_activations_vec.h"
#include "kernels/rows.h"
#include "kernels/vec_scalar.h"
#ifdef WATTN_HAVE_WASM_SIMD
#include "kernels/vec_wasm.h"
#endif

namespace wattn {
namespace {

#ifdef WATTN_HAVE_WASM_SIMD
using Vec = VecWasm;
#else
using Vec = VecScalar;
#endif

constexpr NamedActivation kMore[] = {
    {"quick_gelu", "", Activation::kQuickGelu},
    {"gelu_10", "", Activation::kGelu10},
    {"relu2", "", Activation::kRelu2},
    {"relu6", "ReLU6", Activation::kRelu6},
    {"leaky_relu", "LeakyReLU", Activation::kLeakyRelu},
    {"mish", "Mish", Activation::kMish},
    {"hardswish", "Hardswish", Activation::kHardSwish},
    {"laplace", "", Activation::kLaplace},
    {"", "ELU", Activation::kElu},
    {"", "CELU", Activation::kElu},  // with alpha 1
    {"", "SELU", Activation::kSelu},
    {"", "Hardsigmoid", Activation::kHardSigmoid},
    {"", "Hardtanh", Activation::kHardTanh},
    {"", "Softsign", Activation::kSoftsign},
};

}  // namespace

std::span<const NamedActivation> more_activations() { return kMore; }

void activate_more(Activation activation, const float* x, float* out, std::int64_t n) {
  for_each_long_step<Vec>(n, [&](std::int64_t j, int count) {
    store_step<Vec>(out + j, more_activation_vec<Vec>(activation, load_step<Vec>(x + j, count)), count);
  });
}

void gate_more(Activation activation, const float* x, float* out, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i, x += 2 * cols, out += cols) {
    activate_more(activation, x, out, cols);
    for (std::int64_t j = 0; j < cols; ++j) out[j] *= x[cols + j];
  }
}

}  // namespace wattn
