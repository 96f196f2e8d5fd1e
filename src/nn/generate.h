// Text, token by token: greedy, sampled (temperature, top-k, top-p), or by beams, as transformers' generate() has them.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/language.h"

namespace wattn::nn {

struct GenerateOptions {
  std::int64_t max_new_tokens = 20;
  bool do_sample = false;
  double temperature = 1;
  std::int64_t top_k = 0;  // 0: all
  double top_p = 1;        // 1: all
  std::int64_t num_beams = 1;
  double length_penalty = 1;
  bool early_stopping = false;
  std::int64_t eos_token_id = -1;  // -1: none
  bool use_cache = true;           // false computes the same from the beginning at each step
  std::uint64_t seed = 0;
};

// Probabilities that a token is drawn from: logits [vocab] / temperature, all but the top_k largest left out, then the smallest
// set of the likeliest whose probabilities reach top_p, softmax.
std::vector<float> sampling_probabilities(const float* logits, std::int64_t vocab, const GenerateOptions& options);

// ids: the prompt, without padding. source: of an encoder-decoder, else null. Answers prompt and continuation.
Result<std::vector<std::int64_t>> generate(const Generative& model, const std::vector<std::int64_t>& ids, const Tensor* source,
                                           const GenerateOptions& options);

}  // namespace wattn::nn
