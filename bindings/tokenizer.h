// Calls shared by the handles of models and tokenizers: texts to encodings, ids to text.
#pragma once

#include "bindings/convert.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

// Flat arrays over many encodings, the answer of encode().
class FlatEncodings {
 public:
  // arrays: names of the optional arrays to include; undefined: all.
  explicit FlatEncodings(const val& arrays);
  void add(const Encoding& encoding, std::int32_t text_index);
  // Sets the arrays as members of an answer.
  void set_on(val& out) const;

 private:
  struct Wanted {
    bool type_ids, offsets, special_tokens_mask, word_ids, sequence_ids;
  };
  Wanted wanted_;
  std::vector<std::int32_t> ids_, type_ids_, word_ids_, sequence_ids_, lengths_, untruncated_, text_;
  std::vector<float> unknown_;
  std::vector<TextSpan> offsets_;
  std::vector<std::uint8_t> special_tokens_mask_;
  std::vector<std::string> tokens_;
};

// The options of encode().
EncodeOptions to_encode_options(const Options& options);

// options: {add_special_tokens, split_special_tokens, max_length, strategy, truncation_side, overlap, return_overflowing,
// return_tokens, arrays}. pairs: the second texts in the same form, or null. Answer: flat arrays over all encodings, each text's
// followed by its overflow windows: ids, type_ids, offsets (two numbers per token), special_tokens_mask, word_ids, sequence_ids;
// tokens if there are any; and per encoding: lengths, untruncated, unknown, text (index of the text).
val encode(const Tokenizer& tokenizer, const val& text, const val& lengths, const val& pair_text, const val& pair_lengths,
           const val& options);

// options: as for encode. Answer: counts (tokens of each text).
val count(const Tokenizer& tokenizer, const val& text, const val& lengths, const val& options);

// Answer: text.
val text_answer(const Result<std::string>& text);

// Answer: text.
val decode(const Tokenizer& tokenizer, const val& ids, bool skip_special_tokens, bool clean_up_spaces);

// Answer: tokens (strings; "" for an unknown id).
val ids_to_tokens(const Tokenizer& tokenizer, const val& ids);

// Answer: vocab_size, model_max_length (undefined if there is none).
val describe(const Tokenizer& tokenizer);

}  // namespace wattn
