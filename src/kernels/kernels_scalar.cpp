#include "kernels/table.h"
#include "kernels/variants.h"
#include "kernels/vec_scalar.h"

namespace wattn {

const Kernels kKernelsScalar = kernels_on<VecScalar>("scalar");

}  // namespace wattn
