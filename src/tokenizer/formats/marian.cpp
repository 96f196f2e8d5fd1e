// build: -Oz
// vocab.json and source.spm, as in OPUS-MT's models: the SentencePiece model splits the text, and vocab.json has the pieces' ids.
// Matches transformers' MarianTokenizer (v5.23.0) without its normalization of punctuation. source.spm also serves for decoding,
// where target.spm makes no difference.
#include <vector>

#include "tokenizer/formats/converters.h"
#include "tokenizer/formats/pieces.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/vocabulary.h"

namespace wattn {

Result<std::string> from_marian(std::string_view source_spm, std::string_view vocab_json, JsonRef config) {
  const Result<bool> separate = config["separate_vocabs"].as_bool_or(false);
  if (!separate.ok()) return separate.error();
  if (separate.value()) {
    return unsupported_error(
        config["separate_vocabs"].where() +
        ": expected one vocabulary for both languages (false), found true: target_vocab.json is not supported");
  }
  Result<PieceModel> read = read_piece_model(source_spm);
  if (!read.ok()) return read.error();
  PieceModel& model = read.value();
  if (model.is_bpe) return unsupported_error("source.spm: expected the type Unigram (1), found BPE (2)");
  const Result<Json> document = Json::parse(vocab_json, "vocab.json");
  if (!document.ok()) return document.error();
  const JsonRef root = document.value().root();
  const Result<Vocabulary> vocabulary = Vocabulary::from_json(root);
  if (!vocabulary.ok()) return vocabulary.error();

  number_pieces(vocabulary.value(), model);
  const std::string_view unk = token_name(config, "unk_token", "<unk>"), eos = token_name(config, "eos_token", "</s>");
  for (const std::string_view name : {unk, eos, token_name(config, "pad_token", "<pad>")}) {
    const std::int32_t id = vocabulary.value().find(name);
    if (id >= 0) model.pieces[static_cast<std::size_t>(id)].kind = name == unk ? Piece::kUnknown : Piece::kControl;
    if (id < 0 && (name == unk || name == eos)) return root[name].mismatch("an id");
  }
  model.is_marian = model.each_part = true;
  model.single = text_template("", "$A", eos);
  model.pair = "$A:0 " + text_template("", "$B", eos);
  return pieces_tokenizer_json(model);
}

}  // namespace wattn
