// The fast path of byte-level BPE: one pass over the text's UTF-8 that divides words, by a pattern that WordPattern knows, and
// looks up their tokens, in place of the stages. Each stage tells whether it takes part: a normalizer that leaves this text as it
// is (Normalizer::keeps), pre-tokenizers that describe themselves as a WordPattern over bytes (PreTokenizer::describe), and a model
// with all bytes (TokenModel::byte_bpe).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/models/byte_bpe.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/text_tokens.h"
#include "tokenizer/word_pattern.h"

namespace wattn {

class ByteWords {
 public:
  // nullptr if these stages have no fast path. What is given must outlive it.
  static std::unique_ptr<ByteWords> make(const Normalizer* normalizer, const PreTokenizer* pre_tokenizer,
                                         const AddedTokens& added_tokens, const TokenModel& model);

  // kSpaces: with the offsets and words of the tokens, and the spaces around them.
  enum class Wanted : std::uint8_t { kIds, kSpans, kSpaces };
  // Adds the tokens of a text in valid UTF-8 to `out`, which is empty; false if the text needs the stages, and out stays empty.
  bool tokenize(std::string_view text, bool leave_special, Wanted wanted, TextTokens& out) const;

 private:
  ByteWords(const Normalizer* normalizer, const AddedTokens& added_tokens, const TokenModel& tokens, const ByteBpe& model,
            const WordPattern& pattern)
      : normalizer_(normalizer), added_(added_tokens), tokens_(tokens), model_(model), pattern_(pattern) {}

  bool has_added(std::string_view text) const;
  // Appends the ids of text without added tokens. ends: receives the number of ids after each word; may be null.
  void put_words(std::string_view text, std::vector<std::int32_t>& ids, std::vector<std::uint32_t>* ends) const;
  // Fills the rest of out for the words that end there. place: of this text in the whole one.
  void put_spans(std::string_view text, const std::vector<std::uint32_t>& ends, Wanted wanted, TextSpan place,
                 TextTokens& out) const;

  const Normalizer* normalizer_;
  const AddedTokens& added_;
  const TokenModel& tokens_;
  const ByteBpe& model_;
  WordPattern pattern_;
};

}  // namespace wattn
