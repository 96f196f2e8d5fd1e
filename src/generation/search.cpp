#include "generation/search.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/json.h"
#include "core/random.h"
#include "generation/beam_search.h"
#include "generation/processors.h"

namespace wattn {
namespace {

// The index that left, drawn from [0, 1), falls on.
std::int32_t draw(const float* probabilities, std::int64_t count, double left) {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!(probabilities[i] > 0)) continue;
    last = i;
    left -= probabilities[i];
    if (left < 0) break;
  }
  return static_cast<std::int32_t>(last);
}

// Greedy search, or several independent samples.
class Sampler : public Search {
 public:
  Sampler(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab, const Kernels& kernels,
          Stops stops)
      : options_(options),
        prompt_(prompt.size()),
        vocab_(vocab),
        stops_(std::move(stops)),
        processors_(options_, static_cast<std::int64_t>(prompt.size()), vocab, kernels),
        kernels_(kernels) {
    Generator seeds(options_.seed);
    sequences_.reserve(static_cast<std::size_t>(options_.num_return_sequences));
    for (std::int64_t i = 0; i < options_.num_return_sequences; ++i) {
      Sequence& sequence = sequences_.emplace_back(Sequence{{}, FinishReason::kNone, Generator(seeds.next())});
      // All the room it will need, so that a step allocates nothing.
      sequence.tokens.reserve(prompt.size() + static_cast<std::size_t>(options_.max_new_tokens));
      sequence.tokens.assign(prompt.begin(), prompt.end());
    }
    continuations_.reserve(sequences_.size());
  }

  Result<void> start(float* logits) override {
    const bool first = is_first();
    for (const Sequence& sequence : sequences_) {
      if (sequence.reason != FinishReason::kNone) continue;
      if (auto e = check_numbers(logits, vocab_); !e.ok()) return e;
      if (first) break;  // all sequences start from one row
      logits += vocab_;
    }
    return {};
  }

  void process(float* logits) override {
    const bool first = is_first();
    for (const Sequence& sequence : sequences_) {
      if (sequence.reason != FinishReason::kNone) continue;
      processors_.process(sequence.tokens, logits);
      if (first) break;
      logits += vocab_;
    }
  }

  Result<void> warp(float* scores, const std::uint32_t* masks) override {
    const bool first = is_first();
    for (const Sequence& sequence : sequences_) {
      if (sequence.reason != FinishReason::kNone) continue;
      if (masks && !apply_mask(masks, vocab_, scores)) {
        return input_error("generate: the other options forbid every token that response_format allows");
      }
      if (options_.do_sample) processors_.warp(scores);
      if (first) break;
      scores += vocab_;
      if (masks) masks += mask_words(vocab_);
    }
    return {};
  }

  void choose(float* scores) override {
    const bool first = is_first();
    continuations_.clear();
    std::int32_t row = 0;
    if (first && options_.do_sample) kernels_.softmax_rows(scores, 1, vocab_, vocab_);
    for (Sequence& sequence : sequences_) {
      if (sequence.reason != FinishReason::kNone) continue;
      float* own = scores + row * vocab_;
      if (!first && options_.do_sample) kernels_.softmax_rows(own, 1, vocab_, vocab_);
      const auto best = [&] { return static_cast<std::int32_t>(std::max_element(own, own + vocab_) - own); };
      const std::int32_t token = options_.do_sample ? draw(own, vocab_, sequence.generator.uniform()) : best();
      sequence.tokens.push_back(token);
      sequence.reason = reason_of(sequence, token);
      if (sequence.reason == FinishReason::kNone) continuations_.push_back({row, token});
      if (!first) ++row;
    }
  }

  std::size_t force(std::span<const std::int32_t> tokens) override {
    Sequence& sequence = sequences_[0];
    std::size_t taken = 0;
    for (const std::int32_t token : tokens) {
      sequence.tokens.push_back(token);
      if (reason_of(sequence, token) == FinishReason::kNone) {
        ++taken;
        continue;
      }
      sequence.tokens.pop_back();
      break;
    }
    if (taken > 0 && !continuations_.empty()) continuations_[0].token = sequence.tokens.back();
    return taken;
  }

  std::vector<Generated> results() const override {
    std::vector<Generated> out;
    out.reserve(sequences_.size());
    for (const Sequence& sequence : sequences_) {
      out.push_back({{sequence.tokens.begin() + static_cast<std::ptrdiff_t>(prompt_), sequence.tokens.end()}, sequence.reason, 0});
    }
    return out;
  }

 private:
  struct Sequence {
    std::vector<std::int32_t> tokens;  // including the prompt
    FinishReason reason;
    Generator generator;
  };

  bool is_first() const { return sequences_[0].tokens.size() == prompt_; }
  FinishReason reason_of(const Sequence& sequence, std::int32_t token) const {
    const auto& ends = options_.eos_token_ids;
    if (std::find(ends.begin(), ends.end(), token) != ends.end()) return FinishReason::kEos;
    if (stops_ && stops_(sequence.tokens)) return FinishReason::kStop;
    const auto made = static_cast<std::int64_t>(sequence.tokens.size() - prompt_);
    return made >= options_.max_new_tokens ? FinishReason::kLength : FinishReason::kNone;
  }

  const GenerateOptions options_;
  std::size_t prompt_;
  std::int64_t vocab_;
  Stops stops_;
  Processors processors_;
  std::vector<Sequence> sequences_;
  const Kernels& kernels_;
};

Error invalid(const char* option, const std::string& expected, const std::string& found) {
  return input_error(std::string("generate: option '") + option + "': expected " + expected + ", found " + found);
}

}  // namespace

Result<void> Search::check(const GenerateOptions& options, std::int64_t vocab) {
  constexpr std::int64_t kMost = 1 << 22, kMostSequences = 64;
  const struct {
    const char* name;
    std::int64_t value, least, most;
  } counts[] = {{"max_new_tokens", options.max_new_tokens, 1, kMost},
                {"min_new_tokens", options.min_new_tokens, 0, kMost},
                {"top_k", options.top_k, 0, std::int64_t{1} << 31},
                {"no_repeat_ngram_size", options.no_repeat_ngram_size, 0, kMost},
                {"num_beams", options.num_beams, 1, kMostSequences},
                {"num_return_sequences", options.num_return_sequences, 1, kMostSequences}};
  for (const auto& [name, value, least, most] : counts) {
    if (value >= least && value <= most) continue;
    return invalid(name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most), std::to_string(value));
  }
  const double temperature = options.temperature, penalty = options.repetition_penalty;
  const struct {
    const char* name;
    double value;
    bool valid;
    const char* expected;
  } numbers[] = {
      {"temperature", temperature, temperature > 0 && temperature < 1e6, "a number above 0 (do_sample: false for greedy search)"},
      {"top_p", options.top_p, options.top_p > 0 && options.top_p <= 1, "a number above 0, at most 1"},
      {"min_p", options.min_p, options.min_p >= 0 && options.min_p <= 1, "a number from 0 to 1"},
      {"repetition_penalty", penalty, penalty > 0 && penalty < 1e6, "a number above 0"},
      {"length_penalty", options.length_penalty, std::abs(options.length_penalty) < 1e3, "a number"}};
  for (const auto& [name, value, valid, expected] : numbers) {
    if (!valid) return invalid(name, expected, std::isfinite(value) ? json_text(value) : "NaN or infinity");
  }
  if (options.do_sample && options.num_beams > 1)
    return invalid("num_beams", "1 with do_sample", std::to_string(options.num_beams));
  if (!options.do_sample && options.num_return_sequences > options.num_beams) {
    return invalid("num_return_sequences", "at most num_beams, or do_sample", std::to_string(options.num_return_sequences));
  }
  const auto check_ids = [&](const char* name, std::span<const std::int32_t> ids) -> Result<void> {
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= vocab) return invalid(name, "ids below vocab_size " + std::to_string(vocab), std::to_string(id));
    }
    return {};
  };
  if (auto e = check_ids("eos_token_id", options.eos_token_ids); !e.ok()) return e;
  for (const auto& word : options.bad_words) {
    if (word.empty()) return invalid("bad_words_ids", "lists of at least one id", "an empty list");
    if (auto e = check_ids("bad_words_ids", word); !e.ok()) return e;
  }
  if (options.forced_bos_token_id) {
    if (auto e = check_ids("forced_bos_token_id", {&*options.forced_bos_token_id, 1}); !e.ok()) return e;
  }
  if (options.forced_eos_token_id) return check_ids("forced_eos_token_id", {&*options.forced_eos_token_id, 1});
  return {};
}

std::unique_ptr<Search> Search::make(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab,
                                     const Kernels& kernels, Stops stops) {
  if (options.num_beams > 1) return make_beam_search(options, prompt, vocab, kernels, std::move(stops));
  return std::make_unique<Sampler>(options, prompt, vocab, kernels, std::move(stops));
}

}  // namespace wattn
