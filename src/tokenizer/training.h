// Training a tokenizer: texts go through a normalizer and a pre-tokenizer, a trainer builds a model from the pre-tokens, and the
// result is a complete tokenizer.json.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/trainers/steps.h"

namespace wattn {

class Training {
 public:
  // description: {"trainer": {"type": .., options}, "normalizer", "pre_tokenizer", "post_processor", "decoder"}, the last four as
  // in a tokenizer.json and optional. It is not needed afterwards.
  static Result<Training> from_json(JsonRef description);

  Training(Training&&) noexcept;
  Training& operator=(Training&&) noexcept;
  ~Training();

  // Adds a text, one sequence as in `train_from_iterator`. Must not be called after the first step().
  Result<void> feed(std::u16string_view text);
  std::uint32_t num_words() const;  // distinct pre-tokens so far

  // Trains for a few milliseconds; returns false once training is done.
  bool step();
  const TrainingProgress& progress() const;
  // The text of a tokenizer.json, once step() has returned false.
  Result<std::string> result() const;

 private:
  struct Parts;
  explicit Training(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace wattn
