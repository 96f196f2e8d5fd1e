// Double-precision reference of transformers' beam search (generation/utils.py, _beam_search, v5.23.0) that sorts all candidates.
#pragma once

#include <utility>

#include "native/generation/reference.h"

namespace wattn::test {

// A sequence and its sum of log-probabilities. A finished sequence that has to fill a beam gets 1e9 subtracted, each time;
// float32 cannot hold the sum beside that, so it does not count any more.
struct ReferenceBeam {
  Ids tokens{};
  double score = 0;
  int far = 0;

  double value() const { return far == 0 || std::isinf(score) ? score : -1e9 * far; }
  bool operator<(const ReferenceBeam& other) const { return value() > other.value(); }  // the better one first
};

class ReferenceBeams {
 public:
  ReferenceBeams(const GenerateOptions& options, const Ids& prompt, Model model, Stop stop)
      : options_(options),
        prompt_(prompt.size()),
        width_(static_cast<std::size_t>(options.num_beams)),
        model_(std::move(model)),
        stop_(std::move(stop)) {
    for (std::size_t i = 0; i < width_; ++i) beams_.push_back({prompt, 0, i == 0 ? 0 : 1});
  }

  std::vector<Generated> run() {
    while (step()) {
    }
    std::vector<Generated> out;
    for (std::size_t i = 0; i < static_cast<std::size_t>(options_.num_return_sequences); ++i) {
      if (i < ended_.size()) {
        out.push_back(ended_[i]);
      } else {
        const Ids& tokens = beams_[i].tokens;
        out.push_back({Ids(tokens.begin() + static_cast<std::ptrdiff_t>(prompt_), tokens.end()), FinishReason::kNone,
                       static_cast<float>(beams_[i].value())});
      }
    }
    return out;
  }

 private:
  using Early = GenerateOptions::EarlyStopping;

  std::size_t length() const { return beams_[0].tokens.size() - prompt_; }
  double by_length(double score, double length) const { return score / std::pow(length, options_.length_penalty); }
  bool is_full() const { return ended_.size() == width_; }

  std::vector<ReferenceBeam> candidates() const {
    std::vector<ReferenceBeam> out;
    for (const ReferenceBeam& beam : beams_) {
      Row logs = processed(options_, prompt_, beam.tokens, log_softmax(to_row(model_(beam.tokens))));
      if (options_.renormalize_logits) logs = log_softmax(logs);
      for (std::size_t token = 0; token < logs.size(); ++token) {
        out.push_back({beam.tokens, beam.score + logs[token], beam.far});
        out.back().tokens.push_back(static_cast<std::int32_t>(token));
      }
    }
    std::stable_sort(out.begin(), out.end());
    const std::size_t kept = std::max<std::size_t>(2, 1 + options_.eos_token_ids.size()) * width_;
    out.resize(std::min(out.size(), kept));
    return out;
  }

  // Returns false when the search is over.
  bool step() {
    std::vector<ReferenceBeam> all = candidates();
    std::vector<FinishReason> reasons;
    for (const ReferenceBeam& one : all) reasons.push_back(reason_of(options_, prompt_, one.tokens, stop_));
    const bool closed = (options_.early_stopping == Early::kYes && is_full()) || !can_improve_;
    for (std::size_t i = 0; i < std::min(width_, all.size()) && !closed; ++i) {
      if (reasons[i] != FinishReason::kNone) end(all[i], reasons[i]);
    }
    for (std::size_t i = 0; i < all.size(); ++i) all[i].far += reasons[i] != FinishReason::kNone ? 1 : 0;
    std::stable_sort(all.begin(), all.end());
    all.resize(std::min(width_, all.size()));
    beams_ = std::move(all);
    const bool far = options_.early_stopping == Early::kNever && options_.length_penalty > 0;
    const double best =
        by_length(beams_[0].value(), far ? static_cast<double>(options_.max_new_tokens) : static_cast<double>(length()));
    can_improve_ = can_improve_ && best > (is_full() ? scores_.back() : -1e9);
    const bool any = std::any_of(reasons.begin(), reasons.end(), [](FinishReason reason) { return reason == FinishReason::kNone; });
    return can_improve_ && any && !(options_.early_stopping == Early::kYes && is_full());
  }

  void end(const ReferenceBeam& beam, FinishReason reason) {
    const double score = by_length(beam.value(), static_cast<double>(length() + 1));
    if (!(score > -1e9)) return;
    const Ids tokens(beam.tokens.begin() + static_cast<std::ptrdiff_t>(prompt_), beam.tokens.end());
    const auto at = std::find_if(scores_.begin(), scores_.end(), [&](double one) { return score > one; }) - scores_.begin();
    ended_.insert(ended_.begin() + at, {tokens, reason, static_cast<float>(score)});
    scores_.insert(scores_.begin() + at, score);
    if (ended_.size() > width_) ended_.pop_back(), scores_.pop_back();
  }

  const GenerateOptions options_;
  std::size_t prompt_;
  std::size_t width_;
  Model model_;
  Stop stop_;
  std::vector<ReferenceBeam> beams_;
  std::vector<Generated> ended_;  // best first
  std::vector<double> scores_;    // of ended_, in double precision
  bool can_improve_ = true;
};

inline std::vector<Generated> reference_beams(const GenerateOptions& options, const Ids& prompt, const Model& model,
                                              const Stop& stop = {}) {
  return ReferenceBeams(options, prompt, model, stop).run();
}

}  // namespace wattn::test
