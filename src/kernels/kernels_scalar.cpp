#include "kernels/table.h"
#include "kernels/vec_scalar.h"

namespace wattn {

extern const Kernels kKernelsScalar;
const Kernels kKernelsScalar = kernels_on<VecScalar>("scalar");

}  // namespace wattn
