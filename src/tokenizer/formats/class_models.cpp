// build: -Oz
// The options of a class's model, and the tokens that it adds.
#include <algorithm>
#include <optional>

#include "core/fields.h"
#include "tokenizer/formats/class_stages.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

constexpr std::string_view kMbartLanguages =
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX ro_RO ru_RU "
    "si_LK tr_TR vi_VN zh_CN";
constexpr std::string_view kMbart50Languages =
    " af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN "
    "th_TH "
    "tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI";
constexpr std::int64_t kMostExtraIds = 10000;

std::vector<std::string> words(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) out.emplace_back(next_word(list));
  return out;
}

// The index of a piece of a score (any, if none is given) in the model's vocabulary, from an index on.
std::int64_t index_of(const ClassFolder& folder, const std::vector<ScoredPiece>* pieces, std::string_view text,
                      std::optional<double> score, std::size_t from = 0) {
  const JsonRef list = folder.file["model"]["vocab"];
  for (std::size_t i = from; i < (pieces ? pieces->size() : list.size()); ++i) {
    const Result<std::string_view> own = pieces ? Result<std::string_view>((*pieces)[i].text) : list[i][std::size_t{0}].as_string();
    if (!own.ok() || own.value() != text) continue;
    const Result<double> number = pieces ? Result<double>((*pieces)[i].score) : list[i][std::size_t{1}].as_number();
    if (!score || (number.ok() && number.value() == *score)) return static_cast<std::int64_t>(i);
  }
  return -1;
}

Result<std::int64_t> unknown_index(const ClassFolder& folder, const SpecialTokens& special, const PieceModel* model) {
  const std::string_view name = folder.rules.name;
  std::vector<ScoredPiece> list;
  if (model) {
    Result<std::vector<ScoredPiece>> made = numbered_pieces(folder, special, *model);
    if (!made.ok()) return made.error();
    list = std::move(made).value();
  }
  const std::vector<ScoredPiece>* pieces = model ? &list : nullptr;
  const std::string& unk = special.content(kUnk);
  const auto or_else = [](std::int64_t found, std::int64_t fallback) { return found < 0 ? fallback : found; };
  if (name == "T5Tokenizer") return std::int64_t{2};
  if (name == "AlbertTokenizer") return std::int64_t{1};
  if (name == "CamembertTokenizer") return or_else(index_of(folder, pieces, unk, {}), 0);
  if (name == "BigBirdTokenizer") return or_else(index_of(folder, pieces, unk, 0.0), 100);
  if (name == "PegasusTokenizer") return index_of(folder, pieces, unk, 0.0, 1);
  if (name == "XLNetTokenizer" || name == "DebertaV2Tokenizer") {
    const bool is_xlnet = name == "XLNetTokenizer";
    const std::int64_t found = is_xlnet ? -1 : index_of(folder, pieces, unk, 0.0);
    if (found >= 0) return found;
    return model ? std::int64_t{model->unk_id} : class_number(folder.settings, "unk_id", is_xlnet ? 0 : 1);
  }
  return std::int64_t{3};
}

}  // namespace

std::vector<std::string> class_languages(std::string_view name) {
  std::vector<std::string> out = words(kMbartLanguages);
  if (name == "MBart50Tokenizer") {
    for (std::string& code : words(kMbart50Languages)) out.push_back(std::move(code));
  }
  return out;
}

std::string extra_id(std::int64_t number) { return "<extra_id_" + std::to_string(number) + ">"; }

Result<std::int64_t> class_number(JsonRef settings, std::string_view key, std::int64_t fallback) {
  Fields fields(settings);
  const std::int64_t number = fields.integer_or(key, fallback, 0, kMostExtraIds);
  if (!fields.ok()) return fields.error();
  return number;
}

Result<std::string> model_options(const ClassFolder& folder, const SpecialTokens& special, const PieceModel* pieces) {
  const ClassRules& rules = folder.rules;
  const std::string unk = json_text(special.content(kUnk));
  if (rules.kind == ClassKind::kWordPiece) {
    return R"({"unk_token": )" + unk + R"(, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100})";
  }
  if (rules.kind == ClassKind::kUnigram) {
    const Result<std::int64_t> id = unknown_index(folder, special, pieces);
    if (!id.ok()) return id.error();
    if (id.value() < 0) return model_format_error("tokenizer: expected the piece " + unk + " of score 0, found none");
    return R"({"byte_fallback": false, "unk_id": )" + std::to_string(id.value()) + "}";
  }
  const std::string_view name = rules.name;
  const bool ends_words = name == "CLIPTokenizer" || name == "OpenAIGPTTokenizer" || name == "HerbertTokenizer";
  const bool is_llama = name == "LlamaTokenizer", is_gemma = name == "GemmaTokenizer";
  const bool of_pieces = is_gemma || name == "NllbTokenizer";
  return concat({R"({"dropout": null, "continuing_subword_prefix": "", "ignore_merges": false, "unk_token": )",
                 ends_words || of_pieces ? std::string_view(unk) : "null", R"(, "end_of_word_suffix": ")", ends_words ? "</w>" : "",
                 "\", \"fuse_unk\": ", json_bool(of_pieces || is_llama), ", \"byte_fallback\": ", json_bool(is_llama || is_gemma),
                 "}"});
}

Result<void> add_class_tokens(const ClassFolder& folder, const PieceModel* pieces, SpecialTokens& special) {
  const std::string_view name = folder.rules.name;
  std::vector<GivenToken>& list = special.additional();
  const bool has_list = pieces || special.has_additional();
  if (pieces) {  // control and user-defined pieces, in place of any others
    list.clear();
    for (const Piece& piece : pieces->pieces) {
      const bool is_control = piece.kind == Piece::kControl;
      if (!is_control && piece.kind != Piece::kUserDefined) continue;
      list.push_back({.content = std::string(piece.text), .is_text = false, .special = is_control, .normalized = false});
    }
  }
  const auto has = [&](std::string_view text) {
    return std::any_of(list.begin(), list.end(), [&](const GivenToken& token) { return token.content == text; });
  };
  const auto add_all = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) list.push_back({.content = text});
  };
  if (name == "T5Tokenizer") {
    const Result<std::int64_t> count = class_number(folder.settings, "extra_ids", 100);
    if (!count.ok()) return count.error();
    std::int64_t found = 0;
    for (const GivenToken& token : list) found += token.content.find("<extra_id_") != std::string::npos;
    if (found > 0 && count.value() > 0 && found != count.value()) {
      return folder.settings["extra_ids"].mismatch("the number of tokens <extra_id_..> in additional_special_tokens");
    }
    for (std::int64_t i = 0; found == 0 && i < count.value(); ++i) list.push_back({.content = extra_id(i)});
  } else if (name == "CamembertTokenizer") {
    if (!has_list) add_all(words("<s>NOTUSED </s>NOTUSED <unk>NOTUSED"));
  } else if (name == "XLNetTokenizer") {
    if (!has_list) add_all(words("<eop> <eod>"));
  } else if (name == "MBartTokenizer") {
    std::vector<GivenToken> given = std::move(list);
    list.clear();
    add_all(class_languages(name));
    for (GivenToken& token : given) {
      if (!has(token.content)) list.push_back(std::move(token));
    }
  } else if (name == "MBart50Tokenizer") {
    add_all(class_languages(name));
    special.name_more(class_languages(name));
  } else if (name == "NllbTokenizer" && !has_list) {  // its languages, which are tokens of the file
    for (const GivenToken& token : special.declared()) {
      if (token.content.size() == 8 && token.content[3] == '_') list.push_back(token);
    }
  } else if (name == "PegasusTokenizer") {
    const Result<std::int64_t> offset = class_number(folder.settings, "offset", 103);
    const Result<std::string_view> sentence = folder.settings["mask_token_sent"].as_string_or("<mask_1>");
    if (!offset.ok()) return offset.error();
    if (!sentence.ok()) return sentence.error();
    const bool is_given = has(sentence.value());
    list.clear();
    if (!is_given) list.push_back({.content = std::string(sentence.value())});
    for (std::int64_t i = 2; i < offset.value(); ++i) list.push_back({.content = "<unk_" + std::to_string(i) + ">"});
  }
  return {};
}

}  // namespace wattn
