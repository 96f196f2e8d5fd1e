// One reader per decoder; decoder.cpp lists them by "type".
#pragma once

#include "tokenizer/decoders/decoder.h"

namespace wattn {

using DecoderResult = Result<std::unique_ptr<Decoder>>;

DecoderResult read_wordpiece_decoder(JsonRef json, int depth);  // wordpiece.cpp

}  // namespace wattn
