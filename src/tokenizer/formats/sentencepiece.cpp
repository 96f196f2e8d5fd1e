// SentencePiece's .model: a ModelProto (sentencepiece_model.proto) of type Unigram, BPE or character. Text is tokenized as in
// SentencePiece's own library; the special tokens around it depend on the tokenizer_class in tokenizer_config.json.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/json.h"
#include "tokenizer/component.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/writing.h"

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

bool has_piece(const PieceModel& model, std::string_view text) {
  return std::any_of(model.pieces.begin(), model.pieces.end(), [&](const Piece& piece) { return piece.text == text; });
}

// The special tokens that transformers' classes put around the text.
Result<void> read_class(JsonRef config, PieceModel& model) {
  const Result<std::string_view> read = read_tokenizer_class(config);
  if (!read.ok()) return read.error();
  const std::string_view name = read.value();
  const bool is_llama = name == "LlamaTokenizer", is_t5 = name == "T5Tokenizer", is_albert = name == "AlbertTokenizer";
  if (!name.empty() && !is_llama && !is_t5 && !is_albert) {
    return unsupported_error(config["tokenizer_class"].where() +
                             ": a SentencePiece model of this class is not supported without a " + "tokenizer.json, found " +
                             config["tokenizer_class"].describe());
  }
  if (is_albert) {
    const std::string_view cls = token_name(config, "cls_token", "[CLS]"), sep = token_name(config, "sep_token", "[SEP]");
    model.single = text_template(cls, "$A", sep);
    model.pair = model.single + " " + text_template("", "$B", sep, '1');
    if (!has_piece(model, cls) || !has_piece(model, sep)) return broken("the tokens [CLS] and [SEP]");
    return {};
  }
  const Result<bool> add_bos = config["add_bos_token"].as_bool_or(is_llama), add_eos = config["add_eos_token"].as_bool_or(is_t5);
  if (!add_bos.ok()) return add_bos.error();
  if (!add_eos.ok()) return add_eos.error();
  const std::string bos(add_bos.value() ? token_name(config, "bos_token", "<s>") : "");
  const std::string eos(add_eos.value() ? token_name(config, "eos_token", "</s>") : "");
  for (const std::string& token : {bos, eos}) {
    if (!token.empty() && !has_piece(model, token)) return broken("the token \"" + token + "\"");
  }
  model.single = text_template(bos, "$A", eos);
  model.pair = model.single + " " + text_template(bos, "$B", eos, is_t5 ? '0' : '1');
  if (is_t5) {
    const Result<std::int64_t> extra = config["extra_ids"].as_int_or(100);
    if (!extra.ok()) return extra.error();
    if (extra.value() < 0 || extra.value() > 10000) return config["extra_ids"].mismatch("a number from 0 to 10000");
    model.num_extra_ids = static_cast<std::int32_t>(extra.value());
  }
  return {};
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

Result<std::string> from_sentencepiece(std::string_view file, JsonRef config) {
  Result<PieceModel> model = read_piece_model(file);
  if (!model.ok()) return model.error();
  if (const Result<void> read = read_class(config, model.value()); !read.ok()) return read.error();
  return pieces_tokenizer_json(model.value());
}

}  // namespace wattn
