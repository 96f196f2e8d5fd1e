// One reader per normalizer; normalizer.cpp lists them by "type".
#pragma once

#include "tokenizer/normalizers/normalizer.h"

namespace wattn {

using NormalizerResult = Result<std::unique_ptr<Normalizer>>;

NormalizerResult read_bert_normalizer(JsonRef json, int depth);  // bert.cpp
NormalizerResult read_bert_normalizer_of_class(JsonRef tokenizer_config);
NormalizerResult read_nfd(JsonRef json, int depth);  // simple.cpp
NormalizerResult read_nfc(JsonRef json, int depth);
NormalizerResult read_nfkd(JsonRef json, int depth);
NormalizerResult read_nfkc(JsonRef json, int depth);
NormalizerResult read_lowercase(JsonRef json, int depth);
NormalizerResult read_strip_accents(JsonRef json, int depth);
NormalizerResult read_strip(JsonRef json, int depth);
NormalizerResult read_prepend(JsonRef json, int depth);
NormalizerResult read_nmt(JsonRef json, int depth);
NormalizerResult read_replace(JsonRef json, int depth);      // replace.cpp
NormalizerResult read_precompiled(JsonRef json, int depth);  // precompiled.cpp
NormalizerResult read_sentencepiece_normalizer(JsonRef json, int depth);
NormalizerResult read_byte_level_normalizer(JsonRef json, int depth);  // pre_tokenizers/byte_level.cpp

}  // namespace wattn
