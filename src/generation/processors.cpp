// build: -Os
#include "generation/processors.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

namespace wattn {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

}  // namespace

Result<void> check_numbers(const float* logits, std::int64_t vocab) {
  bool any = false;
  for (std::int64_t i = 0; i < vocab; ++i) {
    if (std::isnan(logits[i]) || logits[i] > 3e38f) {
      return model_format_error("generate: the model's logits are not finite, token " + std::to_string(i) +
                                " (check its weights for NaN and infinity)");
    }
    any = any || logits[i] > -3e38f;
  }
  if (!any) return model_format_error("generate: the model gives every token a logit of -infinity");
  return {};
}

bool apply_mask(const std::uint32_t* mask, std::int64_t vocab, float* scores) {
  bool any = false;
  for (std::int64_t i = 0; i < vocab; ++i) {
    if (!(mask[i >> 5] >> (i & 31) & 1)) scores[i] = kForbidden;
    any = any || scores[i] > kForbidden;
  }
  return any;
}

Processors::Processors(const GenerateOptions& options, std::int64_t prompt, std::int64_t vocab, const Kernels& kernels)
    : options_(options), prompt_(prompt), vocab_(vocab), kernels_(kernels) {
  const auto size = static_cast<std::size_t>(vocab);
  if (options.repetition_penalty != 1) seen_.resize(size);
  if (options.do_sample) scratch_.resize(size);
  if (options.do_sample && options.top_p < 1) order_.resize(size);
}

void Processors::process(std::span<const std::int32_t> sequence, float* scores) {
  if (options_.repetition_penalty != 1) penalise_repetition(sequence, scores);
  if (options_.no_repeat_ngram_size > 0) forbid_ngrams(sequence, scores);
  if (!options_.bad_words.empty()) forbid_words(sequence, scores);
  if (static_cast<std::int64_t>(sequence.size()) - prompt_ < options_.min_new_tokens) {
    for (const std::int32_t id : options_.eos_token_ids) scores[id] = kForbidden;
  }
  force(sequence, scores);
}

void Processors::penalise_repetition(std::span<const std::int32_t> sequence, float* scores) {
  const auto penalty = static_cast<float>(options_.repetition_penalty);
  for (const std::int32_t id : sequence) {
    if (seen_[id]) continue;
    seen_[id] = 1;
    scores[id] = scores[id] < 0 ? scores[id] * penalty : scores[id] / penalty;
  }
  for (const std::int32_t id : sequence) seen_[id] = 0;
}

void Processors::forbid_ngrams(std::span<const std::int32_t> sequence, float* scores) const {
  const auto size = static_cast<std::size_t>(options_.no_repeat_ngram_size);
  if (sequence.size() < size) return;
  const auto prefix = sequence.last(size - 1);
  for (std::size_t i = 0; i + size <= sequence.size(); ++i) {
    if (std::equal(prefix.begin(), prefix.end(), sequence.begin() + static_cast<std::ptrdiff_t>(i))) {
      scores[sequence[i + size - 1]] = kForbidden;
    }
  }
}

void Processors::forbid_words(std::span<const std::int32_t> sequence, float* scores) const {
  for (const auto& word : options_.bad_words) {
    const std::size_t before = word.size() - 1;
    const auto& ends = options_.eos_token_ids;
    if (before == 0 && std::find(ends.begin(), ends.end(), word[0]) != ends.end()) continue;  // transformers allows those
    if (sequence.size() < before) continue;
    if (std::equal(word.begin(), word.end() - 1, sequence.end() - static_cast<std::ptrdiff_t>(before)))
      scores[word.back()] = kForbidden;
  }
}

void Processors::force(std::span<const std::int32_t> sequence, float* scores) const {
  const auto only = [&](std::int32_t id) {
    std::fill(scores, scores + vocab_, kForbidden);
    scores[id] = 0;
  };
  const auto length = static_cast<std::int64_t>(sequence.size());
  if (options_.forced_bos_token_id && length == 1) only(*options_.forced_bos_token_id);
  if (options_.forced_eos_token_id && length == prompt_ + options_.max_new_tokens - 1) only(*options_.forced_eos_token_id);
}

void Processors::warp(float* scores) {
  if (options_.temperature != 1) {
    const auto temperature = static_cast<float>(options_.temperature);
    for (std::int64_t i = 0; i < vocab_; ++i) scores[i] /= temperature;
  }
  if (options_.top_k > 0 && options_.top_k < vocab_) keep_top_k(scores);
  if (options_.top_p < 1) keep_top_p(scores);
  if (options_.min_p > 0) keep_min_p(scores);
}

// Tokens that tie with the last one kept are kept too.
void Processors::keep_top_k(float* scores) {
  std::copy_n(scores, vocab_, scratch_.begin());
  const auto last = scratch_.begin() + static_cast<std::ptrdiff_t>(options_.top_k - 1);
  std::nth_element(scratch_.begin(), last, scratch_.end(), std::greater<>());
  const float least = *last;
  for (std::int64_t i = 0; i < vocab_; ++i) scores[i] = scores[i] < least ? kForbidden : scores[i];
}

// Drops the least likely tokens while their sum is at most 1 - top_p; the likeliest always stays.
void Processors::keep_top_p(float* scores) {
  std::copy_n(scores, vocab_, scratch_.begin());
  kernels_.softmax_rows(scratch_.data(), 1, vocab_, vocab_);
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(),
            [&](std::int32_t a, std::int32_t b) { return scores[a] != scores[b] ? scores[a] < scores[b] : a < b; });
  const double dropped = 1 - options_.top_p;
  double sum = 0;
  for (std::size_t i = 0; i + 1 < order_.size(); ++i) {
    sum += scratch_[static_cast<std::size_t>(order_[i])];
    if (sum > dropped) break;
    scores[order_[i]] = kForbidden;
  }
}

void Processors::keep_min_p(float* scores) {
  std::copy_n(scores, vocab_, scratch_.begin());
  kernels_.softmax_rows(scratch_.data(), 1, vocab_, vocab_);
  const float most = *std::max_element(scratch_.begin(), scratch_.end());
  const float least = static_cast<float>(options_.min_p) * most;
  for (std::int64_t i = 0; i < vocab_; ++i) {
    if (scratch_[static_cast<std::size_t>(i)] < least) scores[i] = kForbidden;
  }
}

}  // namespace wattn
