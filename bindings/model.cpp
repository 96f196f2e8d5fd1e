#include "bindings/model.h"

namespace wattn {

EMSCRIPTEN_BINDINGS(model) { register_model("Model"); }

}  // namespace wattn
