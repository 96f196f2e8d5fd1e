// Pre-tokenizers cut the normalized text into the pieces that the model sees one at a time.
#pragma once

#include <memory>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/pre_tokenized_text.h"

namespace wattn {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void pre_tokenize(PreTokenizedText& text) const = 0;
};

// json: the "pre_tokenizer" of a tokenizer.json, not null. depth counts enclosing Sequences.
Result<std::unique_ptr<PreTokenizer>> read_pre_tokenizer(JsonRef json, int depth = 0);

}  // namespace wattn
