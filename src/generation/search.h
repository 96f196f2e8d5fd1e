// Search: the tokens of one prompt's continuations, chosen from the logits of each step; greedy, drawn, or by beams, as transformers'
// generate() has them. It knows no model: whoever owns one runs what next() asks for and gives the logits to take().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "generation/options.h"
#include "ops/compute.h"

namespace wattn {

enum class FinishReason : std::uint8_t { kNone, kEos, kStop, kLength };

struct Generated {
  std::vector<std::int32_t> tokens;  // new ones, with the one that ended it
  FinishReason reason = FinishReason::kNone;
  double score = 0;  // beams: what they are ranked by
};

// One running sequence goes on: from a sequence of the step before, with one token.
struct Continuation {
  std::int32_t from = 0;
  std::int32_t token = 0;
};

class Search {
 public:
  // prompt: all tokens before the first new one. vocab: width of a row of logits.
  Search(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab, const Kernels& kernels);
  ~Search();
  Search(Search&&) noexcept;

  // Says what is wrong with the options, by name.
  static Result<void> check(const GenerateOptions& options, std::int64_t vocab);
  // Running sequences there can be at once, and are from the start: all begin with the prompt.
  static std::int64_t width(const GenerateOptions& options);

  // logits: [running sequences, vocab], which are changed. The first time, running is 1 row: the prompt's.
  void take(float* logits);
  // Of the sequences that go on after take(): empty when all is done.
  std::span<const Continuation> next() const;
  bool done() const { return next().empty(); }
  // The new tokens of running sequence i so far (the newest included).
  std::span<const std::int32_t> running(std::int64_t i) const;
  // Ends running sequence i (a stop string was found in its text); it is gone from next(). Not for beams, where only stop_beam is.
  void stop(std::int64_t i);

  // num_return_sequences of them, best first; what still runs is as far as it is.
  std::vector<Generated> results() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wattn
