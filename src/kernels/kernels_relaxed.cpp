#include "kernels/table.h"
#include "kernels/vec_relaxed.h"

namespace wattn {

extern const Kernels kKernelsWasmDot;
const Kernels kKernelsWasmDot = kernels_on<VecWasmDot>("wasm_dot");

extern const Kernels kKernelsRelaxed;
const Kernels kKernelsRelaxed = kernels_on<VecRelaxed>("relaxed");

}  // namespace wattn
