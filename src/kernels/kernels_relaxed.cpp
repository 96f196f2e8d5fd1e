// The variants for relaxed SIMD. The machine's form of the byte product is detected once, on first use.
#include "kernels/table.h"
#include "kernels/variants.h"
#include "kernels/vec_relaxed.h"

namespace wattn {
namespace {

template <class V, ByteDotForm kForm>
void use_byte_dot(Kernels& kernels) {
  using Bytes = WithByteDot<typename V::Exact, kForm>;
  use_q8<V, Bytes, ByteDot<Bytes>>(kernels);
}

template <class V>
Kernels with_byte_dot(const char* name, const char* name_with) {
  Kernels kernels = kernels_on<V>(name);
  switch (byte_dot_form()) {
    case ByteDotForm::kNone:
      return kernels;
    case ByteDotForm::kUnsigned:
      use_byte_dot<V, ByteDotForm::kUnsigned>(kernels);
      break;
    case ByteDotForm::kUnsignedPairs:
      use_byte_dot<V, ByteDotForm::kUnsignedPairs>(kernels);
      break;
    case ByteDotForm::kSigned:
      use_byte_dot<V, ByteDotForm::kSigned>(kernels);
      break;
  }
  kernels.name = name_with;
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
