// Dropout, as torch.nn.Dropout in training: an element is 0 with probability `rate`, else divided by 1 - rate. Whether element i is
// kept follows from the key and i alone: a recomputation and any division among threads give the same elements. torch draws others.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "ops/compute.h"

namespace wattn {

struct Dropout {
  float rate = 0;  // 0: nothing is dropped
  std::uint64_t key = 0;

  // 0, or 1 / (1 - rate).
  float factor(std::uint64_t element) const {
    // The number at this place of the sequence that begins at key, without those before it.
    constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
    const auto bits = static_cast<std::uint32_t>(Generator(key + element * kStep).next() >> 32);
    return static_cast<double>(bits) * 0x1p-32 < static_cast<double>(rate) ? 0.0f : 1.0f / (1.0f - rate);
  }
};

// The dropout of one place in a model (a layer's part) in one step of training.
inline Dropout dropout_at(float rate, std::uint64_t seed, std::uint64_t step, std::uint64_t place) {
  std::uint64_t key = seed;
  for (const std::uint64_t number : {step, place}) key = Generator(key ^ (number * 0xD1B54A32D192ED03u)).next();
  return {rate, key};
}

// x, [count], in place; also the derivative: what comes through an element has its factor.
inline void drop(const Compute& compute, const Dropout& dropout, float* x, std::int64_t count) {
  if (dropout.rate == 0) return;
  for_parts(compute, count, 1, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) x[i] *= dropout.factor(static_cast<std::uint64_t>(i));
  });
}

// Where transformers applies dropout. Each place has its own random numbers, which a resumed run continues: append new places at
// the end.
enum class DropPlace : std::int8_t {
  kNone = -1,
  kEmbeddings,          // their sum, after its norm
  kOutput,              // the last layer's output, after the final norm
  kProbabilities,       // of attention
  kAttention,           // the output of attention, before the residual
  kActivation,          // what the last matrix of the feed-forward reads
  kFeedForward,         // the output of the feed-forward, before the residual
  kCrossProbabilities,  // as the two above, of cross attention
  kCrossAttention,
};
constexpr std::uint64_t kDropPlaces = 8;  // of a layer; those of the next layer follow

// Rates of dropout; 0: none.
struct DropoutRates {
  float embeddings = 0;
  float probabilities = 0;
  float attention = 0;
  float activation = 0;
  float feed_forward = 0;
  float output = 0;
  float head = 0;  // what the last matrix of a head reads (models/heads_backward.h)
  float lora = 0;  // what LoRA's A reads; A's of one layer drop the same

  float at(DropPlace place) const {
    const float of_place[] = {embeddings, output, probabilities, attention, activation, feed_forward, probabilities, attention};
    return place == DropPlace::kNone ? 0 : of_place[static_cast<int>(place)];
  }
};

// Dropout of attention's probabilities: an element is a query of the batch, a head and a key of the query's sequence. The function
// is here, not in attention.cpp, so that modules that do not train omit it.
struct ProbabilityDropout {
  Dropout dropout;
  void (*apply)(const Dropout& dropout, std::uint64_t query_and_head, std::int64_t first_key, std::int64_t keys, float* row);
};

inline ProbabilityDropout drop_probabilities(const Dropout& dropout) {
  return {dropout, [](const Dropout& by, std::uint64_t query_and_head, std::int64_t first_key, std::int64_t keys, float* row) {
            const std::uint64_t first = (query_and_head << 32) + static_cast<std::uint64_t>(first_key);
            for (std::int64_t i = 0; i < keys; ++i) row[i] *= by.factor(first + static_cast<std::uint64_t>(i));
          }};
}

}  // namespace wattn
