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

// The place that a draw of [0, 1) falls on.
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

// Greedy, or several that are drawn.
class Paths : public Search {
 public:
  Paths(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab, const Kernels& kernels,
        Stops stops)
      : options_(options),
        prompt_(prompt.size()),
        vocab_(vocab),
        stops_(std::move(stops)),
        processors_(options_, static_cast<std::int64_t>(prompt.size()), vocab, kernels) {
    Generator seeds(options_.seed);
    paths_.reserve(static_cast<std::size_t>(options_.num_return_sequences));
    for (std::int64_t i = 0; i < options_.num_return_sequences; ++i) {
      Path& path = paths_.emplace_back(Path{{}, FinishReason::kNone, Generator(seeds.next())});
      // All that will be there: a step allocates nothing.
      path.tokens.reserve(prompt.size() + static_cast<std::size_t>(options_.max_new_tokens));
      path.tokens.assign(prompt.begin(), prompt.end());
    }
    continuations.reserve(paths_.size());
  }

  Result<void> take(float* logits) override {
    const bool first = paths_[0].tokens.size() == prompt_;
    continuations.clear();
    std::int32_t row = 0;
    for (Path& path : paths_) {
      if (path.reason != FinishReason::kNone) continue;
      // The first row is everyone's: each works on a copy of it.
      float* scores = logits + row * vocab_;
      if (first && paths_.size() > 1) {
        copy_.assign(logits, logits + vocab_);
        scores = copy_.data();
      }
      if (auto e = check_numbers(scores, vocab_); !e.ok()) return e;
      const std::int32_t token = choose(path, scores);
      path.tokens.push_back(token);
      path.reason = reason_of(path, token);
      if (path.reason == FinishReason::kNone) continuations.push_back({row, token});
      if (!first) ++row;
    }
    return {};
  }

  std::vector<Generated> results() const override {
    std::vector<Generated> out;
    out.reserve(paths_.size());
    for (const Path& path : paths_) {
      out.push_back({{path.tokens.begin() + static_cast<std::ptrdiff_t>(prompt_), path.tokens.end()}, path.reason, 0});
    }
    return out;
  }

 private:
  struct Path {
    std::vector<std::int32_t> tokens;  // with the prompt
    FinishReason reason;
    Generator generator;
  };

  std::int32_t choose(Path& path, float* scores) {
    processors_.process(path.tokens, scores);
    if (!options_.do_sample) return static_cast<std::int32_t>(std::max_element(scores, scores + vocab_) - scores);
    processors_.to_probabilities(scores);
    return draw(scores, vocab_, path.generator.uniform());
  }
  FinishReason reason_of(const Path& path, std::int32_t token) const {
    const auto& ends = options_.eos_token_ids;
    if (std::find(ends.begin(), ends.end(), token) != ends.end()) return FinishReason::kEos;
    if (stops_ && stops_(path.tokens)) return FinishReason::kStop;
    const auto made = static_cast<std::int64_t>(path.tokens.size() - prompt_);
    return made >= options_.max_new_tokens ? FinishReason::kLength : FinishReason::kNone;
  }

  const GenerateOptions options_;
  std::size_t prompt_;
  std::int64_t vocab_;
  Stops stops_;
  Processors processors_;
  std::vector<Path> paths_;
  std::vector<float> copy_;
};

Error wrong(const char* option, const std::string& expected, const std::string& found) {
  return input_error(std::string("generate: option '") + option + "': expected " + expected + ", found " + found);
}

}  // namespace

Result<void> check_numbers(const float* logits, std::int64_t vocab) {
  // A sum is no number when one of its parts is none; -infinity alone is a logit that cannot be chosen.
  bool any = false;
  for (std::int64_t i = 0; i < vocab; ++i) {
    if (std::isnan(logits[i]) || logits[i] > 3e38f) {
      return model_format_error("generate: the model's logits are not finite, token " + std::to_string(i) +
                                ": are there NaN or infinity among its weights?");
    }
    any = any || logits[i] > -3e38f;
  }
  if (!any) return model_format_error("generate: the model gives every token a logit of -infinity");
  return {};
}

Result<void> Search::check(const GenerateOptions& options, std::int64_t vocab) {
  const auto number = [](double value) { return std::isfinite(value) ? json_text(value) : "no finite number"; };
  const auto count = [](const char* name, std::int64_t value, std::int64_t least, std::int64_t most) -> Result<void> {
    if (value >= least && value <= most) return {};
    return wrong(name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most), std::to_string(value));
  };
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
  for (const auto& row : counts) {
    if (auto e = count(row.name, row.value, row.least, row.most); !e.ok()) return e;
  }
  if (!(options.temperature > 0 && options.temperature < 1e6)) {
    return wrong("temperature", "a number above 0 (do_sample: false for the likeliest token)", number(options.temperature));
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) return wrong("top_p", "a number above 0, at most 1", number(options.top_p));
  if (!(options.min_p >= 0 && options.min_p <= 1)) return wrong("min_p", "a number from 0 to 1", number(options.min_p));
  if (!(options.repetition_penalty > 0 && options.repetition_penalty < 1e6)) {
    return wrong("repetition_penalty", "a number above 0", number(options.repetition_penalty));
  }
  if (!(std::abs(options.length_penalty) < 1e3)) return wrong("length_penalty", "a number", number(options.length_penalty));
  if (options.do_sample && options.num_beams > 1)
    return wrong("num_beams", "1 beside do_sample", std::to_string(options.num_beams));
  if (!options.do_sample && options.num_return_sequences > options.num_beams) {
    return wrong("num_return_sequences", "at most num_beams, or do_sample beside it", std::to_string(options.num_return_sequences));
  }
  const auto tokens = [&](const char* name, std::span<const std::int32_t> ids) -> Result<void> {
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= vocab) return wrong(name, "ids below vocab_size " + std::to_string(vocab), std::to_string(id));
    }
    return {};
  };
  if (auto e = tokens("eos_token_id", options.eos_token_ids); !e.ok()) return e;
  for (const auto& word : options.bad_words) {
    if (word.empty()) return wrong("bad_words_ids", "lists of one id at least", "an empty one");
    if (auto e = tokens("bad_words_ids", word); !e.ok()) return e;
  }
  if (options.forced_bos_token_id) {
    if (auto e = tokens("forced_bos_token_id", {&*options.forced_bos_token_id, 1}); !e.ok()) return e;
  }
  if (options.forced_eos_token_id) return tokens("forced_eos_token_id", {&*options.forced_eos_token_id, 1});
  return {};
}

std::unique_ptr<Search> Search::make(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab,
                                     const Kernels& kernels, Stops stops) {
  if (options.num_beams > 1) return make_beam_search(options, prompt, vocab, kernels, std::move(stops));
  return std::make_unique<Paths>(options, prompt, vocab, kernels, std::move(stops));
}

}  // namespace wattn
