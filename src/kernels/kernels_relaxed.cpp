#include "kernels/table.h"
#include "kernels/vec_relaxed.h"

namespace wattn {

extern const Kernels kKernelsRelaxed;
const Kernels kKernelsRelaxed = kernels_on<VecRelaxed>("relaxed");

}  // namespace wattn
