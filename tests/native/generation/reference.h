// A double-precision reference for greedy search, sampling and logits processors, written for clarity; models are functions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/random.h"
#include "generation/search.h"

namespace wattn::test {

using Ids = std::vector<std::int32_t>;
using Row = std::vector<double>;
// The logits after a sequence (prompt and new tokens).
using Model = std::function<std::vector<float>(const Ids&)>;
using Stop = std::function<bool(const Ids&)>;

constexpr double kBanned = -std::numeric_limits<double>::infinity();

// Logits in [-1.5, 1.5) that depend on the whole sequence.
inline Model random_model(std::int64_t vocab, std::uint64_t seed) {
  return [vocab, seed](const Ids& sequence) {
    std::uint64_t state = seed;
    for (const std::int32_t id : sequence) state = Generator(state * 31 + static_cast<std::uint64_t>(id)).next();
    Generator generator(state);
    std::vector<float> out(static_cast<std::size_t>(vocab));
    for (float& logit : out) logit = static_cast<float>(generator.uniform(-1.5, 1.5));
    return out;
  };
}

// The logits listed for a sequence, or `usual` for sequences not listed.
inline Model table_model(std::vector<std::pair<Ids, std::vector<float>>> table, std::vector<float> usual) {
  return [table = std::move(table), usual = std::move(usual)](const Ids& sequence) {
    for (const auto& [key, logits] : table) {
      if (key == sequence) return logits;
    }
    return usual;
  };
}

inline Row log_softmax(const Row& x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double one : x) sum += std::exp(one - most);
  Row out;
  for (const double one : x) out.push_back(one - most - std::log(sum));
  return out;
}

inline bool ends_with(const Ids& sequence, const Ids& end) {
  return sequence.size() >= end.size() && std::equal(end.rbegin(), end.rend(), sequence.rbegin());
}

inline bool is_end(const GenerateOptions& options, std::int32_t token) {
  return std::find(options.eos_token_ids.begin(), options.eos_token_ids.end(), token) != options.eos_token_ids.end();
}

// Whether the options forbid this token after the sequence.
inline bool is_forbidden(const GenerateOptions& options, std::size_t prompt, const Ids& sequence, std::int32_t token) {
  Ids longer = sequence;
  longer.push_back(token);
  const auto size = static_cast<std::size_t>(options.no_repeat_ngram_size);
  if (size > 0 && longer.size() >= size) {
    const Ids gram(longer.end() - static_cast<std::ptrdiff_t>(size), longer.end());
    if (std::search(sequence.begin(), sequence.end(), gram.begin(), gram.end()) != sequence.end()) return true;
  }
  for (const Ids& word : options.bad_words) {
    const bool is_one_end = word.size() == 1 && is_end(options, word[0]);
    if (!is_one_end && ends_with(longer, word)) return true;
  }
  const auto made = static_cast<std::int64_t>(sequence.size() - prompt);
  return made < options.min_new_tokens && is_end(options, token);
}

// scores: logits, or log-probabilities in beam search.
inline Row processed(const GenerateOptions& options, std::size_t prompt, const Ids& sequence, Row scores) {
  for (const std::int32_t id : std::set<std::int32_t>(sequence.begin(), sequence.end())) {
    double& score = scores[static_cast<std::size_t>(id)];
    score = score < 0 ? score * options.repetition_penalty : score / options.repetition_penalty;
  }
  for (std::size_t token = 0; token < scores.size(); ++token) {
    if (is_forbidden(options, prompt, sequence, static_cast<std::int32_t>(token))) scores[token] = kBanned;
  }
  const auto made = static_cast<std::int64_t>(sequence.size() - prompt);
  const auto force = [&](std::optional<std::int32_t> id, bool now) {
    if (!id || !now) return;
    std::fill(scores.begin(), scores.end(), kBanned);
    scores[static_cast<std::size_t>(*id)] = 0;
  };
  force(options.forced_bos_token_id, sequence.size() == 1);
  force(options.forced_eos_token_id, made == options.max_new_tokens - 1);
  return scores;
}

// Temperature, top_k, top_p and min_p, each by its definition.
inline Row probabilities(const GenerateOptions& options, Row scores) {
  for (double& score : scores) score /= options.temperature;
  if (options.top_k > 0 && options.top_k < static_cast<std::int64_t>(scores.size())) {
    Row sorted = scores;
    std::sort(sorted.rbegin(), sorted.rend());
    const double least = sorted[static_cast<std::size_t>(options.top_k - 1)];
    for (double& score : scores) score = score < least ? kBanned : score;
  }
  const auto softmax = [](Row x) {
    x = log_softmax(x);
    for (double& one : x) one = std::exp(one);
    return x;
  };
  if (options.top_p < 1) {
    const Row all = softmax(scores);
    // A token stays if the likelier ones sum to less than top_p. Of ties the later token counts as likelier.
    for (std::size_t i = 0; i < scores.size(); ++i) {
      double before = 0;
      for (std::size_t j = 0; j < scores.size(); ++j) before += all[j] > all[i] || (all[j] == all[i] && j > i) ? all[j] : 0;
      if (before >= options.top_p) scores[i] = kBanned;
    }
  }
  const Row left = softmax(scores);
  const double most = *std::max_element(left.begin(), left.end());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (left[i] < options.min_p * most) scores[i] = kBanned;
  }
  return softmax(scores);
}

inline Row to_row(const std::vector<float>& logits) { return {logits.begin(), logits.end()}; }

inline FinishReason reason_of(const GenerateOptions& options, std::size_t prompt, const Ids& sequence, const Stop& stop) {
  if (is_end(options, sequence.back())) return FinishReason::kEos;
  if (stop && stop(sequence)) return FinishReason::kStop;
  const auto made = static_cast<std::int64_t>(sequence.size() - prompt);
  return made >= options.max_new_tokens ? FinishReason::kLength : FinishReason::kNone;
}

// Greedy, or sampled with this seed.
inline Generated reference_path(const GenerateOptions& options, const Ids& prompt, const Model& model, const Stop& stop,
                                std::uint64_t seed) {
  Ids sequence = prompt;
  Generator generator(seed);
  Generated out;
  while (out.reason == FinishReason::kNone) {
    Row scores = processed(options, prompt.size(), sequence, to_row(model(sequence)));
    std::int64_t token = std::max_element(scores.begin(), scores.end()) - scores.begin();
    if (options.do_sample) {
      const Row chances = probabilities(options, scores);
      double left = generator.uniform();
      std::size_t drawn = 0;
      while (drawn + 1 < chances.size() && left >= chances[drawn]) left -= chances[drawn++];
      token = static_cast<std::int64_t>(drawn);
    }
    sequence.push_back(static_cast<std::int32_t>(token));
    out.reason = reason_of(options, prompt.size(), sequence, stop);
  }
  out.tokens.assign(sequence.begin() + static_cast<std::ptrdiff_t>(prompt.size()), sequence.end());
  return out;
}

// Runs a search to its end. steps: how many forward passes it took.
inline std::vector<Generated> run_search(const GenerateOptions& options, const Ids& prompt, const Model& model,
                                         const Stop& stop = {}, std::int64_t* steps = nullptr) {
  const auto vocab = static_cast<std::int64_t>(model(prompt).size());
  EXPECT_TRUE(Search::check(options, vocab).ok());
  Search::Stops stops;
  if (stop) stops = [&](std::span<const std::int32_t> tokens) { return stop(Ids(tokens.begin(), tokens.end())); };
  const auto search = Search::make(options, prompt, vocab, exact_kernels(), stops);
  std::vector<Ids> running{prompt};
  for (std::int64_t step = 0; !running.empty(); ++step) {
    EXPECT_LE(running.size(), static_cast<std::size_t>(Search::width(options)));
    std::vector<float> logits;
    for (const Ids& sequence : running) {
      const std::vector<float> row = model(sequence);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    EXPECT_TRUE(search->take(logits.data()).ok());
    std::vector<Ids> next;
    for (const Continuation& one : search->next()) {
      next.push_back(running[static_cast<std::size_t>(one.from)]);
      next.back().push_back(one.token);
    }
    running = std::move(next);
    if (steps) *steps = step + 1;
    if (step > options.max_new_tokens) {
      ADD_FAILURE() << "the search does not end";
      break;
    }
  }
  return search->results();
}

}  // namespace wattn::test
