// BertProcessing: [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with type 1 from B on. "sep" and "cls" are pairs of token and id.
#include "tokenizer/component.h"
#include "tokenizer/post_processors/readers.h"

namespace wattn {

namespace {

Result<std::int32_t> read_token(JsonRef json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_string()) return json.mismatch("[token, id]");
  return read_id(json[1]);
}

}  // namespace

PostProcessorResult read_bert_processing(JsonRef json, int) {
  if (const Result<void> known = allow_only(json, {"type", "sep", "cls"}); !known.ok()) return known.error();
  const Result<std::int32_t> sep_id = read_token(json["sep"]);
  if (!sep_id.ok()) return sep_id.error();
  const Result<std::int32_t> cls_id = read_token(json["cls"]);
  if (!cls_id.ok()) return cls_id.error();
  const TemplatePiece cls{TemplatePiece::kSpecial, 0, {cls_id.value()}};
  const TemplatePiece sep{TemplatePiece::kSpecial, 0, {sep_id.value()}}, last_sep{TemplatePiece::kSpecial, 1, {sep_id.value()}};
  const TemplatePiece first{TemplatePiece::kFirst, 0, {}}, second{TemplatePiece::kSecond, 1, {}};
  return PostProcessorResult(
      std::make_unique<PostProcessor>(PostProcessor{{cls, first, sep}, {cls, first, sep, second, last_sep}}));
}

}  // namespace wattn
