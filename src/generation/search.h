// Search: the tokens of one prompt's continuations, chosen from the logits of each step; greedy, drawn, or by beams, as
// transformers' generate() has them. It knows no model: whoever owns one runs what next() asks for and gives the logits to take().
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

enum class FinishReason : std::uint8_t { kNone, kEos, kStop, kLength };

struct Generated {
  std::vector<std::int32_t> tokens{};  // the new ones, with the one that ended it
  FinishReason reason = FinishReason::kNone;
  float score = 0;  // of beams: what they are ranked by
};

// A sequence of the next step: one of the step before, by its row of logits, and one token more.
struct Continuation {
  std::int32_t from = 0;
  std::int32_t token = 0;
};

class Search {
 public:
  // Whether the last of these tokens (prompt and new ones) completes a stop string.
  using Stops = std::function<bool(std::span<const std::int32_t> tokens)>;

  // What is wrong with the options, by name; vocab: the model's.
  static Result<void> check(const GenerateOptions& options, std::int64_t vocab);
  // prompt: all tokens before the first new one, one at least. The options were checked.
  static std::unique_ptr<Search> make(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab,
                                      const Kernels& kernels, Stops stops);
  // Sequences that may run at once.
  static std::int64_t width(const GenerateOptions& options) {
    return options.num_beams > 1 ? options.num_beams : options.num_return_sequences;
  }
  virtual ~Search() = default;

  // logits: a row [vocab] for each sequence of next(), which is changed; the first time one row, what follows the prompt. A
  // ModelFormatError for logits that are no numbers.
  virtual Result<void> take(float* logits) = 0;
  // Those that go on, in the order of the rows that take() wants; none when all has ended.
  std::span<const Continuation> next() const { return continuations; }
  // num_return_sequences of them, the best first; before the end: as far as they are.
  virtual std::vector<Generated> results() const = 0;

 protected:
  std::vector<Continuation> continuations;
};

}  // namespace wattn
