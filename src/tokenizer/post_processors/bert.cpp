// BertProcessing: [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with type 1 from B on. "sep" and "cls" are pairs of token and id.
#include "tokenizer/post_processors/readers.h"

namespace wattn {

std::int32_t read_special_token(Fields& fields, std::string_view key) {
  const JsonRef pair = fields[key];
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string()) fields.fail(pair.mismatch("[token, id]"));
  return fields.id(pair[1]);
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

}  // namespace wattn
