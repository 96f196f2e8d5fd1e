// RobertaProcessing: <s> A </s>, and <s> A </s> </s> B </s>, all of type 0. ByteLevel: no special tokens. Both may trim offsets.
#include <algorithm>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/post_processors/readers.h"
#include "tokenizer/unicode.h"

namespace wattn {

SpacesAround spaces_around(std::u32string_view token) {
  const auto is_space = [](char32_t c) { return c == kByteSpace || has_flag(c, kCharWhitespace); };
  std::size_t before = 0, after = 0;
  while (before < token.size() && is_space(token[before])) ++before;
  while (after < token.size() && is_space(token[token.size() - 1 - after])) ++after;
  return {static_cast<std::int32_t>(before), static_cast<std::int32_t>(after)};
}

void OffsetTrim::apply(SpacesAround spaces, bool is_first, TextSpan& span) const {
  const bool was_put = add_prefix_space && spaces.before == 1 && (is_first || span.begin == 0);
  if (!was_put) span.begin = std::min(span.begin + spaces.before, span.end);
  if (span.end >= spaces.after) span.end = std::max(span.end - spaces.after, span.begin);
}

PostProcessorResult read_roberta_processing(JsonRef json, int) {
  Fields fields(json, {"sep", "cls", "trim_offsets", "add_prefix_space"});
  const std::int32_t sep_id = read_special_token(fields, "sep");
  const std::int32_t cls_id = read_special_token(fields, "cls");
  const bool trim_offsets = fields.boolean("trim_offsets");
  const bool add_prefix_space = fields.boolean("add_prefix_space");
  if (!fields.ok()) return fields.error();
  const TemplatePiece cls{TemplatePiece::kSpecial, 0, {cls_id}}, sep{TemplatePiece::kSpecial, 0, {sep_id}};
  const TemplatePiece first{TemplatePiece::kFirst, 0, {}}, second{TemplatePiece::kSecond, 0, {}};
  auto out = std::make_unique<PostProcessor>(PostProcessor{{cls, first, sep}, {cls, first, sep, sep, second, sep}});
  if (trim_offsets) out->trims.push_back({add_prefix_space});
  return PostProcessorResult(std::move(out));
}

PostProcessorResult read_byte_level_processing(JsonRef json, int) {
  Fields fields(json, {"add_prefix_space", "trim_offsets", "use_regex"});
  const bool trim_offsets = fields.boolean("trim_offsets");
  const bool add_prefix_space = fields.boolean("add_prefix_space");
  fields.boolean_or("use_regex", true);  // means something to the pre-tokenizer of this name only
  if (!fields.ok()) return fields.error();
  auto out = std::make_unique<PostProcessor>(texts_alone());
  if (trim_offsets) out->trims.push_back({add_prefix_space});
  return PostProcessorResult(std::move(out));
}

}  // namespace wattn
