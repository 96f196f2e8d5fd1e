// The tables of the variants, each defined in the file of its name. A build has those that its WATTN_HAVE_* name.
#pragma once
#include "kernels/kernels.h"

namespace wattn {

extern const Kernels kKernelsScalar;
extern const Kernels kKernelsWasm;
extern const Kernels kKernelsEigen;
const Kernels& kernels_relaxed();
// Exact like kKernelsWasm, and the same on machines without exact products of bytes.
const Kernels& kernels_wasm_byte_dot();

}  // namespace wattn
