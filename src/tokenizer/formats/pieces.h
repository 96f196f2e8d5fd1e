// SentencePiece pieces, from a .model file or a GGUF, and the tokenizer.json made from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace wattn {

struct Piece {
  enum Kind : std::uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };  // numbered as in both formats

  std::string_view text;
  float score = 0;
  std::uint8_t kind = kNormal;
};

class Vocabulary;

struct PieceModel {
  std::vector<Piece> pieces;
  bool is_bpe = false;
  bool byte_fallback = false;
  std::int32_t unk_id = 0, bos_id = 1, eos_id = 2;  // trainer_spec's, as are their pieces
  std::string_view unk_piece = "<unk>", bos_piece = "<s>", eos_piece = "</s>";
  std::string_view charsmap;  // empty: no table
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  std::int32_t num_extra_ids = 0;  // T5's <extra_id_..> after the pieces
  std::int32_t num_known = -1;     // later pieces only affect how text is split and become the unknown token; -1: none do
  // Every part of a text between special tokens is tokenized and decoded as a text of its own.
  bool each_part = false;
  bool is_marian = false;       // a text may begin with its language (>>fra<<), and decoding separates special tokens
  std::string single = "$A:0";  // templates for template_json
  std::string pair = "$A:0 $B:1";
};

// The table as text, for tokenizer.json.
std::string base64(std::string_view bytes);

// Reads a .model or .spm file, whose bytes must outlive the result (sentencepiece.cpp).
Result<PieceModel> read_piece_model(std::string_view file);

// Puts the pieces in the order of a vocab.json. Those that it lacks come last, because they still affect how text is split.
void number_pieces(const Vocabulary& ids, PieceModel& model);

Result<std::string> pieces_tokenizer_json(const PieceModel& model);

}  // namespace wattn
