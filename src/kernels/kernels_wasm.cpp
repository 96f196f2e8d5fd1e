#include "kernels/table.h"
#include "kernels/vec_wasm.h"

namespace wattn {

extern const Kernels kKernelsWasm;
const Kernels kKernelsWasm = kernels_on<VecWasm>("wasm");

}  // namespace wattn
