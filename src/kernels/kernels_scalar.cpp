#include "kernels/gemm_f32.h"
#include "kernels/rows.h"
#include "kernels/vec_scalar.h"

namespace wattn {

extern const Kernels kKernelsScalar;
const Kernels kKernelsScalar = kernels_on<VecScalar>("scalar");

}  // namespace wattn
