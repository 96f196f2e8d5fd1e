#include "tokenizer/decoders/decoder.h"

#include "tokenizer/component.h"
#include "tokenizer/decoders/readers.h"

namespace wattn {

namespace {

constexpr ComponentReader<Decoder> kReaders[] = {
    {"WordPiece", read_wordpiece_decoder},
};

}  // namespace

DecoderResult read_decoder(JsonRef json, int depth) { return read_component<Decoder>(json, depth, "decoder", kReaders); }

}  // namespace wattn
