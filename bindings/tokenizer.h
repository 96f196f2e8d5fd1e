// Calls shared by the handles of models and tokenizers: texts to encodings, ids to text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bindings/wire.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

// Flat arrays over many encodings, the answer of text_encode() (tokenizer.cpp) and a part of others.
struct FlatEncodings {
  std::uint32_t wanted = EncodedArrays::all;  // which optional arrays to fill
  std::vector<std::int32_t> ids, type_ids, special_tokens_mask, word_ids, sequence_ids;
  std::vector<TextSpan> offsets;
  std::vector<std::int32_t> lengths, untruncated, text;  // [encodings]
  std::vector<float> unknown;                            // [encodings]

  void add(const Encoding& encoding, std::int32_t text_index);
  std::span<const std::int32_t> offset_values() const { return {&offsets.data()->begin, 2 * offsets.size()}; }
};

// flags: EncodeFlags.
EncodeOptions to_encode_options(std::uint32_t flags, std::int32_t max_length, std::int32_t overlap);

// The fields of a TokenizerAnswer.
void describe(const Tokenizer& tokenizer, PlainAnswer& out);

#define WIRE_OF_TOKENIZER
#include "bindings/wire_section.h"

}  // namespace wattn
