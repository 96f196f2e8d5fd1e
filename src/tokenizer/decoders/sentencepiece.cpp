// build: -Oz
// The beginning of a text as SentencePiece decodes it, written by formats/pieces.cpp (no tokenizer.json has it): the mark that its
// normalizer inserted there is removed. If the normalizer also removes extra spaces, so is one mark of each further piece, up to
// the first that has more than a mark.
#include "tokenizer/component.h"
#include "tokenizer/decoders/decoder.h"

namespace wattn {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";

class SentencePieceDecoder : public Decoder {
 public:
  explicit SentencePieceDecoder(bool remove_extra_whitespaces) : remove_extra_whitespaces_(remove_extra_whitespaces) {}

  bool decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      const bool has_mark = token.starts_with(kMark);
      if (has_mark) token.erase(0, kMark.size());
      if (!token.empty() || (has_mark && !remove_extra_whitespaces_)) return true;
    }
    return true;
  }
  Sees sees() const override { return Sees::kBeginning; }

 private:
  bool remove_extra_whitespaces_;
};

}  // namespace

DecoderResult read_sentencepiece_decoder(JsonRef json, int) {
  Fields fields(json, {"remove_extra_whitespaces"});
  const bool remove_extra_whitespaces = fields.boolean("remove_extra_whitespaces");
  return make_component<Decoder, SentencePieceDecoder>(fields, remove_extra_whitespaces);
}

}  // namespace wattn
