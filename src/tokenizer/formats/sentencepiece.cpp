// build: -Oz
// SentencePiece's .model: a ModelProto (sentencepiece_model.proto) of type Unigram, BPE or character.
#include <bit>
#include <cstdint>

#include "tokenizer/formats/pieces.h"

namespace wattn {
namespace {

// A reader of Protocol Buffers' wire format: one field of a message after the other, without a schema.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // Moves to the next field. Returns false at the end, and if the bytes are malformed (see ok()).
  bool next() {
    number_ = 0;
    bytes_ = {};
    if (!ok_ || rest_.empty()) return false;
    std::uint64_t tag = 0;
    if (!read_varint(tag) || tag >> 3 == 0 || tag >> 32 != 0) return fail();
    field_ = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        return read_varint(number_) || fail();
      case 1:
        return read_fixed(8) || fail();
      case 2: {
        std::uint64_t size = 0;
        if (!read_varint(size) || size > rest_.size()) return fail();
        bytes_ = rest_.substr(0, static_cast<std::size_t>(size));
        rest_.remove_prefix(bytes_.size());
        return true;
      }
      case 5:
        return read_fixed(4) || fail();
      default:  // groups are obsolete
        return fail();
    }
  }
  bool ok() const { return ok_; }

  std::uint32_t field() const { return field_; }
  std::uint64_t number() const { return number_; }   // of a varint, or the bits of a fixed field; else 0
  std::string_view bytes() const { return bytes_; }  // of a string, bytes or message; else empty
  float real() const { return std::bit_cast<float>(static_cast<std::uint32_t>(number_)); }

 private:
  bool fail() { return ok_ = false; }

  bool read_varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const std::uint8_t byte = static_cast<std::uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return true;
    }
    return false;
  }

  bool read_fixed(std::size_t bytes) {
    if (rest_.size() < bytes) return false;
    for (std::size_t i = 0; i < bytes; ++i) number_ |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(rest_[i])) << (8 * i);
    rest_.remove_prefix(bytes);
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
  std::uint32_t field_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

constexpr std::string_view kFile = "SentencePiece .model: ";

Error broken(std::string_view what) {
  return model_format_error(std::string(kFile) + "expected " + std::string(what) + ", found other bytes");
}

bool read_piece(std::string_view bytes, Piece& piece) {
  ProtobufReader in(bytes);
  while (in.next()) {
    if (in.field() == 1) piece.text = in.bytes();
    if (in.field() == 2) piece.score = in.real();
    if (in.field() == 3) piece.kind = static_cast<std::uint8_t>(in.number());
  }
  return in.ok() && piece.score - piece.score == 0;  // finite and not NaN
}

Result<void> read_trainer_spec(std::string_view bytes, PieceModel& model) {
  ProtobufReader in(bytes);
  while (in.next()) {
    // A character model can split a text in only one way, which Unigram finds too.
    if (in.field() == 3 && in.number() != 1 && in.number() != 2 && in.number() != 4) {
      return unsupported_error(std::string(kFile) + "expected the type Unigram (1), BPE (2) or character (4), found " +
                               std::to_string(in.number()));
    }
    if (in.field() == 3) model.is_bpe = in.number() == 2;
    if (in.field() == 40) model.unk_id = static_cast<std::int32_t>(in.number());
    if (in.field() == 41) model.bos_id = static_cast<std::int32_t>(in.number());
    if (in.field() == 42) model.eos_id = static_cast<std::int32_t>(in.number());
    if (in.field() == 45) model.unk_piece = in.bytes();
    if (in.field() == 46) model.bos_piece = in.bytes();
    if (in.field() == 47) model.eos_piece = in.bytes();
    if (in.field() == 35) model.byte_fallback = in.number() != 0;
    if (in.field() == 24 && in.number() != 0) {
      return unsupported_error(std::string(kFile) + "treat_whitespace_as_suffix is not supported");
    }
  }
  return in.ok() ? Result<void>() : broken("a TrainerSpec");
}

Result<void> read_normalizer_spec(std::string_view bytes, PieceModel& model) {
  ProtobufReader in(bytes);
  while (in.next()) {
    if (in.field() == 2) model.charsmap = in.bytes();
    if (in.field() == 3) model.add_dummy_prefix = in.number() != 0;
    if (in.field() == 4) model.remove_extra_whitespaces = in.number() != 0;
    if (in.field() == 5 && in.number() == 0)
      return unsupported_error(std::string(kFile) + "escape_whitespaces: false is not supported");
  }
  return in.ok() ? Result<void>() : broken("a NormalizerSpec");
}

}  // namespace

Result<PieceModel> read_piece_model(std::string_view file) {
  PieceModel model;
  ProtobufReader in(file);
  while (in.next()) {
    Result<void> read;
    if (in.field() == 1) {
      model.pieces.emplace_back();
      if (!read_piece(in.bytes(), model.pieces.back())) read = broken("a piece");
    }
    if (in.field() == 2) read = read_trainer_spec(in.bytes(), model);
    if (in.field() == 3) read = read_normalizer_spec(in.bytes(), model);
    if (!read.ok()) return read.error();
  }
  if (!in.ok() || model.pieces.empty()) return broken("a ModelProto with pieces");
  return model;
}

}  // namespace wattn
