// Post-processors put special tokens around and between the texts. All of them are templates: a list of pieces for one text and
// one for a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/encoding.h"
#include "tokenizer/pre_tokenized_text.h"

namespace wattn {

struct TemplatePiece {
  enum Kind : std::uint8_t { kFirst, kSecond, kSpecial };
  Kind kind;
  std::int32_t type_id;
  std::vector<std::int32_t> ids;  // of a kSpecial piece
};

// ByteLevel's and Roberta's trim_offsets: white space that a token begins or ends with is not in its span. One space that
// add_prefix_space may have put before the text was never in the text.
struct OffsetTrim {
  bool add_prefix_space;
  void apply(std::u16string_view text, SpacesAround spaces, bool is_first, TextSpan& span) const;
};

struct PostProcessor {
  std::vector<TemplatePiece> single;
  std::vector<TemplatePiece> pair;
  std::vector<OffsetTrim> trims = {};  // applied one after the other, before special tokens are put around

  // Tokens that the template adds to the text or texts.
  std::int32_t num_special_tokens(bool is_pair) const;
};

PostProcessor texts_alone();  // no special tokens

// json: the "post_processor" of a tokenizer.json; null means the texts and nothing else.
Result<PostProcessor> read_post_processor(JsonRef json);

}  // namespace wattn
