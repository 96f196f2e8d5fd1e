// Post-processors add special tokens before, between and after the texts. All are templates: a list of pieces for one text and one
// for a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

// trim_offsets of ByteLevel and Roberta: excludes the whitespace at both ends of a token from its span, except for one space that
// add_prefix_space may have inserted before the text.
struct OffsetTrim {
  bool add_prefix_space;
  void apply(std::u16string_view text, SpacesAround spaces, bool is_first, TextSpan& span) const;
};

struct PostProcessor {
  std::vector<TemplatePiece> single;
  std::vector<TemplatePiece> pair;
  std::vector<OffsetTrim> trims = {};  // applied in order, before special tokens are added

  // Tokens that the template adds to the text or texts.
  std::int32_t num_special_tokens(bool is_pair) const;
};

using PostProcessorResult = Result<std::unique_ptr<PostProcessor>>;

PostProcessor texts_alone();  // no special tokens

// json: the "post_processor" of a tokenizer.json; null adds nothing to the texts.
Result<PostProcessor> read_post_processor(JsonRef json);

// One reader per post-processor; post_processor.cpp lists them by "type".
PostProcessorResult read_template_processing(JsonRef json, int depth);  // template.cpp
PostProcessorResult read_bert_processing(JsonRef json, int depth);      // bert.cpp
PostProcessorResult read_roberta_processing(JsonRef json, int depth);
PostProcessorResult read_byte_level_processing(JsonRef json, int depth);

}  // namespace wattn
