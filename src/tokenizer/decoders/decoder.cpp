#include "tokenizer/decoders/decoder.h"

#include "tokenizer/component.h"

namespace wattn {
namespace {

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::unique_ptr<Decoder>> steps) : steps_(std::move(steps)) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) step->decode(tokens);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

DecoderResult read_sequence(JsonRef json, int depth) {
  Fields fields(json, {"decoders"});
  const JsonRef list = fields.array("decoders");
  std::vector<std::unique_ptr<Decoder>> steps;
  for (std::size_t i = 0; i < list.size() && fields.ok(); ++i) steps.push_back(fields.take(read_decoder(list[i], depth + 1)));
  return make_component<Decoder, DecoderSequence>(fields, std::move(steps));
}

constexpr ComponentReader<Decoder> kReaders[] = {
    {"BPEDecoder", read_bpe_decoder},
    {"ByteFallback", read_byte_fallback},
    {"ByteLevel", read_byte_level_decoder},
    {"CTC", read_ctc},
    {"Fuse", read_fuse},
    {"Marian", read_marian_decoder},
    {"Metaspace", read_metaspace_decoder},
    {"Replace", read_replace_decoder},
    {"Sequence", read_sequence},
    {"Strip", read_strip_decoder},
    {"WordPiece", read_wordpiece_decoder},
};

}  // namespace

DecoderResult read_decoder(JsonRef json, int depth) { return read_component<Decoder>(json, depth, "decoder", kReaders); }

}  // namespace wattn
