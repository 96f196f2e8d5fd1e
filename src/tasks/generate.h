// Generation: new tokens for prompts, one step at a time. All sequences of all prompts run in one step; none depends on the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  std::vector<std::int32_t> seeds{};                     // [prompts] in place of options.seed; empty: all have that
  std::vector<std::int32_t> holds{};                     // [prompts] numbers for Slots::hold(); empty: none
  bool pauses = false;                                   // a step ends at each GenerationPhase
  // [prompts] Nothing is generated: the prompts are read, and steps pause with the rows of each prompt's tokens from this one on.
  std::vector<std::int32_t> rows_from{};
  std::int64_t num_proposed = 0;  // most tokens of propose()
  bool defers = false;            // slots are reserved by the first step here, if there is one, and not by begin()
};

// What the rows of a paused step are.
enum class GenerationPhase : std::uint8_t {
  kNone,       // there are none
  kLogits,     // as the model gives them; of beams, log-probabilities from here on
  kProcessed,  // after the logits processors
  kScores,     // what tokens are chosen by
  kPrompt      // logits of rows_from
};

// A prompt's longest beginning that is kept (engine/prefixes.h) is not read again: the first token comes sooner, and no bit
// changes. What was read is kept when a Generation ends, after all steps or before. Recurrent states are kept near the end of an
// only prompt, too: the next call may have another answer, or a template that writes the answer in another way.
class Generation final : public Job {
 public:
  static constexpr std::int64_t kUsualTokens = 256, kMostProposed = 64, kShownRows = 32;

  // Reserves slots for the prompts (in an encoder-decoder the sources), each of at least one token. Needs an lm head. A Model
  // supports one Generation at a time.
  static Result<std::unique_ptr<Generation>> begin(Model& model, const std::vector<std::vector<std::int32_t>>& prompts,
                                                   const GenerateRequest& request);
  ~Generation() override { keep(false); }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  // The first steps read the prompts, token_budget() tokens each, and generate their first tokens. Each further one generates one
  // token for every unfinished sequence, and those of propose() that it would have generated next. False when all are finished.
  Result<bool> step() override;
  // A step in which a device such as a GPU runs the model: gather() says whether there is something to read, finish() takes the
  // logits of wanted(). The device has its own slots, so it reads whole prompts. A step() after gather() reads the same here, once
  // read_here() has read what the device had read before. With GenerateRequest::defers, slots are reserved here then.
  bool gather();
  const Batch& batch() const { return batch_; }
  std::span<const std::int64_t> wanted() const { return rows_; }  // tokens of the batch
  // Slots to copy to others before the step: from, to, and the number of tokens of each.
  std::vector<std::int32_t> take_copies() { return std::exchange(copies_, {}); }
  Result<bool> finish(std::span<const float> logits);
  Result<void> read_here(std::int32_t slot, std::int32_t position, std::span<const std::int32_t> ids);
  const SlotCapacity& capacity() const { return capacity_; }
  // Ends all sequences before the next step.
  void end() { is_ended_ = true; }

  // Between the phases of a paused step: a row [vocab] for each running sequence, prompt by prompt; with rows_from, for each
  // token.
  GenerationPhase phase() const { return phase_; }
  std::span<float> rows();
  std::vector<std::int32_t> prompts_of_rows() const;  // [rows]

  // [prompts], each as Search::results().
  std::vector<std::vector<Generated>> results() const;
  // [prompts] The tokens generated since the last call; for several sequences per prompt, the row and token of each that
  // continues.
  std::vector<std::vector<std::int32_t>> take_new();
  // [prompts] How many tokens of each prompt were kept from before, so that they were not read again.
  std::vector<std::int32_t> restored() const;
  const Prefixes& prefixes() const { return model_.slots().prefixes(); }
  // What a constraint says of the next step for slot = prompt * width + row (of take_new; before the first step, row 0). The mask,
  // as in Search::take, holds until it is replaced. Of the tokens to append before it, as many are taken as fit.
  std::size_t constrain(std::size_t slot, const std::vector<std::int32_t>& mask, std::span<const std::int32_t> forced);
  // Tokens that may follow the last one of a prompt's only sequence. The next step reads them too, as far as there is room, and
  // takes the first ones, up to where it chooses another: no choice depends on them.
  void propose(std::size_t prompt, std::span<const std::int32_t> ids);

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
    std::int64_t kept_at = 0;               // after so many tokens of an only prompt, recurrent states are kept, too
    std::vector<std::int32_t>
        given_next{};           // to be read next of the only sequence: its last token and what follows; empty: that one
    std::size_t proposed = 0;   // of those, tokens that are not chosen yet
    std::int64_t in_batch = 0;  // tokens of each running sequence in the batch that are not in `read`
    std::int64_t most = 0;      // tokens that a sequence may have
    std::size_t shown = 0;      // tokens returned by take_new
  };

  bool done() const;
  Result<void> take_slots();
  Result<bool> run_step();
  void keep(bool holds);
  Result<void> read_source();
  bool add_batch();
  void add_prompts();
  std::int64_t show_rows(std::int64_t most);
  void add_new();
  void add(std::size_t index, std::int32_t slot, std::int64_t position, std::span<const std::int32_t> ids);
  Result<bool> run_batch();
  Result<bool> take_logits(float* logits);
  Result<bool> after_step(Result<bool> more);
  Result<bool> end_phase();
  Result<void> choose(Prompt& prompt, float* scores);
  void reorder_slots(Prompt& prompt);

  Model& model_;
  std::vector<Prompt> prompts_;
  std::vector<std::vector<std::int32_t>> sources_;  // of an encoder-decoder
  std::size_t sources_read_ = 0;
  std::size_t prompts_read_ = 0;
  std::vector<std::int32_t> holds_;
  SlotCapacity capacity_;
  bool has_slots_ = false;            // here
  std::uint64_t turn_ = 0;            // Slots::turn() of its slots; 0: there is nothing to keep
  std::vector<std::uint32_t> masks_;  // [prompts * width][mask words]; empty: no constraint
  const std::uint32_t* masks_of(std::size_t prompt) const;
  Batch batch_;
  std::vector<std::int64_t> rows_;  // of the batch, whose logits are computed
  std::vector<std::int32_t> rows_from_;
  std::vector<std::size_t> prompts_of_rows_;  // in turn; of rows_from, for each row
  float* logits_ = nullptr;                   // [rows, vocab]
  bool is_gathered_ = false;                  // the batch is that of the next step
  bool is_elsewhere_ = false;                 // a device has the slots
  std::vector<float> given_logits_;           // of finish()
  std::vector<std::int32_t> copies_;          // of take_copies()
  std::int64_t num_proposed_ = 0;
  bool pauses_ = false;
  GenerationPhase phase_ = GenerationPhase::kNone;
  bool has_new_ = false;  // since take_new()
  bool is_ended_ = false;
};

}  // namespace wattn
