// build: -Oz
// vocab.json and sentencepiece.bpe.model, as in M2M-100's models: the SentencePiece model splits the text, vocab.json has the
// pieces' ids, and the languages follow them. Matches transformers' M2M100Tokenizer (v5.23.0). A text begins with its language:
// src_lang of tokenizer_config.json, or English.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/fields.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/vocabulary.h"

namespace wattn {
namespace {

// By language_codes; in the order of their ids.
constexpr std::pair<std::string_view, std::string_view> kLanguages[] = {
    {"m2m100",
     "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig ilo "
     "is it "
     "ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su "
     "sv sw "
     "ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"},
    {"wmt21", "en ha is ja cs ru zh de"}};

}  // namespace

Result<std::string> from_m2m_100(std::string_view spm, std::string_view vocab_json, JsonRef config) {
  const Result<Json> none = Json::parse("{}", "tokenizer_config.json");
  Fields fields(config.is_object() ? config : none.value().root());
  const std::string_view codes = fields.choice("language_codes", kLanguages, "m2m100");
  const std::string source = "__" + std::string(fields.string_or("src_lang", "en")) + "__";
  if (!fields.ok()) return fields.error();
  Result<PieceModel> read = read_piece_model(spm);
  if (!read.ok()) return read.error();
  PieceModel& model = read.value();
  const Result<Json> document = Json::parse(vocab_json, "vocab.json");
  if (!document.ok()) return document.error();
  const Result<Vocabulary> vocabulary = Vocabulary::from_json(document.value().root());
  if (!vocabulary.ok()) return vocabulary.error();
  number_pieces(vocabulary.value(), model);
  const std::string_view unk = token_name(config, "unk_token", "<unk>"), eos = token_name(config, "eos_token", "</s>");
  for (const std::string_view name : {unk, eos, token_name(config, "bos_token", "<s>"), token_name(config, "pad_token", "<pad>")}) {
    const std::int32_t id = vocabulary.value().find(name);
    if (id >= 0) model.pieces[static_cast<std::size_t>(id)].kind = name == unk ? Piece::kUnknown : Piece::kControl;
    if (id < 0 && (name == unk || name == eos)) return document.value().root()[name].mismatch("an id");
  }
  std::vector<std::string> languages;
  for (std::size_t at = 0; at < codes.size(); at = std::min(codes.find(' ', at), codes.size() - 1) + 1) {
    languages.push_back("__" + std::string(codes.substr(at, codes.find(' ', at) - at)) + "__");
  }
  model.each_part = true;
  std::vector<Piece> more;
  more.reserve(languages.size());
  for (const std::string& language : languages) more.push_back({language, 0, Piece::kControl});
  model.pieces.insert(model.pieces.begin() + model.num_known, more.begin(), more.end());
  model.num_known += static_cast<std::int32_t>(more.size());
  if (std::find(languages.begin(), languages.end(), source) == languages.end())
    return config["src_lang"].mismatch("one of " + std::string(codes));
  model.single = text_template(source, "$A", eos);
  model.pair = text_template(source, "$A:0 $B", eos);
  return pieces_tokenizer_json(model);
}

}  // namespace wattn
