// The fast path of tokenizers whose text may be cut before spaces, as those of BERT, T5, XLM-RoBERTa and Llama. One pass over the
// text's UTF-8 cuts it and looks up the tokens of each part. Of the parts that are not known, plain ASCII goes to the model
// at once. Everything else goes through the stages, with a letter on either side in place of its neighbours. Each stage tells
// whether that is the same (Normalizer::is_local, PreTokenizer::space_cuts, TokenModel::divides_before). It is a part
// (core/part.h): without it the stages give the same tokens.
#pragma once

#include <memory>

#include "tokenizer/byte_words.h"

namespace wattn {

struct StageWordsMaker {
  // nullptr if these stages have no fast path. What is given must outlive the result, which gives only ids.
  std::unique_ptr<ByteWords> (*make)(const Normalizer* normalizer, const PreTokenizer* pre_tokenizer,
                                     const AddedTokens& added_tokens, const TokenModel& model);
};
extern const StageWordsMaker kStageWords;

}  // namespace wattn
