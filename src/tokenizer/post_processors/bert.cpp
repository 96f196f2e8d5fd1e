// build: -Os
// BertProcessing: [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with type 1 from B on. "sep" and "cls" are pairs of token and id.
// RobertaProcessing: <s> A </s>, and <s> A </s> </s> B </s>, all of type 0. ByteLevel: no special tokens. Both may trim offsets.
#include <algorithm>

#include "tokenizer/component.h"
#include "tokenizer/post_processors/post_processor.h"

namespace wattn {
namespace {

bool is_pair(std::u16string_view text, std::int32_t at) {
  const std::size_t i = static_cast<std::size_t>(at);
  return text[i] >= 0xD800 && text[i] < 0xDC00 && i + 1 < text.size() && text[i + 1] >= 0xDC00 && text[i + 1] < 0xE000;
}

// [token, id] under a key.
std::int32_t read_special_token(Fields& fields, std::string_view key) {
  const JsonRef pair = fields[key];
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string()) fields.fail(pair.mismatch("[token, id]"));
  return fields.id(pair[1]);
}

}  // namespace

// Spans count UTF-16 units, spaces are characters.
void OffsetTrim::apply(std::u16string_view text, SpacesAround spaces, bool is_first, TextSpan& span) const {
  const bool was_put = add_prefix_space && spaces.before == 1 && (is_first || span.begin == 0);
  // Only whitespace: skip the loop, because such ranges can overlap and all be long.
  if (!was_put && spaces.before >= span.end - span.begin) span.begin = span.end;
  for (std::int32_t i = was_put ? spaces.before : 0; i < spaces.before && span.begin < span.end; ++i) {
    span.begin += is_pair(text, span.begin) ? 2 : 1;
  }
  if (span.begin == span.end) return;
  std::int32_t end = span.end;
  std::int32_t left = spaces.after;
  for (; left > 0 && end > 0; --left) end -= end > 1 && is_pair(text, end - 2) ? 2 : 1;
  if (left == 0) span.end = std::max(end, span.begin);
}

PostProcessorResult read_bert_processing(JsonRef json, int) {
  Fields fields(json, {"sep", "cls"});
  const std::int32_t sep_id = read_special_token(fields, "sep");
  const std::int32_t cls_id = read_special_token(fields, "cls");
  if (!fields.ok()) return fields.error();
  const TemplatePiece cls{TemplatePiece::kSpecial, 0, {cls_id}}, sep{TemplatePiece::kSpecial, 0, {sep_id}};
  const TemplatePiece first{TemplatePiece::kFirst, 0, {}}, second{TemplatePiece::kSecond, 1, {}};
  const TemplatePiece last_sep{TemplatePiece::kSpecial, 1, {sep_id}};
  return PostProcessorResult(
      std::make_unique<PostProcessor>(PostProcessor{{cls, first, sep}, {cls, first, sep, second, last_sep}}));
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
  fields.boolean_or("use_regex", true);  // only affects the pre-tokenizer of this name
  if (!fields.ok()) return fields.error();
  auto out = std::make_unique<PostProcessor>(texts_alone());
  if (trim_offsets) out->trims.push_back({add_prefix_space});
  return PostProcessorResult(std::move(out));
}

}  // namespace wattn
