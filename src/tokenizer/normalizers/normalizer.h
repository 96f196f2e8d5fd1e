// Normalizers change the text before it is cut: lowercase, accents, normal forms.
#pragma once

#include <memory>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/normalized_text.h"

namespace wattn {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(NormalizedText& text) const = 0;
};

// json: the "normalizer" of a tokenizer.json, not null. depth counts enclosing Sequences.
Result<std::unique_ptr<Normalizer>> read_normalizer(JsonRef json, int depth = 0);

}  // namespace wattn
