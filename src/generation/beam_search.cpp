#include "generation/beam_search.h"

#include <algorithm>

#include "core/real_math.h"
#include "generation/processors.h"

namespace wattn {
namespace {

constexpr float kFar = -1e9f;  // of what must not be chosen

// One of the best continuations of all beams.
struct Candidate {
  float score = 0;  // sum of log-probabilities
  std::int32_t beam = 0;
  std::int32_t token = 0;
  FinishReason reason = FinishReason::kNone;
};

// Higher scores first; where they are equal the one that stands first.
bool better(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
}

struct Beam {
  std::vector<std::int32_t> tokens;  // with the prompt
  float score = 0;
};

struct Ended {
  std::vector<std::int32_t> tokens{};
  float score = kFar;
  bool has_ended = false;
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
        ended_(static_cast<std::size_t>(options.num_beams)),
        scratch_(static_cast<std::size_t>(vocab)) {
    // One beam counts at first: all are the same.
    for (std::int64_t i = 0; i < options.num_beams; ++i) beams_.push_back({{prompt.begin(), prompt.end()}, i == 0 ? 0 : kFar});
  }

  Result<void> take(float* logits) override {
    const bool first = length() == 0;
    for (std::size_t beam = 0; beam < (first ? 1 : beams_.size()); ++beam) {
      float* row = logits + static_cast<std::int64_t>(beam) * vocab_;
      if (auto e = check_numbers(row, vocab_); !e.ok()) return e;
      to_log_probabilities(row);
      processors_.process(beams_[beam].tokens, row);
      if (options_.renormalize_logits) to_log_probabilities(row);
    }
    find_candidates(logits, first);
    for (Candidate& candidate : candidates_) candidate.reason = reason_of(candidate);
    end_candidates();  // looks at the beams as they are before they go on
    go_on(first);
    const bool all_end = std::all_of(candidates_.begin(), candidates_.end(), has_reason);
    const bool enough = options_.early_stopping == GenerateOptions::EarlyStopping::kYes && is_full();
    if (!may_improve() || all_end || enough) continuations.clear();
    return {};
  }

  std::vector<Generated> results() const override {
    std::vector<Generated> out;
    const auto count = std::min(static_cast<std::size_t>(options_.num_return_sequences), beams_.size());
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Ended& ended = ended_[i];
      const Beam& beam = beams_[i];
      const std::vector<std::int32_t>& tokens = ended.has_ended ? ended.tokens : beam.tokens;
      out.push_back({{tokens.begin() + prompt_, tokens.end()}, ended.reason, ended.has_ended ? ended.score : beam.score});
    }
    return out;
  }

 private:
  static bool has_reason(const Candidate& candidate) { return candidate.reason != FinishReason::kNone; }
  std::int64_t length() const { return static_cast<std::int64_t>(beams_[0].tokens.size()) - prompt_; }
  bool is_full() const {
    return std::all_of(ended_.begin(), ended_.end(), [](const Ended& ended) { return ended.has_ended; });
  }
  float by_length(float score, std::int64_t length) const {
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

  // Enough that num_beams remain when every beam's end tokens are among them.
  void find_candidates(const float* logs, bool first) {
    const std::size_t most = std::max<std::size_t>(2, 1 + options_.eos_token_ids.size()) * beams_.size();
    candidates_.clear();
    for (std::size_t beam = 0; beam < beams_.size(); ++beam) {
      const float* row = logs + (first ? 0 : static_cast<std::int64_t>(beam) * vocab_);
      for (std::int64_t token = 0; token < vocab_; ++token) {
        const float score = row[token] + beams_[beam].score;
        if (candidates_.size() == most && !(score > candidates_.front().score)) continue;
        if (candidates_.size() == most) {
          std::pop_heap(candidates_.begin(), candidates_.end(), better);
          candidates_.pop_back();
        }
        candidates_.push_back({score, static_cast<std::int32_t>(beam), static_cast<std::int32_t>(token)});
        std::push_heap(candidates_.begin(), candidates_.end(), better);  // the worst in front
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

  // Adds the best num_beams candidates that end now to the finished ones, of which the best num_beams are kept.
  void end_candidates() {
    for (std::size_t i = 0; i < beams_.size(); ++i) {
      const Candidate& candidate = candidates_[i];
      if (!has_reason(candidate)) continue;
      Ended made{tokens_of(candidate), by_length(candidate.score, length() + 1), true, candidate.reason};
      const auto place =
          std::find_if(ended_.begin(), ended_.end(), [&](const Ended& ended) { return !(ended.score >= made.score); });
      ended_.insert(place, std::move(made));
      ended_.pop_back();
    }
  }

  // The best num_beams that do not end; with 1e9 less, those that do, where there are too few.
  void go_on(bool first) {
    std::vector<Candidate> running = candidates_;
    for (Candidate& candidate : running) candidate.score += has_reason(candidate) ? kFar : 0.0f;
    const auto higher = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
    for (auto next = running.begin(); next != running.end(); ++next) {  // a few, and equal ones keep their order
      std::rotate(std::upper_bound(running.begin(), next, *next, higher), next, next + 1);
    }
    std::vector<Beam> beams;
    continuations.clear();
    for (std::size_t i = 0; i < beams_.size(); ++i) {
      beams.push_back({tokens_of(running[i]), running[i].score});
      continuations.push_back({first ? 0 : running[i].beam, running[i].token});
    }
    beams_ = std::move(beams);
  }

  // Whether the best running beam could come before the worst that ended.
  bool may_improve() const {
    const bool far = options_.early_stopping == GenerateOptions::EarlyStopping::kNever && options_.length_penalty > 0;
    const float best = by_length(beams_[0].score, far ? options_.max_new_tokens : length());
    return best > ended_.back().score;
  }

  const GenerateOptions options_;
  std::int64_t prompt_;
  std::int64_t vocab_;
  const Kernels& kernels_;
  Stops stops_;
  Processors processors_;
  std::vector<Beam> beams_;
  std::vector<Ended> ended_;  // [num_beams], best first; kFar while empty
  std::vector<Candidate> candidates_;
  std::vector<float> scratch_;
};

}  // namespace

std::unique_ptr<Search> make_beam_search(const GenerateOptions& options, std::span<const std::int32_t> prompt, std::int64_t vocab,
                                         const Kernels& kernels, Search::Stops stops) {
  return std::make_unique<BeamSearch>(options, prompt, vocab, kernels, std::move(stops));
}

}  // namespace wattn
