// build: -Os
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

void activate_more(Activation activation, const float* x, float* out, std::int64_t n) {
  map_row<Vec, 1>({x}, out, n, [&](Vec::F32 lanes) { return more_activation_vec<Vec>(activation, lanes); });
}

}  // namespace

const MoreActivations kMoreActivations{kMore, activate_more};

}  // namespace wattn
