// Training a tokenizer: texts go through a normalizer and a pre-tokenizer, a trainer makes a model of the pieces, and the result
// is a whole tokenizer.json.
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
  // in a tokenizer.json, each may be absent. It is not needed afterwards.
  static Result<Training> from_json(JsonRef description);

  Training(Training&&) noexcept;
  Training& operator=(Training&&) noexcept;
  ~Training();

  // A text is one sequence, as in `train_from_iterator`. Only before the first step().
  Result<void> feed(std::u16string_view text);
  std::uint32_t num_words() const;  // different pre-tokens so far

  // Trains for a few milliseconds; false once it is done.
  bool step();
  const TrainingProgress& progress() const;
  // The text of a tokenizer.json, once step() said false.
  Result<std::string> result() const;

 private:
  struct Parts;
  explicit Training(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace wattn
