// DeBERTa-v2's spm.model. transformers' DebertaV2Tokenizer (v5.23.0) takes only the pieces and their scores from it.
#include "core/json.h"
#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/writing.h"

namespace wattn {

Result<std::string> from_deberta(std::string_view file, JsonRef config) {
  const Result<PieceModel> model = read_piece_model(file);
  if (!model.ok()) return model.error();
  const Result<std::string_view> name = read_tokenizer_class(config);
  const Result<bool> lowercases = config["do_lower_case"].as_bool_or(false), splits = config["split_by_punct"].as_bool_or(false);
  if (!name.ok()) return name.error();
  if (!lowercases.ok()) return lowercases.error();
  if (!splits.ok()) return splits.error();
  if (!name.value().empty() && name.value() != "DebertaV2Tokenizer") {
    return unsupported_error(config["tokenizer_class"].where() + ": expected \"DebertaV2Tokenizer\" beside an spm.model, found " +
                             config["tokenizer_class"].describe());
  }
  const std::vector<Piece>& pieces = model.value().pieces;
  const auto id_of = [&](std::string_view text) {
    std::size_t id = 0;
    while (id < pieces.size() && pieces[id].text != text) ++id;
    return static_cast<std::int32_t>(id);
  };
  const auto count = static_cast<std::int32_t>(pieces.size());
  std::vector<SpecialToken> special;
  for (const auto& [key, text] : {std::pair("pad_token", "[PAD]"),
                                  {"cls_token", "[CLS]"},
                                  {"sep_token", "[SEP]"},
                                  {"unk_token", "[UNK]"},
                                  {"mask_token", "[MASK]"}}) {
    const std::string token(token_name(config, key, text));
    const std::int32_t id = id_of(token);
    if (id == count && key != std::string_view("mask_token")) {
      return model_format_error("spm.model: expected the token " + json_text(token) + ", found none");
    }
    special.push_back({token, id});  // the mask follows the pieces
  }
  std::string vocab;
  for (const Piece& piece : pieces) {
    if (!is_utf8(piece.text)) return model_format_error("spm.model: expected pieces in UTF-8, found other bytes");
    vocab += (vocab.empty() ? "[" : ", [") + json_text(piece.text) + ", " + json_text(static_cast<double>(piece.score)) + "]";
  }
  const std::string metaspace = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})";
  const std::string &cls = special[1].content, &sep = special[2].content, single = text_template(cls, "$A", sep);
  return tokenizer_json(
      {.added_tokens = added_tokens_json(special),
       .normalizer = R"({"type": "Sequence", "normalizers": [)" +
                     std::string(lowercases.value() ? R"({"type": "Lowercase"}, )" : "") +
                     R"({"type": "Replace", "pattern": {"Regex": "\\s{2,}|[\\n\\r\\t]"}, "content": " "}, {"type": "NFC"}, )"
                     R"({"type": "Strip", "strip_left": false, "strip_right": true}]})",
       .pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [)" +
                        std::string(splits.value() ? R"({"type": "Punctuation", "behavior": "Isolated"}, )" : "") + metaspace +
                        "]}",
       .post_processor = template_json(single, single + " " + text_template("", "$B", sep, '1'), special),
       .decoder = metaspace,
       .model = R"({"type": "Unigram", "byte_fallback": false, "unk_id": )" + std::to_string(special[3].id) + ", \"vocab\": [" +
                vocab + "]}"});
}

}  // namespace wattn
