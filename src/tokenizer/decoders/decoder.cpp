// build: -Oz
#include "tokenizer/decoders/decoder.h"

#include <algorithm>

#include "tokenizer/component.h"

namespace wattn {
namespace {

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::unique_ptr<Decoder>> steps) : steps_(std::move(steps)) {}
  bool decode(std::vector<std::string>& tokens) const override {
    return std::all_of(steps_.begin(), steps_.end(), [&](const auto& step) { return step->decode(tokens); });
  }
  std::span<const std::unique_ptr<Decoder>> steps() const override { return steps_; }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

DecoderResult read_sequence(JsonRef json, int depth) {
  Fields fields(json, {"decoders"});
  std::vector<std::unique_ptr<Decoder>> steps;
  fields.each(fields.array("decoders"), [&](JsonRef step) { steps.push_back(fields.take(read_decoder(step, depth + 1))); });
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
    {"SentencePiece", read_sentencepiece_decoder},
    {"Sequence", read_sequence},
    {"Strip", read_strip_decoder},
    {"WordEnd", read_word_end},
    {"WordPiece", read_wordpiece_decoder},
};

}  // namespace

bool TokenDecoder::decode(std::vector<std::string>& tokens) const {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string text(tokens[i].size() + 1, '\0');
    text.resize(static_cast<std::size_t>(write(tokens[i], i == 0, text.data()) - text.data()));
    tokens[i] = std::move(text);
  }
  return true;
}

DecoderResult read_decoder(JsonRef json, int depth) { return read_component<Decoder>(json, depth, "decoder", kReaders); }

}  // namespace wattn
