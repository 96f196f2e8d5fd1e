// Generation with a module, by generation/search.h.
#pragma once

#include <cstdint>
#include <vector>

#include "generation/options.h"
#include "nn/language.h"

namespace wattn::nn {

struct GenerateOptions : wattn::GenerateOptions {
  bool use_cache = true;  // false: recomputes the whole sequence at each step, with the same result
};

// ids: the prompt without padding. source: of an encoder-decoder, else null. Returns the prompt and its continuation.
Result<std::vector<std::int32_t>> generate(const Generative& model, const std::vector<std::int32_t>& ids, const Tensor* source,
                                           const GenerateOptions& options);

// logits [vocab] -> the probabilities from which a token is sampled.
Result<Tensor> sampling_probabilities(const Tensor& logits, GenerateOptions options);

}  // namespace wattn::nn
