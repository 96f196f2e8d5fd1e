// predict: logits of the model's head, whatever its task, for texts or pairs. The caller interprets them (labels, spans, scores).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"

namespace wattn {

struct PredictOptions {
  EncodeOptions encode{};  // without max_length: the model's
  std::string at_token{};  // only logits of this token ("[MASK]"); empty: of all tokens
};

struct PredictResult {
  std::vector<Encoding> encodings;  // text after text, each followed by its overflow windows
  std::vector<std::int32_t> text;   // [encodings] index of the text
  std::vector<std::int32_t> rows;   // [encodings] rows of logits; sequence head: 1, or 0 without a token to read
  std::vector<float> logits;        // [sum of rows, labels]
  std::int64_t labels = 0;
};

// pairs: second texts, as many as texts, or none. Needs model.head().
Result<PredictResult> predict(Model& model, std::span<const std::u16string_view> texts, std::span<const std::u16string_view> pairs,
                              const PredictOptions& options);

}  // namespace wattn
