// SentencePiece pieces, from a .model file or from a GGUF, and the tokenizer.json that they make.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace wattn {

struct Piece {
  enum Kind : std::uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };  // the numbers of both formats

  std::string_view text;
  float score = 0;
  std::uint8_t kind = kNormal;
};

struct PieceModel {
  std::vector<Piece> pieces;
  bool is_bpe = false;
  bool byte_fallback = false;
  std::string_view charsmap;  // bytes; empty: no table
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  std::int32_t num_extra_ids = 0;  // T5's <extra_id_..> after the pieces
  std::int32_t num_known = -1;     // pieces from here on cut the text and are then the unknown token; -1: there are none
  bool is_marian = false;          // a text may begin with its language (>>fra<<), and decoding sets special tokens apart
  std::string single = "$A:0";     // templates, as template_json takes them
  std::string pair = "$A:0 $B:1";
};

// Of a .model or .spm file, whose bytes must outlive it (sentencepiece.cpp).
Result<PieceModel> read_piece_model(std::string_view file);

Result<std::string> pieces_tokenizer_json(const PieceModel& model);

// The id of a piece by its text, or -1.
std::int32_t find_piece(const std::vector<Piece>& pieces, std::string_view text);

}  // namespace wattn
