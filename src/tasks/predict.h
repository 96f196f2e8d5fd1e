// predict: texts or pairs to the logits of the model's head, whatever its task. What they mean (labels, spans, scores) is
// said by the caller.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"

namespace wattn {

struct PredictOptions {
  EncodeOptions encode{};  // without max_length: the model's own
  std::string at_token{};  // logits only of the tokens of this name ("[MASK]"); empty: of all that the head reads
};

struct PredictResult {
  std::vector<Encoding> encodings;  // text after text, each followed by its overflow windows
  std::vector<std::int32_t> text;   // [encodings] the text it came from
  std::vector<std::int32_t>
      rows;                   // [encodings] rows of logits: for a sequence head 1, 0 where it has no token to read; else tokens
  std::vector<float> logits;  // [sum of rows, labels]
  std::int64_t labels = 0;
};

// pairs: second texts, as many as texts, or none. Needs model.head().
Result<PredictResult> predict(Model& model, std::span<const std::u16string_view> texts, std::span<const std::u16string_view> pairs,
                              const PredictOptions& options);

}  // namespace wattn
