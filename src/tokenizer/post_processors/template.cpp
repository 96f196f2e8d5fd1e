// build: -Os
// TemplateProcessing: "single" and "pair" are lists of {"Sequence": {id, type_id}} and {"SpecialToken": {id, type_id}};
// "special_tokens" maps the names of special tokens to ids.
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/component.h"
#include "tokenizer/post_processors/post_processor.h"

namespace wattn {
namespace {

constexpr std::size_t kMostSpecialTokens = 1 << 16;  // of a text; real templates have a few

// The ids of a special token, by its name.
std::vector<std::int32_t> read_special_ids(JsonRef special_tokens, JsonRef name, Fields& piece) {
  const std::string_view id = piece.take(name.as_string());
  if (!piece.ok()) return {};
  if (!special_tokens[id].is_object()) piece.fail(name.mismatch("a name in special_tokens"));
  Fields token(special_tokens[id], {"id", "ids", "tokens"});
  const JsonRef list = token.array("ids");
  std::vector<std::int32_t> ids;
  ids.reserve(list.size());
  token.each(list, [&](JsonRef value) { ids.push_back(token.id(value)); });
  if (!token.ok()) piece.fail(token.error());
  return ids;
}

TemplatePiece read_piece(JsonRef json, JsonRef special_tokens, Fields& processor) {
  const bool is_special = json["SpecialToken"].exists();
  Fields either(json, {is_special ? "SpecialToken" : "Sequence"});
  Fields piece(json[is_special ? "SpecialToken" : "Sequence"], {"id", "type_id"});
  TemplatePiece out{TemplatePiece::kSpecial, piece.id("type_id"), {}};
  if (is_special) {
    out.ids = read_special_ids(special_tokens, piece["id"], piece);
  } else {
    const std::string_view id = piece.string("id");
    if (piece.ok() && id != "A" && id != "B") piece.fail(piece["id"].mismatch("\"A\" or \"B\""));
    out.kind = id == "A" ? TemplatePiece::kFirst : TemplatePiece::kSecond;
  }
  if (!either.ok()) processor.fail(either.error());
  if (!piece.ok()) processor.fail(piece.error());
  return out;
}

std::vector<TemplatePiece> read_pieces(Fields& processor, std::string_view key) {
  const JsonRef list = processor.array(key);
  std::vector<TemplatePiece> pieces;
  pieces.reserve(list.size());
  std::size_t count = 0;  // special tokens: a name may stand for many, and occur often
  processor.each(list, [&](JsonRef json) {
    pieces.push_back(read_piece(json, processor["special_tokens"], processor));
    count += pieces.back().ids.size();
    if (count > kMostSpecialTokens) {
      processor.fail(list.mismatch("at most " + std::to_string(kMostSpecialTokens) + " special tokens"));
    }
  });
  return pieces;
}

}  // namespace

PostProcessorResult read_template_processing(JsonRef json, int) {
  Fields fields(json, {"single", "pair", "special_tokens"});
  if (fields.ok() && !fields["special_tokens"].is_object()) fields.mismatch("special_tokens", "an object of special tokens");
  PostProcessor out{read_pieces(fields, "single"), read_pieces(fields, "pair")};
  for (const TemplatePiece& piece : out.single) {
    if (piece.kind == TemplatePiece::kSecond) fields.fail(fields["single"].mismatch("a template without sequence B"));
  }
  if (!fields.ok()) return fields.error();
  return PostProcessorResult(std::make_unique<PostProcessor>(std::move(out)));
}

}  // namespace wattn
