#include "kernels/gradients.h"

#include "kernels/gradients_table.h"
#include "kernels/vec_scalar.h"
#ifdef WATTN_HAVE_WASM_SIMD
#include "kernels/vec_wasm.h"
#endif

namespace wattn {
namespace {

constexpr GradientKernels kScalar = gradient_kernels_on<VecScalar>("scalar");
#ifdef WATTN_HAVE_WASM_SIMD
constexpr GradientKernels kWasm = gradient_kernels_on<VecWasm>("wasm");
#endif

constexpr const GradientKernels* kVariants[] = {
    &kScalar,
#ifdef WATTN_HAVE_WASM_SIMD
    &kWasm,
#endif
};

}  // namespace

const GradientKernels& gradient_kernels() { return *std::end(kVariants)[-1]; }

std::span<const GradientKernels* const> gradient_kernel_variants() { return kVariants; }

}  // namespace wattn
