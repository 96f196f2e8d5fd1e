// TemplateProcessing: "single" and "pair" are lists of {"Sequence": {id, type_id}} and {"SpecialToken": {id, type_id}}; the
// "special_tokens" say which ids a special token's name stands for.
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/component.h"
#include "tokenizer/post_processors/readers.h"

namespace wattn {

namespace {

Result<std::vector<std::int32_t>> read_special_token(JsonRef special_tokens, JsonRef name) {
  const Result<std::string_view> id = name.as_string();
  if (!id.ok()) return id.error();
  const JsonRef token = special_tokens[id.value()];
  if (!token.is_object()) return name.mismatch("a name out of special_tokens");
  if (const Result<void> known = allow_only(token, {"id", "ids", "tokens"}); !known.ok()) return known.error();
  const JsonRef list = token["ids"];
  if (!list.is_array()) return list.mismatch("an array of token ids");
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Result<std::int32_t> one = read_id(list[i]);
    if (!one.ok()) return one.error();
    ids.push_back(one.value());
  }
  return ids;
}

Result<TemplatePiece> read_piece(JsonRef json, JsonRef special_tokens) {
  if (const Result<void> known = allow_only(json, {"Sequence", "SpecialToken"}); !known.ok()) return known.error();
  const bool is_special = json["SpecialToken"].exists();
  if (json.size() != 1) return json.mismatch("an object with either Sequence or SpecialToken");
  const JsonRef body = json[is_special ? "SpecialToken" : "Sequence"];
  if (const Result<void> known = allow_only(body, {"id", "type_id"}); !known.ok()) return known.error();
  const Result<std::int32_t> type_id = read_id(body["type_id"]);
  if (!type_id.ok()) return type_id.error();
  if (is_special) {
    Result<std::vector<std::int32_t>> ids = read_special_token(special_tokens, body["id"]);
    if (!ids.ok()) return ids.error();
    return TemplatePiece{TemplatePiece::kSpecial, type_id.value(), std::move(ids).value()};
  }
  const Result<std::string_view> id = body["id"].as_string();
  if (!id.ok()) return id.error();
  if (id.value() != "A" && id.value() != "B") return body["id"].mismatch("\"A\" or \"B\"");
  return TemplatePiece{id.value() == "A" ? TemplatePiece::kFirst : TemplatePiece::kSecond, type_id.value(), {}};
}

Result<std::vector<TemplatePiece>> read_pieces(JsonRef json, JsonRef special_tokens) {
  if (!json.is_array()) return json.mismatch("an array of template pieces");
  std::vector<TemplatePiece> pieces;
  for (std::size_t i = 0; i < json.size(); ++i) {
    Result<TemplatePiece> piece = read_piece(json[i], special_tokens);
    if (!piece.ok()) return piece.error();
    pieces.push_back(std::move(piece).value());
  }
  return pieces;
}

}  // namespace

PostProcessorResult read_template_processing(JsonRef json, int) {
  if (const Result<void> known = allow_only(json, {"type", "single", "pair", "special_tokens"}); !known.ok()) {
    return known.error();
  }
  const JsonRef special_tokens = json["special_tokens"];
  if (!special_tokens.is_object()) return special_tokens.mismatch("an object of special tokens");
  Result<std::vector<TemplatePiece>> single = read_pieces(json["single"], special_tokens);
  if (!single.ok()) return single.error();
  for (const TemplatePiece& piece : single.value()) {
    if (piece.kind == TemplatePiece::kSecond) return json["single"].mismatch("a template without sequence B");
  }
  Result<std::vector<TemplatePiece>> pair = read_pieces(json["pair"], special_tokens);
  if (!pair.ok()) return pair.error();
  return PostProcessorResult(std::make_unique<PostProcessor>(PostProcessor{std::move(single).value(), std::move(pair).value()}));
}

}  // namespace wattn
