// Search: chooses the tokens of one prompt's continuations from the logits of each step: greedy search, sampling and beam search as
// in transformers' generate(). It knows no model: the caller runs the sequences of next() and passes their logits to take().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/result.h"
#include "generation/options.h"
#include "ops/compute.h"

namespace wattn {

enum class FinishReason : std::uint8_t { kNone, kEos, kStop, kLength, kTime };

struct Generated {
  std::vector<std::int32_t> tokens{};  // the new ones, including the one that ended the sequence
  FinishReason reason = FinishReason::kNone;
  float score = 0;  // of a beam, by which beams are ranked
};

// A sequence of the next step: row `from` of the last logits, continued by token.
struct Continuation {
  std::int32_t from = 0;
  std::int32_t token = 0;
};

class Search {
 public:
  // Whether the last of tokens (prompt and new ones) completes a stop string.
  using Stops = std::function<bool(std::span<const std::int32_t> tokens)>;

  // An InputError names the first invalid option.
  static Result<void> check(const GenerateOptions& options, std::int64_t vocab);
  // prompt: at least one token. The options must have passed check().
  static std::unique_ptr<Search> make(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab,
                                      const Kernels& kernels, Stops stops);
  // Most sequences that run at once.
  static std::int64_t width(const GenerateOptions& options) {
    return options.num_beams > 1 ? options.num_beams : options.num_return_sequences;
  }
  virtual ~Search() = default;

  // logits: a row [vocab] for each sequence of next(), which it overwrites; the first time one row, for the token after the prompt.
  // A ModelFormatError for logits that are not finite. masks: for each row, bits of the tokens that may be chosen, of
  // mask_words(vocab); null: all may.
  Result<void> take(float* logits, const std::uint32_t* masks = nullptr) {
    if (auto e = start(logits); !e.ok()) return e;
    process(logits);
    if (auto e = warp(logits, masks); !e.ok()) return e;
    choose(logits);
    return {};
  }
  // The parts of take(), for a caller that reads or changes the rows between them.
  // Checks the logits. Beams make log-probabilities of them.
  virtual Result<void> start(float* logits) = 0;
  // Applies the logits processors.
  virtual void process(float* logits) = 0;
  // Forbids the tokens that masks lack, then applies the processors that shape a distribution before a token is drawn from it.
  virtual Result<void> warp(float* scores, const std::uint32_t* masks) = 0;
  virtual void choose(float* scores) = 0;
  static std::int64_t mask_words(std::int64_t vocab) { return (vocab + 31) / 32; }
  // Appends tokens to the only sequence without logits, up to one that would end it. Returns how many.
  virtual std::size_t force(std::span<const std::int32_t>) { return 0; }
  // The sequences to continue, in the order of take()'s rows; empty when all are finished.
  std::span<const Continuation> next() const { return continuations_; }
  // num_return_sequences results, the best first; for unfinished sequences, the tokens generated so far.
  virtual std::vector<Generated> results() const = 0;

 protected:
  std::vector<Continuation> continuations_;
};

}  // namespace wattn
