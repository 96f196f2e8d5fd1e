// SentencePiece's .model: a ModelProto (sentencepiece_model.proto) of type Unigram, BPE or character. Text is tokenized as in
// SentencePiece's own library; the special tokens around it depend on the tokenizer_class in tokenizer_config.json.
#include "core/json.h"
#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/protobuf.h"
#include "tokenizer/formats/writing.h"

namespace wattn {
namespace {

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
  return in.ok() && piece.score == piece.score && piece.score - piece.score == 0;  // a number, and finite
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

// The special tokens that transformers' classes put around the text.
Result<void> read_class(JsonRef config, PieceModel& model) {
  const Result<std::string_view> read = config["tokenizer_class"].as_string_or("");
  if (!read.ok()) return read.error();
  std::string_view name = read.value();
  if (name.ends_with("Fast")) name.remove_suffix(4);
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
    if (find_piece(model.pieces, cls) < 0 || find_piece(model.pieces, sep) < 0) return broken("the tokens [CLS] and [SEP]");
    return {};
  }
  const Result<bool> add_bos = config["add_bos_token"].as_bool_or(is_llama), add_eos = config["add_eos_token"].as_bool_or(is_t5);
  if (!add_bos.ok()) return add_bos.error();
  if (!add_eos.ok()) return add_eos.error();
  const std::string bos(add_bos.value() ? token_name(config, "bos_token", "<s>") : "");
  const std::string eos(add_eos.value() ? token_name(config, "eos_token", "</s>") : "");
  for (const std::string& token : {bos, eos}) {
    if (!token.empty() && find_piece(model.pieces, token) < 0) return broken("the token \"" + token + "\"");
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
