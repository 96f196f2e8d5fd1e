// The variants of relaxed SIMD. Which form of the byte product this machine has is asked once, when they are first used.
#include "kernels/table.h"
#include "kernels/vec_relaxed.h"

namespace wattn {
namespace {

template <class V>
Kernels with_byte_dot(const char* name, const char* name_with) {
  Kernels kernels = kernels_on<V>(name);
  const ByteDotForm form = byte_dot_form();
  if (form == ByteDotForm::kNone) return kernels;
  kernels.name = name_with;
  using Unsigned = WithByteDot<V, 0>;
  using Signed = WithByteDot<V, 128>;
  if (form == ByteDotForm::kUnsigned) use_q8<Unsigned, ByteDot<Unsigned>>(kernels);
  if (form == ByteDotForm::kSigned) use_q8<Signed, ByteDot<Signed>>(kernels);
  return kernels;
}

}  // namespace

const Kernels& kernels_relaxed() {
  static const Kernels kKernels = with_byte_dot<VecRelaxed>("relaxed", "relaxed, byte dot");
  return kKernels;
}

const Kernels& kernels_wasm_byte_dot() {
  static const Kernels kKernels = with_byte_dot<VecWasm>("wasm", "wasm, byte dot");
  return kKernels;
}

}  // namespace wattn
