#include "nn/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "nn/functional.h"

namespace wattn::nn {
namespace {

// Sequences that grow together; all have one length.
class Stepper {
 public:
  Stepper(const Generative& model, const GenerateOptions& options) : model_(model), options_(options) {}

  Result<void> begin(const std::vector<std::int64_t>& ids, const Tensor* source) {
    sequences_ = {ids};
    if (!source) return {};
    auto memory = model_.encode(*source, nullptr);
    if (!memory.ok()) return memory.error();
    memory_ = std::move(memory).value();
    return {};
  }

  // Logits [sequences, vocab] of what follows.
  Result<Tensor> next() {
    if (!options_.use_cache) cache_ = {};
    const auto seen = static_cast<std::size_t>(cache_.length);
    const auto batch = static_cast<std::int64_t>(sequences_.size());
    const auto length = static_cast<std::int64_t>(sequences_[0].size() - seen);
    Tensor ids{{batch, length}, {}};
    for (const auto& sequence : sequences_)
      ids.data.insert(ids.data.end(), sequence.begin() + static_cast<std::ptrdiff_t>(seen), sequence.end());
    Tensor memory = memory_;
    if (!memory.dims.empty()) {
      memory.dims[0] = batch;
      memory.data.clear();
      for (std::int64_t i = 0; i < batch; ++i) memory.data.insert(memory.data.end(), memory_.data.begin(), memory_.data.end());
    }
    return model_.next_logits(ids, memory.dims.empty() ? nullptr : &memory, nullptr, cache_);
  }

  // Sequence i goes on from sequence order[i] with tokens[i].
  Result<void> grow(const std::vector<std::int64_t>& order, const std::vector<std::int64_t>& tokens) {
    std::vector<std::vector<std::int64_t>> next;
    next.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      next.push_back(sequences_[static_cast<std::size_t>(order[i])]);
      next.back().push_back(tokens[i]);
    }
    sequences_ = std::move(next);
    return cache_.reorder(order);
  }

  const std::vector<std::vector<std::int64_t>>& sequences() const { return sequences_; }

 private:
  const Generative& model_;
  const GenerateOptions& options_;
  std::vector<std::vector<std::int64_t>> sequences_;
  KeyValueCache cache_;
  Tensor memory_;  // [1, source, d], or empty
};

std::int64_t draw(const std::vector<float>& probabilities, Generator& generator) {
  double left = generator.uniform();
  std::int64_t last = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] <= 0) continue;
    last = static_cast<std::int64_t>(i);
    left -= probabilities[i];
    if (left < 0) break;
  }
  return last;
}

Result<std::vector<std::int64_t>> one_path(Stepper& stepper, const GenerateOptions& options) {
  Generator generator(options.seed);
  for (std::int64_t i = 0; i < options.max_new_tokens; ++i) {
    const auto logits = stepper.next();
    if (!logits.ok()) return logits.error();
    const auto& row = logits.value().data;
    const std::int64_t token = options.do_sample
                                   ? draw(sampling_probabilities(row.data(), logits.value().size(), options), generator)
                                   : std::max_element(row.begin(), row.end()) - row.begin();
    if (const auto grown = stepper.grow({0}, {token}); !grown.ok()) return grown.error();
    if (token == options.eos_token_id) break;
  }
  return stepper.sequences()[0];
}

struct Candidate {
  double score;
  std::int64_t beam, token;
};
struct Finished {
  double score;
  std::vector<std::int64_t> ids;
};

// The best 2 * num_beams continuations of all beams by sum of log-probabilities; ties go to the lower place.
Result<std::vector<Candidate>> candidates_of(const Tensor& logits, const std::vector<double>& scores, std::int64_t num_beams) {
  const auto logs = log_softmax(logits, -1);
  if (!logs.ok()) return logs.error();
  const std::int64_t vocab = logits.dim(1);
  std::vector<Candidate> all;
  all.reserve(logits.data.size());
  for (std::int64_t i = 0; i < logits.size(); ++i) {
    all.push_back({scores[static_cast<std::size_t>(i / vocab)] + *logs.value().at(i), i / vocab, i % vocab});
  }
  const auto kept = std::min<std::size_t>(all.size(), static_cast<std::size_t>(2 * num_beams));
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.score != b.score ? a.score > b.score : std::pair(a.beam, a.token) < std::pair(b.beam, b.token);
                    });
  all.resize(kept);
  return all;
}

class BeamSearch {
 public:
  BeamSearch(Stepper& stepper, const GenerateOptions& options) : stepper_(stepper), options_(options) {}

  Result<std::vector<std::int64_t>> search() {
    std::vector<double> scores{0};
    for (std::int64_t length = 1; length <= options_.max_new_tokens; ++length) {
      const auto logits = stepper_.next();
      if (!logits.ok()) return logits.error();
      const auto candidates = candidates_of(logits.value(), scores, options_.num_beams);
      if (!candidates.ok()) return candidates.error();
      std::vector<std::int64_t> order, tokens;
      scores.clear();
      for (std::size_t rank = 0; rank < candidates.value().size(); ++rank) {
        const Candidate& candidate = candidates.value()[rank];
        if (candidate.token == options_.eos_token_id) {
          // One that ends counts only where it is among the best num_beams.
          if (static_cast<std::int64_t>(rank) < options_.num_beams) finish(candidate, length);
        } else if (static_cast<std::int64_t>(order.size()) < options_.num_beams) {
          order.push_back(candidate.beam);
          tokens.push_back(candidate.token);
          scores.push_back(candidate.score);
        }
      }
      if (order.empty()) break;
      if (const auto grown = stepper_.grow(order, tokens); !grown.ok()) return grown.error();
      if (is_done(scores[0], length)) break;
      if (length == options_.max_new_tokens) {
        for (std::size_t i = 0; i < scores.size(); ++i) add(scores[i], length, stepper_.sequences()[i]);
      }
    }
    return finished_.empty() ? stepper_.sequences()[0] : finished_[0].ids;
  }

 private:
  void finish(const Candidate& candidate, std::int64_t length) {
    std::vector<std::int64_t> ids = stepper_.sequences()[static_cast<std::size_t>(candidate.beam)];
    ids.push_back(candidate.token);
    add(candidate.score, length, std::move(ids));
  }
  void add(double score, std::int64_t length, std::vector<std::int64_t> ids) {
    Finished made{score / std::pow(static_cast<double>(length), options_.length_penalty), std::move(ids)};
    const auto better = [](const Finished& a, const Finished& b) { return a.score > b.score; };
    finished_.insert(std::upper_bound(finished_.begin(), finished_.end(), made, better), std::move(made));
    if (static_cast<std::int64_t>(finished_.size()) > options_.num_beams) finished_.pop_back();
  }
  // Enough have ended, and no running one can be better.
  bool is_done(double best_running, std::int64_t length) const {
    if (static_cast<std::int64_t>(finished_.size()) < options_.num_beams) return false;
    if (options_.early_stopping) return true;
    return finished_.back().score >= best_running / std::pow(static_cast<double>(length), options_.length_penalty);
  }

  Stepper& stepper_;
  const GenerateOptions& options_;
  std::vector<Finished> finished_;
};

Result<void> check(const Generative& model, const std::vector<std::int64_t>& ids, const Tensor* source,
                   const GenerateOptions& options) {
  const auto wrong = [](const std::string& what) { return input_error("nn.generate: " + what); };
  if (ids.empty()) return wrong("expected a prompt of one token at least, found none");
  if (model.has_encoder() != (source != nullptr)) {
    return wrong(model.has_encoder() ? "this model wants a source" : "this model takes no source");
  }
  if (source && (source->rank() != 2 || source->dim(0) != 1)) return wrong_shape("nn.generate", "source", "[1, seq]", source->dims);
  if (options.num_beams < 1 || options.num_beams > 1024)
    return wrong("expected num_beams in 1 .. 1024, found " + std::to_string(options.num_beams));
  if (options.do_sample && options.num_beams > 1) return wrong("do_sample and num_beams exclude each other");
  if (!(options.temperature > 0)) return wrong("expected a temperature above 0, found " + std::to_string(options.temperature));
  if (!(options.top_p > 0 && options.top_p <= 1)) return wrong("expected top_p in (0, 1], found " + std::to_string(options.top_p));
  const std::int64_t length = static_cast<std::int64_t>(ids.size()) + options.max_new_tokens;
  if (length > model.max_len() + 1) {
    return wrong("prompt and max_new_tokens are " + std::to_string(length) +
                 " tokens, the model takes max_len = " + std::to_string(model.max_len()));
  }
  return {};
}

}  // namespace

std::vector<float> sampling_probabilities(const float* logits, std::int64_t vocab, const GenerateOptions& options) {
  std::vector<float> out(static_cast<std::size_t>(vocab));
  for (std::int64_t i = 0; i < vocab; ++i) out[static_cast<std::size_t>(i)] = static_cast<float>(logits[i] / options.temperature);
  constexpr float kOut = -std::numeric_limits<float>::infinity();
  std::vector<std::int64_t> order(out.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](std::int64_t i) { return out[static_cast<std::size_t>(i)]; };
  // A heap stays in bounds whatever it is asked to sort, NaN too.
  const auto better = [&](std::int64_t a, std::int64_t b) { return value(a) > value(b) || (value(a) == value(b) && a < b); };
  std::make_heap(order.begin(), order.end(), better);
  std::sort_heap(order.begin(), order.end(), better);
  if (options.top_k > 0 && options.top_k < vocab) {
    const float least = value(order[static_cast<std::size_t>(options.top_k - 1)]);  // those equal to it stay
    for (float& x : out) x = x < least ? kOut : x;
  }
  const auto softmax_of = [&](std::vector<float> x) {
    compute().kernels.softmax_rows(x.data(), 1, vocab, vocab);
    return x;
  };
  if (options.top_p < 1) {
    const std::vector<float> probabilities = softmax_of(out);
    double before = 0;
    for (const std::int64_t i : order) {
      if (before >= options.top_p) out[static_cast<std::size_t>(i)] = kOut;
      before += probabilities[static_cast<std::size_t>(i)];
    }
  }
  return softmax_of(std::move(out));
}

Result<std::vector<std::int64_t>> generate(const Generative& model, const std::vector<std::int64_t>& ids, const Tensor* source,
                                           const GenerateOptions& options) {
  if (const auto fits = check(model, ids, source, options); !fits.ok()) return fits.error();
  Stepper stepper(model, options);
  if (const auto begun = stepper.begin(ids, source); !begun.ok()) return begun.error();
  if (options.num_beams == 1) return one_path(stepper, options);
  return BeamSearch(stepper, options).search();
}

}  // namespace wattn::nn
