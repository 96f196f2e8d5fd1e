// build: -Oz
#include "tokenizer/formats/pieces.h"

#include <algorithm>

#include "core/json.h"
#include "core/utf.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/heap_sort.h"
#include "tokenizer/vocabulary.h"

namespace wattn {
namespace {

constexpr std::size_t kLongestPiece = 1024;

bool is_in_text(const Piece& piece) { return piece.kind == Piece::kNormal || piece.kind == Piece::kUserDefined; }

std::string unigram_json(const PieceModel& model, std::int32_t unk_id) {
  std::string vocab;
  for (const Piece& piece : model.pieces) {
    // SentencePiece 0.2.3 takes 0 for a user-defined symbol, whatever its score in the file. A float's sum keeps the parts that a
    // number there would round away. They decide between splits of equal scores.
    const float score = piece.kind == Piece::kUserDefined ? 0 : piece.score;
    vocab += (vocab.empty() ? "[" : ", [") + json_text(piece.text) + ", " +
             (is_in_text(piece) ? json_text(static_cast<double>(score)) : "null") + "]";
  }
  return R"({"type": "Unigram", "sentencepiece": true, "language_first": )" + std::string(json_bool(model.is_marian)) +
         (model.num_known < 0 ? "" : ", \"num_known\": " + std::to_string(model.num_known)) +
         ", \"unk_id\": " + (unk_id < 0 ? "null" : std::to_string(unk_id)) +
         ", \"byte_fallback\": " + std::string(json_bool(model.byte_fallback)) + ", \"vocab\": [" + vocab + "]}";
}

struct PieceMerge {
  std::int32_t left, right, piece;
};

// Two pieces merge if they form a piece; higher scores merge first.
std::string piece_bpe_json(const PieceModel& model, std::int32_t unk_id) {
  std::vector<std::string_view> texts;
  texts.reserve(model.pieces.size());
  for (const Piece& piece : model.pieces) texts.push_back(piece.text);
  const Result<Vocabulary> ids = Vocabulary::from_list(texts);
  std::vector<PieceMerge> merges;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!is_in_text(model.pieces[i]) || !ids.ok()) continue;
    for (std::size_t at = 1; at < texts[i].size(); ++at) {
      if ((texts[i][at] & 0xC0) == 0x80) continue;  // inside a character
      const std::int32_t left = ids.value().find(texts[i].substr(0, at)), right = ids.value().find(texts[i].substr(at));
      if (left >= 0 && right >= 0) merges.push_back({left, right, static_cast<std::int32_t>(i)});
    }
  }
  heap_sort(merges.begin(), merges.end(), [&](const PieceMerge& a, const PieceMerge& b) {
    const float first = model.pieces[static_cast<std::size_t>(a.piece)].score,
                second = model.pieces[static_cast<std::size_t>(b.piece)].score;
    if (first != second) return first > second;
    return a.left != b.left ? a.left < b.left : a.right < b.right;
  });
  std::string list;
  for (const PieceMerge& merge : merges) {
    list += (list.empty() ? "[" : ", [") + json_text(texts[static_cast<std::size_t>(merge.left)]) + ", " +
            json_text(texts[static_cast<std::size_t>(merge.right)]) + "]";
  }
  BpeParts parts{.vocab = vocab_json(texts),
                 .merges = "[" + list + "]",
                 .fuse_unk = true,
                 .byte_fallback = model.byte_fallback,
                 .num_known = model.num_known};
  if (unk_id >= 0) parts.unk_token = texts[static_cast<std::size_t>(unk_id)];
  return bpe_json(parts);
}

bool is_special(const Piece& piece) { return piece.kind == Piece::kControl || piece.kind == Piece::kUnknown; }

std::vector<SpecialToken> added_tokens(const PieceModel& model) {
  std::vector<SpecialToken> added;
  for (const Piece& piece : model.pieces) {
    const auto id = static_cast<std::int32_t>(&piece - model.pieces.data());
    const bool is_added = is_special(piece) || (model.is_bpe && piece.kind == Piece::kUserDefined);
    if (is_added) added.push_back({std::string(piece.text), id, is_special(piece)});
  }
  for (std::int32_t i = 0; i < model.num_extra_ids; ++i) {  // in descending order
    const auto id = static_cast<std::int32_t>(model.pieces.size()) + i;
    added.push_back({"<extra_id_" + std::to_string(model.num_extra_ids - 1 - i) + ">", id});
  }
  return added;
}

// The texts of the pieces for which is_wanted(piece) holds, as an array.
template <class IsWanted>
std::string texts_json(const PieceModel& model, IsWanted is_wanted) {
  std::string texts;
  for (const Piece& piece : model.pieces) {
    if (is_wanted(piece)) texts += (texts.empty() ? "" : ", ") + json_text(piece.text);
  }
  return "[" + texts + "]";
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
  }
  return out;
}

void number_pieces(const Vocabulary& ids, PieceModel& model) {
  std::vector<Piece> pieces(static_cast<std::size_t>(ids.num_ids()));
  model.num_known = ids.num_ids();
  for (std::int32_t id = 0; id < model.num_known; ++id) {
    pieces[static_cast<std::size_t>(id)] = {ids.token(id).value_or(""), 0, Piece::kUnused};
  }
  for (const Piece& piece : model.pieces) {
    if (!is_in_text(piece)) continue;
    const std::int32_t id = ids.find(piece.text);
    if (id < 0) pieces.push_back(piece);
    if (id >= 0) pieces[static_cast<std::size_t>(id)] = piece;
  }
  model.pieces = std::move(pieces);
}

Result<std::string> pieces_tokenizer_json(const PieceModel& model) {
  std::int32_t unk_id = -1;
  std::vector<SpecialToken> special;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    if (piece.text.size() > kLongestPiece) return unsupported_error("SentencePiece: expected pieces of at most 1024 bytes");
    if (!is_utf8(piece.text)) {
      return model_format_error("SentencePiece: piece " + std::to_string(id) + ": expected UTF-8, found other bytes");
    }
    if (piece.kind == Piece::kUnknown && unk_id < 0) unk_id = static_cast<std::int32_t>(id);
    if (piece.kind == Piece::kControl) special.push_back({std::string(piece.text), static_cast<std::int32_t>(id)});
  }
  const std::string user_defined = texts_json(model, [](const Piece& piece) { return piece.kind == Piece::kUserDefined; });
  TokenizerParts parts;
  parts.added_tokens = added_tokens_json(added_tokens(model));
  parts.normalizer = R"({"type": "SentencePiece", "add_dummy_prefix": )" + std::string(json_bool(model.add_dummy_prefix)) +
                     ", \"remove_extra_whitespaces\": " + std::string(json_bool(model.remove_extra_whitespaces)) +
                     ", \"precompiled_charsmap\": " + (model.charsmap.empty() ? "null" : "\"" + base64(model.charsmap) + "\"") +
                     ", \"language_first\": " + std::string(json_bool(model.is_marian)) +
                     ", \"each_part\": " + std::string(json_bool(model.each_part)) + ", \"user_defined\": " + user_defined + "}";
  parts.post_processor = template_json(model.single, model.pair, special);
  const std::string beginning =
      R"({"type": "SentencePiece", "remove_extra_whitespaces": )" + std::string(json_bool(model.remove_extra_whitespaces)) + "}, ";
  parts.decoder =
      R"({"type": "Sequence", "decoders": [)" + (model.add_dummy_prefix || model.remove_extra_whitespaces ? beginning : "") +
      R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]})";
  if (model.each_part) {
    parts.decoder = R"({"type": "Marian", "separates": )" + std::string(json_bool(model.is_marian)) + R"(, "special": )" +
                    texts_json(model, is_special) + "}";
  }
  parts.model = model.is_bpe ? piece_bpe_json(model, unk_id) : unigram_json(model, unk_id);
  return tokenizer_json(parts);
}

}  // namespace wattn
