// The WebAssembly of the common models, small for pages. Where it answers with an UnsupportedError, web/engine loads the full one.
#include "bindings/model.h"
#include "models/arch.h"

namespace wattn {

// Defined here, so that the linker leaves out models/more_archs.cpp and what only it refers to.
std::span<const Arch* const> more_archs() { return {}; }

EMSCRIPTEN_BINDINGS(model) { register_model("Model"); }

}  // namespace wattn
