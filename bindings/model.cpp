// The WebAssembly of the common models, small for pages. Where it answers with an UnsupportedError, web/engine loads the full one.
#include "bindings/model.h"

#include <emscripten/emscripten.h>

#include "core/part.h"
#include "tokenizer/formats/folder.h"

namespace wattn {
namespace {

[[maybe_unused]] const bool kAdded = Part<FolderReader>::add(kPlainFolders);

}  // namespace

extern "C" EMSCRIPTEN_KEEPALIVE Handle* make_model() { return new ModelHandle(); }

}  // namespace wattn
