// Calls shared by the handles of models and tokenizers: texts to encodings, ids to text.
#pragma once

#include "bindings/convert.h"
#include "bindings/plain_answer.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

// Flat arrays over many encodings, the answer of text_encode() (tokenizer.cpp) and a part of others.
struct FlatEncodings {
  // Which optional arrays to fill: bits.
  enum Wanted : unsigned {
    kTypeIds = 1,
    kOffsets = 2,
    kSpecialTokensMask = 4,
    kWordIds = 8,
    kSequenceIds = 16,
    kPerEncoding = 32,  // lengths, untruncated, unknown, text
    kAll = 63
  };
  unsigned wanted = kAll;
  std::vector<std::int32_t> ids, type_ids, special_tokens_mask, word_ids, sequence_ids;
  std::vector<TextSpan> offsets;
  std::vector<std::int32_t> lengths, untruncated, text;  // [encodings]
  std::vector<float> unknown;                            // [encodings]

  void add(const Encoding& encoding, std::int32_t text_index);
  // Sets the arrays as fields of an answer, which must keep this.
  void set_on(PlainAnswer& out) const;
};

// flags: toFlags() of web/host/text_calls.ts makes them.
EncodeOptions to_encode_options(std::uint32_t flags, std::int32_t max_length, std::int32_t overlap);

// What the host writes (text_room() in tokenizer.cpp): ids, or UTF-8 and behind it, from the next multiple of 4 on, the lengths of
// the texts in UTF-16 units.
extern std::int32_t* room;

// Answer: text.
val text_answer(const Result<std::string>& text);

// Answer: vocab_size, model_max_length (undefined if there is none).
val describe(const Tokenizer& tokenizer);

}  // namespace wattn
