// Post-processors put special tokens around and between the texts. All of them are templates: a list of pieces for one text and
// one for a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

struct TemplatePiece {
  enum Kind : std::uint8_t { kFirst, kSecond, kSpecial };
  Kind kind;
  std::int32_t type_id;
  std::vector<std::int32_t> ids;  // of a kSpecial piece
};

struct PostProcessor {
  std::vector<TemplatePiece> single;
  std::vector<TemplatePiece> pair;

  // Tokens that the template adds to the text or texts.
  std::int32_t num_special_tokens(bool is_pair) const;
};

// json: the "post_processor" of a tokenizer.json; null means the texts and nothing else.
Result<PostProcessor> read_post_processor(JsonRef json);

}  // namespace wattn
