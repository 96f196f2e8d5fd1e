// Logits processors: change a row of scores before a token is chosen, in transformers' order
// (generation/utils.py, _get_logits_processor, v5.23.0).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "generation/options.h"
#include "ops/compute.h"

namespace wattn {

// A ModelFormatError unless a token can be chosen from logits [vocab].
Result<void> check_numbers(const float* logits, std::int64_t vocab);

// Forbids the tokens that a mask (Search::take) lacks. False if none is left.
bool apply_mask(const std::uint32_t* mask, std::int64_t vocab, float* scores);

class Processors {
 public:
  Processors(const GenerateOptions& options, std::int64_t prompt, std::int64_t vocab, const Kernels& kernels);

  // scores: [vocab] of the token after sequence (prompt and new tokens).
  void process(std::span<const std::int32_t> sequence, float* scores);
  // Applies temperature, top_k, top_p and min_p.
  void warp(float* scores);
  // The same, then turns scores into probabilities.
  void to_probabilities(float* scores) {
    warp(scores);
    kernels_.softmax_rows(scores, 1, vocab_, vocab_);
  }

 private:
  void penalise_repetition(std::span<const std::int32_t> sequence, float* scores);
  void forbid_ngrams(std::span<const std::int32_t> sequence, float* scores) const;
  void forbid_words(std::span<const std::int32_t> sequence, float* scores) const;
  void force(std::span<const std::int32_t> sequence, float* scores) const;
  void keep_top_k(float* scores);
  void keep_top_p(float* scores);
  void keep_min_p(float* scores);

  const GenerateOptions& options_;
  std::int64_t prompt_;
  std::int64_t vocab_;
  const Kernels& kernels_;
  std::vector<std::uint8_t> seen_;   // [vocab]
  std::vector<float> scratch_;       // [vocab]
  std::vector<std::int32_t> order_;  // [vocab]
};

}  // namespace wattn
