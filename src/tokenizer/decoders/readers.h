// One reader per decoder; decoder.cpp lists them by "type".
#pragma once

#include "tokenizer/decoders/decoder.h"

namespace wattn {

using DecoderResult = Result<std::unique_ptr<Decoder>>;

DecoderResult read_byte_level_decoder(JsonRef json, int depth);  // bytes.cpp
DecoderResult read_byte_fallback(JsonRef json, int depth);
DecoderResult read_wordpiece_decoder(JsonRef json, int depth);  // simple.cpp
DecoderResult read_metaspace_decoder(JsonRef json, int depth);
DecoderResult read_bpe_decoder(JsonRef json, int depth);
DecoderResult read_fuse(JsonRef json, int depth);
DecoderResult read_strip_decoder(JsonRef json, int depth);
DecoderResult read_replace_decoder(JsonRef json, int depth);
DecoderResult read_ctc(JsonRef json, int depth);
DecoderResult read_marian_decoder(JsonRef json, int depth);  // marian.cpp

}  // namespace wattn
