// The fast path of byte-level BPE, in place of the stages. One pass over the text's UTF-8 divides words, by a pattern that
// WordPattern knows, and looks up their tokens. Each stage tells whether it takes part. A normalizer leaves this text unchanged
// (Normalizer::keeps), pre-tokenizers describe themselves as a pattern over bytes (PreTokenizer::describe), and a model has all
// bytes (TokenModel::byte_model). It is a part (core/part.h): without it the stages give the same tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "tokenizer/added_tokens.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/text_tokens.h"

namespace wattn {

class ByteWords {
 public:
  virtual ~ByteWords() = default;

  // kSpaces: with the offsets and words of the tokens, and the spaces around them.
  enum class Wanted : std::uint8_t { kIds, kSpans, kSpaces };
  // Adds the tokens of a text in valid UTF-8 to `out`, which is empty; false if the text needs the stages, and out stays empty.
  virtual bool tokenize(std::string_view text, bool leave_special, Wanted wanted, TextTokens& out) const = 0;
};

struct ByteWordsMaker {
  // nullptr if these stages have no fast path. What is given must outlive the result.
  std::unique_ptr<ByteWords> (*make)(const Normalizer* normalizer, const PreTokenizer* pre_tokenizer,
                                     const AddedTokens& added_tokens, const TokenModel& model);
};
extern const ByteWordsMaker kByteWords;

}  // namespace wattn
