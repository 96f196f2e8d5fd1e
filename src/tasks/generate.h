// Generation: new tokens for prompts, one step at a time. All sequences of all prompts run in one step; none depends on the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/model.h"
#include "generation/search.h"
#include "tasks/job.h"

namespace wattn {

struct GenerateRequest {
  GenerateOptions options{};                             // max_new_tokens is set from the next two fields
  std::optional<std::int64_t> max_new_tokens{};          // without both: kUsualTokens, or less if the context is full
  std::optional<std::int64_t> max_length{};              // including the prompt
  std::int64_t min_length = 0;                           // including the prompt
  std::optional<std::int32_t> decoder_start_token_id{};  // encoder-decoder: the first token of every sequence
  std::vector<std::string> stop_strings{};               // end a sequence and remain in the text
  std::vector<std::int32_t> holds{};                     // [prompts] numbers for Slots::hold(); empty: none
};

// A prompt's longest beginning that is kept (engine/prefixes.h) is not read again: the first token comes sooner, and no bit
// changes. What was read is kept when a Generation ends, after all steps or before.
class Generation final : public Job {
 public:
  static constexpr std::int64_t kUsualTokens = 256;

  // Reserves slots for the prompts (in an encoder-decoder the sources), each of at least one token. Needs an lm head. A Model
  // supports one Generation at a time.
  static Result<std::unique_ptr<Generation>> begin(Model& model, const std::vector<std::vector<std::int32_t>>& prompts,
                                                   const GenerateRequest& request);
  ~Generation() override { keep(false); }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  // The first steps read the prompts, token_budget() tokens each, and generate their first tokens; each further one generates one
  // token for every unfinished sequence. False when all are finished.
  Result<bool> step() override;

  // [prompts], each as Search::results().
  std::vector<std::vector<Generated>> results() const;
  // [prompts] The tokens generated since the last call; for several sequences per prompt, the row and token of each that goes on.
  std::vector<std::vector<std::int32_t>> take_new();
  // [prompts] Tokens of each prompt that were not read, as they were kept.
  std::vector<std::int32_t> restored() const;
  const Prefixes& prefixes() const { return model_.slots().prefixes(); }
  // What a constraint says of the next step for slot = prompt * width + row (of take_new; before the first step, row 0): mask, as
  // in Search::take, which holds until it is replaced, and tokens to append before it, of which it takes as many as fit.
  std::size_t constrain(std::size_t slot, const std::vector<std::int32_t>& mask, std::span<const std::int32_t> forced);

 private:
  explicit Generation(Model& model) : model_(model) {}

  struct Prompt {
    std::unique_ptr<Search> search;
    std::vector<std::int32_t> tokens{};     // the prompt, and what a constraint appended before the first step
    std::size_t given = 0;                  // tokens of the prompt
    std::int64_t restored = 0;              // of them, kept by an earlier call
    std::vector<std::int32_t> slots{};      // [width] those of running sequences, then free ones
    std::vector<std::int32_t> reordered{};  // [width] scratch of reorder_slots
    std::int64_t running = 1;               // running sequences
    std::int64_t read = 0;                  // tokens in each running slot
    std::vector<std::int32_t> forced{};     // after the last chosen token of the only sequence
    std::size_t shown = 0;                  // tokens returned by take_new
  };

  bool done() const;
  Result<bool> run_step();
  void keep(bool holds);
  Result<void> read_source();
  Result<void> read_prompts();
  void add(std::size_t index, std::int32_t slot, std::int64_t position, std::span<const std::int32_t> ids);
  Result<void> read_batch(const std::vector<std::pair<std::size_t, std::int64_t>>& ends);
  void reorder_slots(Prompt& prompt);

  Model& model_;
  std::vector<Prompt> prompts_;
  std::vector<std::vector<std::int32_t>> sources_;  // of an encoder-decoder
  std::size_t sources_read_ = 0;
  std::size_t prompts_read_ = 0;
  std::vector<std::int32_t> holds_;
  std::uint64_t turn_ = 0;            // Slots::turn() of its slots; 0: there is nothing to keep
  std::vector<std::uint32_t> masks_;  // [prompts * width][mask words]; empty: no constraint
  const std::uint32_t* masks_of(std::size_t prompt) const;
  Batch batch_;
  std::vector<std::int64_t> rows_;
};

}  // namespace wattn
