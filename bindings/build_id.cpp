#include <emscripten/bind.h>

#include <string>

EMSCRIPTEN_BINDINGS(build_id) {
  emscripten::function("build_id", +[] { return std::string(WATTN_BUILD_ID); });
}
