// Calls of a model by plain exports, which web/host/model_calls.ts makes.
#include <emscripten/emscripten.h>

#include "bindings/model.h"

namespace wattn {
extern "C" {

// As ModelHandle::embed(), with texts in the room: so many bytes of UTF-8, and their lengths.
EMSCRIPTEN_KEEPALIVE const PlainAnswer* model_embed(ModelHandle* model, std::size_t bytes, std::size_t num_texts,
                                                    std::int32_t first_text, std::int32_t steps) {
  const std::span lengths(room + (bytes + 3) / 4, num_texts);
  auto texts = std::make_unique<Texts>(std::string_view(reinterpret_cast<const char*>(room), bytes), lengths);
  return model->embed(std::move(texts), first_text, steps);
}

// The host has read the last answer.
EMSCRIPTEN_KEEPALIVE void model_clear_answer(ModelHandle* model) { model->clear_answer(); }

}  // extern "C"
}  // namespace wattn
