#include "kernels/table.h"
#include "kernels/variants.h"
#include "kernels/vec_wasm.h"

namespace wattn {

const Kernels kKernelsWasm = kernels_on<VecWasm>("wasm");

}  // namespace wattn
