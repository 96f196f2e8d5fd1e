// Text, token by token, from a module: what generation/search.h chooses from the logits of each step.
#pragma once

#include <cstdint>
#include <vector>

#include "generation/options.h"
#include "nn/language.h"

namespace wattn::nn {

struct GenerateOptions : wattn::GenerateOptions {
  bool use_cache = true;  // false computes the whole sequence at each step, with the same result
};

// ids: the prompt, without padding. source: of an encoder-decoder, else null. Returns prompt and continuation.
Result<std::vector<std::int32_t>> generate(const Generative& model, const std::vector<std::int32_t>& ids, const Tensor* source,
                                           const GenerateOptions& options);

// logits [vocab] -> the probabilities that a token is drawn from.
Result<Tensor> sampling_probabilities(const Tensor& logits, GenerateOptions options);

}  // namespace wattn::nn
