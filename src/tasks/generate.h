// Text generation: prompts in, new tokens out, one step at a time. All sequences of all prompts take a step together; none depends
// on the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/model.h"
#include "generation/search.h"

namespace wattn {

struct GenerateRequest {
  GenerateOptions options{};                             // max_new_tokens is set from the next two
  std::optional<std::int64_t> max_new_tokens{};          // without both: kUsualTokens, or as many as there is room for
  std::optional<std::int64_t> max_length{};              // the prompt's tokens counted
  std::int64_t min_length = 0;                           // the prompt's tokens counted
  std::optional<std::int32_t> decoder_start_token_id{};  // of an encoder-decoder: what its sequences begin with
  std::vector<std::string> stop_strings{};               // text that ends a sequence; it stays in the text
};

class Generation {
 public:
  static constexpr std::int64_t kUsualTokens = 256;

  // Reserves slots and reads the prompts, each of at least one token; an encoder-decoder's are its sources. Needs an lm head. A
  // Model has one Generation at a time.
  static Result<std::unique_ptr<Generation>> begin(Model& model, const std::vector<std::vector<std::int32_t>>& prompts,
                                                   const GenerateRequest& request);
  // One more token for every unfinished sequence. False: all are finished.
  Result<bool> step();
  bool done() const;

  // [prompts], each as Search::results().
  std::vector<std::vector<Generated>> results() const;
  // Of prompt i, while it has one sequence: the tokens generated since the last call.
  std::vector<std::int32_t> take_new(std::size_t i);

 private:
  explicit Generation(Model& model) : model_(model) {}

  struct Prompt {
    std::unique_ptr<Search> search;
    std::vector<std::int32_t> tokens{};  // the prompt
    std::vector<std::int32_t> slots{};   // [width] the running sequences' first, then the free ones
    std::vector<std::int32_t> spare{};   // [width] for reordering slots
    std::int64_t running = 1;            // sequences at the last step
    std::int64_t read = 0;               // tokens in each running slot
    std::size_t shown = 0;               // by take_new
  };

  Result<void> read_prompts();
  void add(std::size_t index, std::int32_t slot, std::int64_t position, std::span<const std::int32_t> ids);
  Result<void> read_batch(const std::vector<std::pair<std::size_t, std::int64_t>>& ends);
  void reorder_slots(Prompt& prompt);

  Model& model_;
  std::vector<Prompt> prompts_;
  Batch batch_;
  std::vector<std::int64_t> rows_;
};

}  // namespace wattn
