// build: -Os
#include "generation/beam_search.h"

#include <algorithm>

#include "core/real_math.h"
#include "generation/processors.h"

namespace wattn {
namespace {

constexpr float kUnlikely = -1e9f;  // a score

// A possible continuation of a beam.
struct Candidate {
  float score = 0;  // sum of log-probabilities
  std::int32_t beam = 0;
  std::int32_t token = 0;
  FinishReason reason = FinishReason::kNone;
};

// Higher scores first, then lower beams, then lower tokens.
bool better(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
}

struct Beam {
  std::vector<std::int32_t> tokens{};  // including the prompt
  float score = 0;
  FinishReason reason = FinishReason::kNone;
};

class BeamSearch : public Search {
 public:
  BeamSearch(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab, const Kernels& kernels,
             Stops stops)
      : options_(options),
        prompt_(static_cast<std::int64_t>(prompt.size())),
        vocab_(vocab),
        kernels_(kernels),
        stops_(std::move(stops)),
        processors_(options_, prompt_, vocab, kernels),
        finished_(static_cast<std::size_t>(options.num_beams), {.score = kUnlikely}),
        scratch_(static_cast<std::size_t>(vocab)) {
    // All beams are the same at first, so only one counts.
    for (std::int64_t i = 0; i < options.num_beams; ++i) beams_.push_back({{prompt.begin(), prompt.end()}, i == 0 ? 0 : kUnlikely});
  }

  Result<void> start(float* logits) override {
    for (std::size_t beam = 0; beam < rows(); ++beam) {
      float* row = logits + static_cast<std::int64_t>(beam) * vocab_;
      if (auto e = check_numbers(row, vocab_); !e.ok()) return e;
      to_log_probabilities(row);
    }
    return {};
  }

  void process(float* logits) override {
    for (std::size_t beam = 0; beam < rows(); ++beam)
      processors_.process(beams_[beam].tokens, logits + static_cast<std::int64_t>(beam) * vocab_);
  }

  Result<void> warp(float* scores, const std::uint32_t* masks) override {
    for (std::size_t beam = 0; beam < rows(); ++beam) {
      float* row = scores + static_cast<std::int64_t>(beam) * vocab_;
      if (masks) apply_mask(masks + static_cast<std::int64_t>(beam) * mask_words(vocab_), vocab_, row);
      if (options_.renormalize_logits) to_log_probabilities(row);
    }
    return {};
  }

  void choose(float* scores) override {
    const bool first = length() == 0;
    find_candidates(scores, first);
    for (Candidate& candidate : candidates_) candidate.reason = reason_of(candidate);
    finish_candidates();  // before the beams advance
    advance(first);
    const bool enough = options_.early_stopping == GenerateOptions::EarlyStopping::kYes && all_have_reasons(finished_);
    if (!may_improve() || all_have_reasons(candidates_) || enough) continuations_.clear();
  }

  std::vector<Generated> results() const override {
    std::vector<Generated> out;
    const auto count = std::min(static_cast<std::size_t>(options_.num_return_sequences), beams_.size());
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Beam& best = has_reason(finished_[i]) ? finished_[i] : beams_[i];
      out.push_back({{best.tokens.begin() + prompt_, best.tokens.end()}, best.reason, best.score});
    }
    return out;
  }

 private:
  std::size_t rows() const { return length() == 0 ? 1 : beams_.size(); }
  static bool has_reason(const auto& sequence) { return sequence.reason != FinishReason::kNone; }
  std::int64_t length() const { return static_cast<std::int64_t>(beams_[0].tokens.size()) - prompt_; }
  static bool all_have_reasons(const auto& sequences) {
    return std::all_of(sequences.begin(), sequences.end(), [](const auto& one) { return has_reason(one); });
  }
  float with_length_penalty(float score, std::int64_t length) const {
    return score / static_cast<float>(pow64(static_cast<double>(length), options_.length_penalty));
  }

  // x - max - log(sum of e^(x - max)); the largest probability is the reciprocal of that sum.
  void to_log_probabilities(float* row) {
    std::copy_n(row, vocab_, scratch_.begin());
    kernels_.softmax_rows(scratch_.data(), 1, vocab_, vocab_);
    const float most = *std::max_element(row, row + vocab_);
    const auto log_sum = static_cast<float>(-log64(*std::max_element(scratch_.begin(), scratch_.end())));
    for (std::int64_t i = 0; i < vocab_; ++i) row[i] = row[i] - most - log_sum;
  }

  // Enough to leave num_beams running when all end tokens of every beam are among them.
  void find_candidates(const float* log_probs, bool first) {
    const std::size_t most = std::max<std::size_t>(2, 1 + options_.eos_token_ids.size()) * beams_.size();
    candidates_.clear();
    for (std::size_t beam = 0; beam < beams_.size(); ++beam) {
      const float* row = log_probs + (first ? 0 : static_cast<std::int64_t>(beam) * vocab_);
      for (std::int64_t token = 0; token < vocab_; ++token) {
        const float score = row[token] + beams_[beam].score;
        if (candidates_.size() == most && !(score > candidates_.front().score)) continue;
        if (candidates_.size() == most) {
          std::pop_heap(candidates_.begin(), candidates_.end(), better);
          candidates_.pop_back();
        }
        candidates_.push_back({score, static_cast<std::int32_t>(beam), static_cast<std::int32_t>(token)});
        std::push_heap(candidates_.begin(), candidates_.end(), better);  // the worst is first
      }
    }
    std::sort_heap(candidates_.begin(), candidates_.end(), better);
  }

  std::vector<std::int32_t> tokens_of(const Candidate& candidate) const {
    std::vector<std::int32_t> tokens = beams_[static_cast<std::size_t>(candidate.beam)].tokens;
    tokens.push_back(candidate.token);
    return tokens;
  }
  FinishReason reason_of(const Candidate& candidate) const {
    const auto& ends = options_.eos_token_ids;
    if (std::find(ends.begin(), ends.end(), candidate.token) != ends.end()) return FinishReason::kEos;
    if (stops_ && stops_(tokens_of(candidate))) return FinishReason::kStop;
    return length() + 1 >= options_.max_new_tokens ? FinishReason::kLength : FinishReason::kNone;
  }

  // Among the best num_beams candidates, those that end now join the finished ones, of which the best num_beams are kept.
  void finish_candidates() {
    for (std::size_t i = 0; i < beams_.size(); ++i) {
      const Candidate& candidate = candidates_[i];
      if (!has_reason(candidate)) continue;
      Beam made{tokens_of(candidate), with_length_penalty(candidate.score, length() + 1), candidate.reason};
      const auto place =
          std::find_if(finished_.begin(), finished_.end(), [&](const Beam& finished) { return !(finished.score >= made.score); });
      finished_.insert(place, std::move(made));
      finished_.pop_back();
    }
  }

  // Continues with the best num_beams candidates that do not end, or, if there are too few, also those that do.
  void advance(bool first) {
    std::vector<Candidate> running = candidates_;
    for (Candidate& candidate : running) candidate.score += has_reason(candidate) ? kUnlikely : 0.0f;
    const auto higher = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
    for (auto next = running.begin(); next != running.end(); ++next) {  // a stable insertion sort
      std::rotate(std::upper_bound(running.begin(), next, *next, higher), next, next + 1);
    }
    std::vector<Beam> beams;
    continuations_.clear();
    for (std::size_t i = 0; i < beams_.size(); ++i) {
      beams.push_back({tokens_of(running[i]), running[i].score});
      continuations_.push_back({first ? 0 : running[i].beam, running[i].token});
    }
    beams_ = std::move(beams);
  }

  // Whether the best running beam could still rank above the worst finished one.
  bool may_improve() const {
    const bool assume_longest = options_.early_stopping == GenerateOptions::EarlyStopping::kNever && options_.length_penalty > 0;
    const float best = with_length_penalty(beams_[0].score, assume_longest ? options_.max_new_tokens : length());
    return best > finished_.back().score;
  }

  const GenerateOptions options_;
  std::int64_t prompt_;
  std::int64_t vocab_;
  const Kernels& kernels_;
  Stops stops_;
  Processors processors_;
  std::vector<Beam> beams_;
  std::vector<Beam> finished_;  // [num_beams], best first; without a reason: still free
  std::vector<Candidate> candidates_;
  std::vector<float> scratch_;
};

}  // namespace

std::unique_ptr<Search> make_beam_search(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab,
                                         const Kernels& kernels, Search::Stops stops) {
  return std::make_unique<BeamSearch>(options, prompt, vocab, kernels, std::move(stops));
}

}  // namespace wattn
