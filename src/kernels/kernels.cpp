// Which variants this build has. The build defines WATTN_HAVE_* for the files it compiles; nothing else dispatches.
#include "kernels/kernels.h"

#include "kernels/variants.h"

namespace wattn {

const Kernels& exact_kernels() {
#if defined(WATTN_HAVE_RELAXED_SIMD)
  return kernels_wasm_byte_dot();
#elif defined(WATTN_HAVE_WASM_SIMD)
  return kKernelsWasm;
#else
  return kKernelsScalar;
#endif
}

const Kernels& fast_kernels() {
#if defined(WATTN_HAVE_RELAXED_SIMD)
  return kernels_relaxed();
#elif defined(WATTN_HAVE_EIGEN)
  return kKernelsEigen;
#else
  return exact_kernels();
#endif
}

std::span<const Kernels* const> kernel_variants() {
  static const Kernels* const kVariants[] = {
      &kKernelsScalar,
#ifdef WATTN_HAVE_WASM_SIMD
      &kKernelsWasm,
#endif
#ifdef WATTN_HAVE_RELAXED_SIMD
      &kernels_wasm_byte_dot(),
      &kernels_relaxed(),
#endif
#ifdef WATTN_HAVE_EIGEN
      &kKernelsEigen,
#endif
  };
  return kVariants;
}

}  // namespace wattn
