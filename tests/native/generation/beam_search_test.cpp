// Beam search against a double-precision reference, and hand-made cases.
#include <gtest/gtest.h>

#include "generation/search.h"
#include "native/generation/reference_beams.h"

namespace wattn {
namespace {

using test::Ids;
using test::Model;
using test::reference_beams;
using test::run_search;
using test::Stop;
using test::table_model;
using Early = GenerateOptions::EarlyStopping;

constexpr float kNo = -std::numeric_limits<float>::infinity();

// The logit of a token with that probability, where all probabilities sum to 1.
float logit(double probability) { return static_cast<float>(std::log(probability)); }

std::vector<float> logits(std::initializer_list<double> probabilities) {
  std::vector<float> out;
  for (const double one : probabilities) out.push_back(one > 0 ? logit(one) : kNo);
  return out;
}

// A sum of `steps` logarithms, each a few roundings of numbers below 8.
double rounding(std::size_t steps) { return static_cast<double>(steps) * 8 * 4 * 0x1p-24; }

void expect_same(const std::vector<Generated>& found, const std::vector<Generated>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].tokens, expected[i].tokens) << i;
    ASSERT_EQ(found[i].reason, expected[i].reason) << i;
    if (found[i].score == expected[i].score) continue;  // infinite ones too
    const double bound = std::max(rounding(found[i].tokens.size()), std::abs(expected[i].score) * 0x1p-20);
    ASSERT_NEAR(found[i].score, expected[i].score, bound) << i;
  }
}

GenerateOptions random_options(Generator& random, std::int64_t vocab) {
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(end)); };
  const auto token = [&] { return static_cast<std::int32_t>(below(vocab)); };
  GenerateOptions options;
  options.max_new_tokens = 1 + below(6);
  options.num_beams = 2 + below(3);
  options.num_return_sequences = 1 + below(options.num_beams);
  for (std::int64_t i = below(4); i > 0; --i) options.eos_token_ids.push_back(token());
  const double penalties[] = {1, 1, 0, 0.5, 2, -1};
  options.length_penalty = penalties[below(6)];
  options.early_stopping = static_cast<Early>(below(3));
  if (below(4) == 0) options.min_new_tokens = below(4);
  if (below(4) == 0) options.repetition_penalty = below(2) == 0 ? 1.3 : 0.8;
  if (below(4) == 0) options.no_repeat_ngram_size = 2 + below(2);
  if (below(4) == 0) options.bad_words = {{token()}, {token(), token()}};
  if (below(8) == 0) options.forced_bos_token_id = token();
  if (below(8) == 0) options.forced_eos_token_id = token();
  options.renormalize_logits = vocab > 5 && below(4) == 0;
  return options;
}

TEST(BeamSearch, TakesTheSequencesOfTheReference) {
  Generator random(1);
  for (int i = 0; i < 6000; ++i) {
    const std::int64_t vocab = 2 + static_cast<std::int64_t>(random.next() % 8);
    const GenerateOptions options = random_options(random, vocab);
    const Model model = test::random_model(vocab, random.next());
    Ids prompt(1 + random.next() % 3);
    for (std::int32_t& id : prompt) id = static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(vocab));
    const Stop stops[] = {
        {}, {}, [](const Ids& ids) { return test::ends_with(ids, {1, 0}); }, [](const Ids& ids) { return ids.back() % 2 == 1; }};
    const Stop& stop = stops[i % 4];
    SCOPED_TRACE(i);
    expect_same(run_search(options, prompt, model, stop), reference_beams(options, prompt, model, stop));
    if (HasFatalFailure()) return;
  }
}

// Greedy search takes token 1 first and ends with 0.24; the sequence 2, 1 has 0.36.
TEST(BeamSearch, FindsWhatGreedySearchMisses) {
  const Model model = table_model(
      {{{0}, logits({0, 0.6, 0.4})}, {{0, 1}, logits({0.4, 0.3, 0.3})}, {{0, 2}, logits({0, 0.9, 0.1})}}, logits({1, 0, 0}));
  EXPECT_EQ(run_search({.max_new_tokens = 2}, {0}, model)[0].tokens, (Ids{1, 0}));
  const auto found = run_search({.max_new_tokens = 2, .num_beams = 2, .num_return_sequences = 2}, {0}, model);
  expect_same(found, {{{2, 1}, FinishReason::kLength, logit(0.36) / 2}, {{1, 0}, FinishReason::kLength, logit(0.24) / 2}});
}

TEST(BeamSearch, TiesGoToTheLowerBeamThenTheLowerToken) {
  const Model model = [](const Ids&) { return std::vector<float>{1, 1, 1, 1}; };
  const GenerateOptions options{.max_new_tokens = 2, .num_beams = 3, .num_return_sequences = 3};
  const auto found = run_search(options, {3}, model);
  EXPECT_EQ(found[0].tokens, (Ids{0, 0}));
  EXPECT_EQ(found[1].tokens, (Ids{0, 1}));
  EXPECT_EQ(found[2].tokens, (Ids{0, 2}));
  // The first step has one row, so all beams continue row 0.
  const auto search = Search::make(options, Ids{3}, 4, exact_kernels(), {});
  std::vector<float> rows(12, 1.0f);
  ASSERT_TRUE(search->take(rows.data()).ok());
  ASSERT_EQ(search->next().size(), 3U);
  for (std::int32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(search->next()[i].from, 0);
    EXPECT_EQ(search->next()[i].token, i);
  }
}

// Finished sequences with equal scores keep the order in which they finished; within a step, the order of the candidates.
TEST(BeamSearch, FinishedTiesKeepTheirOrder) {
  const Model model =
      table_model({{{0}, logits({0.25, 0.25, 0.25, 0.25})}, {{0, 1}, logits({1, 0, 0, 0})}, {{0, 2}, logits({1, 0, 0, 0})}},
                  logits({0, 0, 0, 1}));
  const GenerateOptions options{
      .max_new_tokens = 4, .eos_token_ids = {0}, .num_beams = 4, .length_penalty = 0, .num_return_sequences = 4};
  const auto found = run_search(options, {0}, model);
  const float score = logit(0.25);
  expect_same(found, {{{0}, FinishReason::kEos, score},
                      {{1, 0}, FinishReason::kEos, score},
                      {{2, 0}, FinishReason::kEos, score},
                      {{3, 3, 3, 3}, FinishReason::kLength, score}});
}

// At every step the sequence ends with probability 0.3 and continues, with 1 and 2 in turn, with 0.7.
TEST(BeamSearch, LengthPenaltyRanksEndsAtEveryStep) {
  const Model model = [](const Ids& ids) { return logits({0.3, ids.size() % 2 == 1 ? 0.7 : 0, ids.size() % 2 == 1 ? 0 : 0.7}); };
  const auto score = [](int steps, double penalty) {
    return static_cast<float>((std::log(0.3) + (steps - 1) * std::log(0.7)) / std::pow(steps, penalty));
  };
  GenerateOptions options{.max_new_tokens = 3, .eos_token_ids = {0}, .num_beams = 2, .num_return_sequences = 2};
  for (const double penalty : {0.0, 0.2, 1.0, -1.0}) {
    options.length_penalty = penalty;
    std::vector<Generated> all{{{0}, FinishReason::kEos, score(1, penalty)},
                               {{1, 0}, FinishReason::kEos, score(2, penalty)},
                               {{1, 2, 0}, FinishReason::kEos, score(3, penalty)},
                               {{1, 2, 1}, FinishReason::kLength, static_cast<float>(3 * std::log(0.7) / std::pow(3, penalty))}};
    std::stable_sort(all.begin(), all.end(), [](const Generated& a, const Generated& b) { return a.score > b.score; });
    if (penalty < 0) all = {all[0], {{1, 0}, FinishReason::kEos, score(2, penalty)}};  // stops earlier
    all.resize(2);
    SCOPED_TRACE(penalty);
    expect_same(run_search(options, {5}, model), all);
  }
}

// Two sequences have finished after two steps; the one still running scores best at full length.
TEST(BeamSearch, EarlyStoppingDecidesWhenToStop) {
  const Model model = table_model({{{5}, logits({0.3, 0.2, 0.5, 0})}, {{5, 2}, logits({0.3, 0.1, 0.6, 0})}}, logits({0, 0, 0, 1}));
  GenerateOptions options{.max_new_tokens = 8, .eos_token_ids = {0, 1}, .num_beams = 2, .num_return_sequences = 2};
  const auto run = [&](Early early, double penalty, std::int64_t* steps) {
    options.early_stopping = early;
    options.length_penalty = penalty;
    return run_search(options, {5}, model, {}, steps);
  };
  std::int64_t steps = 0;
  // The running sequence 2, 2, 3, 3, ... has log(0.3) / 2 now and log(0.3) / 8 in the end.
  const Generated whole{{2, 2, 3, 3, 3, 3, 3, 3}, FinishReason::kLength, logit(0.3) / 8};
  const Generated first{{0}, FinishReason::kEos, logit(0.3)}, second{{2, 0}, FinishReason::kEos, logit(0.15) / 2};
  expect_same(run(Early::kNo, 1, &steps), {whole, second});
  EXPECT_EQ(steps, 8);
  expect_same(run(Early::kYes, 1, &steps), {second, first});
  EXPECT_EQ(steps, 2);
  expect_same(run(Early::kNever, 1, &steps), {whole, second});
  EXPECT_EQ(steps, 8);
}

// The running beam's best possible score: at its present length, or with early_stopping = "never" at the full length.
TEST(BeamSearch, NeverStoppingAssumesTheFullLength) {
  const Model model = table_model(
      {{{5}, logits({0.5, 0.3, 0.2})}, {{5, 1}, logits({0.1, 0.9, 0})}, {{5, 2}, logits({0.9, 0.1, 0})}}, logits({0, 1, 0}));
  GenerateOptions options{
      .max_new_tokens = 6, .eos_token_ids = {0}, .num_beams = 2, .length_penalty = 0.5, .num_return_sequences = 2};
  std::int64_t steps = 0;
  const Generated first{{0}, FinishReason::kEos, logit(0.5)};
  const Generated second{{2, 0}, FinishReason::kEos, static_cast<float>(std::log(0.18) / std::sqrt(2.0))};
  const Generated longest{{1, 1, 1, 1, 1, 1}, FinishReason::kLength, static_cast<float>(std::log(0.27) / std::sqrt(6.0))};
  // The running beam: log(0.27) / sqrt(2) = -0.93; the worst finished one: -1.21.
  expect_same(run_search(options, {5}, model, {}, &steps), {longest, first});
  EXPECT_EQ(steps, 6);
  // Without a length penalty: -1.31 against -1.71.
  options.length_penalty = 0;
  expect_same(run_search(options, {5}, model, {}, &steps), {first, {longest.tokens, FinishReason::kLength, logit(0.27)}});
  // Here the running beam is worse at its present length and better at the full length.
  const Model worse = table_model(
      {{{5}, logits({0.5, 0.3, 0.2})}, {{5, 1}, logits({0.6, 0.4, 0})}, {{5, 2}, logits({0.9, 0.1, 0})}}, logits({0, 1, 0}));
  options.length_penalty = 0.5;
  const Generated middle{{1, 0}, FinishReason::kEos, static_cast<float>(std::log(0.18) / std::sqrt(2.0))};
  expect_same(run_search(options, {5}, worse, {}, &steps), {first, middle});
  EXPECT_EQ(steps, 2);
  options.early_stopping = Early::kNever;
  expect_same(run_search(options, {5}, worse, {}, &steps),
              {first, {longest.tokens, FinishReason::kLength, static_cast<float>(std::log(0.12) / std::sqrt(6.0))}});
  EXPECT_EQ(steps, 6);
}

// The running beam has exactly the score of the worst finished sequence.
TEST(BeamSearch, StopsWhenTheRunningBeamOnlyTies) {
  const Model model = table_model({{{5}, {0, 0, 0}}, {{5, 1}, logits({1, 0, 0})}}, logits({0, 0, 1}));
  std::int64_t steps = 0;
  const GenerateOptions options{
      .max_new_tokens = 9, .eos_token_ids = {0}, .num_beams = 2, .length_penalty = 0, .num_return_sequences = 2};
  const auto found = run_search(options, {5}, model, {}, &steps);
  EXPECT_EQ(found[0].tokens, Ids{0});
  EXPECT_EQ(found[1].tokens, (Ids{1, 0}));
  EXPECT_EQ(steps, 2);
}

// An end token outside the best num_beams candidates does not finish a sequence.
TEST(BeamSearch, OnlyTheBestNumBeamsMayFinish) {
  const Model model = table_model(
      {{{5}, logits({0.2, 0.5, 0.3})}, {{5, 1}, logits({0.1, 0.5, 0.4})}, {{5, 2}, logits({0.1, 0.5, 0.4})}}, logits({1, 0, 0}));
  const GenerateOptions options{.max_new_tokens = 3, .eos_token_ids = {0}, .num_beams = 2, .num_return_sequences = 2};
  expect_same(run_search(options, {5}, model),
              {{{1, 1, 0}, FinishReason::kEos, logit(0.25) / 3}, {{1, 2, 0}, FinishReason::kEos, logit(0.2) / 3}});
}

// The likeliest candidates all end; num_beams others continue.
TEST(BeamSearch, KeepsNumBeamsRunning) {
  const Model model = [](const Ids&) { return logits({0.3, 0.25, 0.2, 0.1, 0.08, 0.07}); };
  const GenerateOptions options{.max_new_tokens = 5, .eos_token_ids = {0, 1, 2}, .num_beams = 2, .early_stopping = Early::kNever};
  const auto search = Search::make(options, Ids{5}, 6, exact_kernels(), {});
  std::vector<float> row = model({});
  ASSERT_TRUE(search->take(row.data()).ok());
  ASSERT_EQ(search->next().size(), 2U);
  EXPECT_EQ(search->next()[0].token, 3);
  EXPECT_EQ(search->next()[1].token, 4);
  // With a vocabulary this small finished sequences have to fill the beams, with 1e9 subtracted. They must not win.
  const Model two = [](const Ids&) { return logits({0.5, 0.5}); };
  const auto found = run_search({.max_new_tokens = 3, .eos_token_ids = {0}, .num_beams = 3, .num_return_sequences = 3}, {1}, two);
  expect_same(found,
              reference_beams({.max_new_tokens = 3, .eos_token_ids = {0}, .num_beams = 3, .num_return_sequences = 3}, {1}, two));
  for (const Generated& one : found) EXPECT_GT(one.score, -3);
}

// The search is over when all candidates end. There are 2 * num_beams of them, or (1 + end tokens) * num_beams.
TEST(BeamSearch, StopsWhenAllCandidatesEnd) {
  const Model model = [](const Ids&) { return logits({0.05, 0.3, 0.2, 0.15, 0.12, 0.09, 0.08, 0.01}); };
  const auto steps_with = [&](std::int32_t last_stop, Ids ends) {
    GenerateOptions options{.max_new_tokens = 9, .num_beams = 2, .early_stopping = Early::kNever};
    options.eos_token_ids = std::move(ends);
    std::int64_t steps = 0;
    run_search(options, {0}, model, [&](const Ids& ids) { return ids.back() >= 1 && ids.back() <= last_stop; }, &steps);
    return steps;
  };
  EXPECT_GT(steps_with(3, {}), 1);
  EXPECT_EQ(steps_with(4, {}), 1);
  EXPECT_EQ(steps_with(4, {0}), 1);
  EXPECT_GT(steps_with(4, {0, 0}), 1);
  EXPECT_GT(steps_with(5, {0, 0}), 1);
  EXPECT_EQ(steps_with(6, {0, 0}), 1);
}

// Two candidates end; of the equal ones behind them the first two continue.
TEST(BeamSearch, TiesAtTheLastCandidateGoToTheFirst) {
  const Model model = [](const Ids&) { return logits({0.4, 0.15, 0.15, 0.15, 0.15}); };
  const GenerateOptions options{
      .max_new_tokens = 5, .eos_token_ids = {0}, .num_beams = 2, .length_penalty = 4, .early_stopping = Early::kNever};
  const auto search = Search::make(options, Ids{0}, 5, exact_kernels(), {});
  std::vector<float> rows = model({}), second = rows;
  ASSERT_TRUE(search->take(rows.data()).ok());
  rows = second;
  rows.insert(rows.end(), second.begin(), second.end());
  ASSERT_TRUE(search->take(rows.data()).ok());
  ASSERT_EQ(search->next().size(), 2U);
  for (std::int32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(search->next()[i].from, 0);
    EXPECT_EQ(search->next()[i].token, i + 1);
  }
}

TEST(BeamSearch, AStopFinishesOnlyItsOwnBeam) {
  const Model model = [](const Ids&) { return logits({0, 0.5, 0.3, 0.2}); };
  const GenerateOptions options{.max_new_tokens = 3, .eos_token_ids = {0}, .num_beams = 2, .num_return_sequences = 2};
  std::vector<Ids> seen;
  const Stop stop = [&](const Ids& ids) {
    seen.push_back(ids);
    return test::ends_with(ids, {1, 1});
  };
  const auto found = run_search(options, {2, 3}, model, stop);
  EXPECT_EQ(found[0].tokens, (Ids{1, 1}));
  EXPECT_EQ(found[0].reason, FinishReason::kStop);
  EXPECT_NEAR(found[0].score, std::log(0.25) / 2, rounding(2));
  EXPECT_EQ(found[1].tokens, (Ids{1, 2, 1}));
  EXPECT_EQ(found[1].reason, FinishReason::kLength);
  EXPECT_EQ(seen.at(0), (Ids{2, 3, 1}));  // includes the prompt
  // The reason: an end token before a stop, a stop before the length.
  const auto at_once = run_search({.max_new_tokens = 1, .eos_token_ids = {1}, .num_beams = 2, .num_return_sequences = 2}, {2},
                                  model, [](const Ids&) { return true; });
  EXPECT_EQ(at_once[0].reason, FinishReason::kEos);
  EXPECT_EQ(at_once[1].reason, FinishReason::kStop);
}

TEST(BeamSearch, ProcessorsApplyToEachBeam) {
  const Model model = [](const Ids&) { return logits({0.4, 0.35, 0.25}); };
  GenerateOptions options{.max_new_tokens = 3, .num_beams = 2, .num_return_sequences = 2};
  options.no_repeat_ngram_size = 1;
  EXPECT_EQ(run_search(options, {2}, model)[0].tokens.size(), 3U);
  options.max_new_tokens = 2;
  EXPECT_EQ(run_search(options, {2}, model)[0].tokens, (Ids{0, 1}));
  EXPECT_EQ(run_search(options, {2}, model)[1].tokens, (Ids{1, 0}));
  options.no_repeat_ngram_size = 0;
  options.forced_bos_token_id = 2;
  options.forced_eos_token_id = 1;
  const auto forced = run_search(options, {2}, model);
  EXPECT_EQ(forced[0].tokens, (Ids{2, 1}));
  EXPECT_EQ(forced[0].score, 0);  // forced tokens have log-probability 0
  // Forbidden tokens keep their share of the probability unless renormalized.
  options = {.max_new_tokens = 1, .bad_words = {{1}, {2}}, .num_beams = 2, .num_return_sequences = 2};
  EXPECT_EQ(run_search(options, {2}, model)[0].tokens, Ids{0});
  EXPECT_NEAR(run_search(options, {2}, model)[0].score, std::log(0.4), rounding(1));
  options.renormalize_logits = true;
  EXPECT_NEAR(run_search(options, {2}, model)[0].score, 0, rounding(1));
}

TEST(BeamSearch, ReturnsTheTokensSoFar) {
  const GenerateOptions options{.max_new_tokens = 3, .num_beams = 3, .num_return_sequences = 2};
  const auto search = Search::make(options, Ids{1}, 4, exact_kernels(), {});
  EXPECT_EQ(search->results().size(), 2U);
  EXPECT_TRUE(search->results()[0].tokens.empty());
  std::vector<float> row = logits({0.1, 0.2, 0.3, 0.4});
  ASSERT_TRUE(search->take(row.data()).ok());
  expect_same(search->results(), {{{3}, FinishReason::kNone, logit(0.4)}, {{2}, FinishReason::kNone, logit(0.3)}});
}

}  // namespace
}  // namespace wattn
