// Decoders convert tokens to readable text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Changes the tokens so that the text is their concatenation; may merge tokens.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
};

// json: the "decoder" of a tokenizer.json, not null. depth counts enclosing Sequences.
Result<std::unique_ptr<Decoder>> read_decoder(JsonRef json, int depth = 0);

}  // namespace wattn
