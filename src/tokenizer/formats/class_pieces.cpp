// build: -Oz
// The models of classes that read SentencePiece's pieces, as convert_slow_tokenizer.py (5.24.0) numbers them.
#include <algorithm>

#include "core/utf.h"
#include "tokenizer/formats/class_stages.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/vocabulary.h"

namespace wattn {
namespace {

// The token of a role as a file names it, or the fallback: what convert_from_spm sees, which knows no defaults of the class.
std::string named(const SpecialTokens& special, Role role, std::string_view fallback) {
  return special.is_named(role) ? special.content(role) : std::string(fallback);
}

// generate_merges: the parts of each piece, in the order of the file, shorter beginnings first.
Result<std::string> merges_of(const PieceModel& model) {
  std::vector<std::string_view> texts;
  texts.reserve(model.pieces.size());
  for (const Piece& piece : model.pieces) texts.push_back(piece.text);
  const Result<Vocabulary> ids = Vocabulary::from_list(texts);
  if (!ids.ok()) return ids.error();
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (ids.value().find(texts[i]) != static_cast<std::int32_t>(i)) continue;  // the last of equal pieces counts
    for (std::size_t at = 1; at < texts[i].size(); ++at) {
      if ((texts[i][at] & 0xC0) == 0x80) continue;  // inside a character
      const std::string_view left = texts[i].substr(0, at), right = texts[i].substr(at);
      if (ids.value().find(left) < 0 || ids.value().find(right) < 0) continue;
      out += (out.empty() ? "[" : ", [") + json_text(left) + ", " + json_text(right) + "]";
    }
  }
  return "[" + out + "]";
}

}  // namespace

Result<std::vector<ScoredPiece>> numbered_pieces(const ClassFolder& folder, const SpecialTokens& special, const PieceModel& model) {
  const std::string_view name = folder.rules.name;
  std::vector<ScoredPiece> out;
  std::size_t from = 0;
  std::vector<ScoredPiece> after;
  const auto add = [&](std::string text, double score = 0) { out.push_back({std::move(text), score}); };
  const bool is_mbart = name == "MBartTokenizer" || name == "MBart50Tokenizer";
  if (name == "XLMRobertaTokenizer" || is_mbart) {
    add(name == "MBart50Tokenizer" ? named(special, kCls, "<s>") : named(special, kBos, "<s>"));
    add(named(special, kPad, "<pad>"));
    add(named(special, kEos, "</s>"));
    add(named(special, kUnk, "<unk>"));
    from = 3;
    if (is_mbart) {
      for (std::string& code : class_languages(name)) after.push_back({std::move(code)});
    }
    after.push_back({named(special, kMask, "<mask>")});
  } else if (name == "CamembertTokenizer") {
    add("<s>NOTUSED");
    add(named(special, kPad, "<pad>"));
    add("</s>NOTUSED");
    add(named(special, kUnk, "<unk>"));
    add("<unk>NOTUSED", -100);
    from = 1;
    after.push_back({named(special, kMask, "<mask>")});
  } else if (name == "PegasusTokenizer") {
    const Result<std::int64_t> offset = class_number(folder.settings, "offset", 103);
    const Result<std::string_view> sentence = folder.settings["mask_token_sent"].as_string_or("<mask_2>");
    if (!offset.ok()) return offset.error();
    if (!sentence.ok()) return sentence.error();
    const std::string mask = named(special, kMask, "<mask_1>");
    add(named(special, kPad, "<pad>"));
    add(named(special, kEos, "</s>"));
    add(mask);
    if (sentence.value() != mask) add(std::string(sentence.value()));
    for (std::int64_t i = 2; i < offset.value(); ++i) add("<unk_" + std::to_string(i) + ">", -100);
    from = 2;
  } else if (name == "T5Tokenizer") {
    const Result<std::int64_t> count = class_number(folder.settings, "extra_ids", 100);
    if (!count.ok()) return count.error();
    for (std::int64_t i = count.value(); i-- > 0;) after.push_back({extra_id(i)});
  } else if (name == "NllbTokenizer") {
    add(named(special, kBos, "<s>"));
    add(named(special, kPad, "<pad>"));
    add(named(special, kEos, "</s>"));
    add(named(special, kUnk, "<unk>"));
  }
  const std::size_t num_first = out.size();
  for (std::size_t i = from; i < model.pieces.size(); ++i) {
    const std::string_view text = model.pieces[i].text;
    const auto is_same = [&](const ScoredPiece& each) { return each.text == text; };
    if (name == "NllbTokenizer" && std::any_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(num_first), is_same))
      continue;
    add(std::string(text), static_cast<double>(model.pieces[i].score));
  }
  for (ScoredPiece& each : after) out.push_back(std::move(each));
  return out;
}

Result<std::string> model_of_pieces(const ClassFolder& folder, const SpecialTokens& special, const PieceModel& model) {
  Result<std::vector<ScoredPiece>> made = numbered_pieces(folder, special, model);
  if (!made.ok()) return made.error();
  std::string list;
  for (std::size_t i = 0; i < made.value().size(); ++i) {
    const ScoredPiece& piece = made.value()[i];
    if (!is_utf8(piece.text)) {
      return model_format_error("SentencePiece: piece " + std::to_string(i) + ": expected UTF-8, found other bytes");
    }
    list += list.empty() ? "" : ", ";
    if (folder.rules.kind == ClassKind::kUnigram) {
      list += "[" + json_text(piece.text) + ", " + json_text(piece.score) + "]";
    } else {
      list += json_text(piece.text) + ": " + std::to_string(i);
    }
  }
  if (folder.rules.kind == ClassKind::kUnigram) return R"({"type": "Unigram", "vocab": [)" + list + "]}";
  const Result<std::string> merges = merges_of(model);
  if (!merges.ok()) return merges.error();
  return R"({"type": "BPE", "vocab": {)" + list + "}, \"merges\": " + merges.value() + "}";
}

}  // namespace wattn
