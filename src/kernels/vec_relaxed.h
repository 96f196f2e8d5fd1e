// vec_wasm.h with the relaxed multiply-add: one rounding where the machine has it, so results differ between machines.
#pragma once

#include "kernels/vec_wasm.h"

namespace wattn {

struct VecRelaxed : VecWasm {
  static F32 madd(F32 a, F32 b, F32 c) { return wasm_f32x4_relaxed_madd(a, b, c); }
};

}  // namespace wattn
