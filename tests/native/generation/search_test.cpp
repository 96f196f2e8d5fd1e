// Greedy search and sampling against a double-precision reference, and hand-made cases.
#include "generation/search.h"

#include <gtest/gtest.h>

#include "generation/processors.h"
#include "native/generation/reference.h"

namespace wattn {
namespace {

using test::Ids;
using test::Model;
using test::reference_path;
using test::run_search;
using test::Stop;

constexpr float kNo = -std::numeric_limits<float>::infinity();

// Makes path[i] the likeliest token after i new ones.
Model path_model(std::size_t prompt, const Ids& path, std::int64_t vocab) {
  return [prompt, path, vocab](const Ids& sequence) {
    std::vector<float> out(static_cast<std::size_t>(vocab), 0.0f);
    out[static_cast<std::size_t>(path[std::min(sequence.size() - prompt, path.size() - 1)])] = 2;
    return out;
  };
}

Generated greedy(const GenerateOptions& options, const Ids& prompt, const Model& model, const Stop& stop = {}) {
  return run_search(options, prompt, model, stop).at(0);
}

// Random values of the options that greedy search and sampling share.
GenerateOptions random_options(Generator& random, std::int64_t vocab) {
  const auto one_of = [&](auto... values) {
    const double list[] = {static_cast<double>(values)...};
    return list[random.next() % sizeof...(values)];
  };
  const auto token = [&] { return static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(vocab)); };
  GenerateOptions options;
  options.max_new_tokens = 1 + static_cast<std::int64_t>(random.next() % 7);
  options.min_new_tokens = static_cast<std::int64_t>(one_of(0, 0, 2, 4));
  for (auto i = static_cast<int>(one_of(0, 1, 1, 2)); i > 0; --i) options.eos_token_ids.push_back(token());
  options.repetition_penalty = one_of(1, 1, 1.4, 0.7);
  options.no_repeat_ngram_size = static_cast<std::int64_t>(one_of(0, 0, 2, 3));
  for (auto i = static_cast<int>(one_of(0, 0, 1, 2)); i > 0; --i) options.bad_words.push_back({token()});
  if (one_of(0, 0, 1) == 1) options.bad_words.push_back({token(), token()});
  if (one_of(0, 0, 0, 1) == 1) options.forced_bos_token_id = token();
  if (one_of(0, 0, 0, 1) == 1) options.forced_eos_token_id = token();
  return options;
}

Ids random_prompt(Generator& random, std::int64_t vocab) {
  Ids out(1 + random.next() % 4);
  for (std::int32_t& id : out) id = static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(vocab));
  return out;
}

TEST(GreedySearch, TakesTheTokensOfTheReference) {
  Generator random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t vocab = 6 + static_cast<std::int64_t>(random.next() % 6);
    const GenerateOptions options = random_options(random, vocab);
    const Ids prompt = random_prompt(random, vocab);
    const Model model = test::random_model(vocab, random.next());
    const Stop stop = i % 3 == 0 ? Stop([](const Ids& ids) { return test::ends_with(ids, {2, 3}); }) : Stop();
    const Generated expected = reference_path(options, prompt, model, stop, 0);
    const Generated found = greedy(options, prompt, model, stop);
    ASSERT_EQ(found.tokens, expected.tokens) << i;
    ASSERT_EQ(found.reason, expected.reason) << i;
    ASSERT_EQ(found.score, 0) << i;
  }
}

TEST(GreedySearch, TiesGoToTheFirstToken) {
  const Model model = [](const Ids&) { return std::vector<float>{-1, 2, 2, 0, 2}; };
  EXPECT_EQ(greedy({.max_new_tokens = 2}, {0}, model).tokens, (Ids{1, 1}));
}

TEST(GreedySearch, EndsAtTheEndTokenOfAnyStep) {
  const Ids path{3, 4, 5, 6};
  for (std::int32_t eos = 3; eos < 8; ++eos) {
    const Generated found = greedy({.max_new_tokens = 4, .eos_token_ids = {9, eos}}, {1, 2}, path_model(2, path, 10));
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(eos - 2), 4);
    EXPECT_EQ(found.tokens, Ids(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(count)));
    EXPECT_EQ(found.reason, eos < 7 ? FinishReason::kEos : FinishReason::kLength);
  }
}

TEST(GreedySearch, TheReasonIsEosBeforeStopBeforeLength) {
  const Model model = path_model(1, {3, 4}, 6);
  const Stop stop = [](const Ids& ids) { return ids == Ids{1, 3, 4}; };
  EXPECT_EQ(greedy({.max_new_tokens = 2, .eos_token_ids = {4}}, {1}, model, stop).reason, FinishReason::kEos);
  EXPECT_EQ(greedy({.max_new_tokens = 2}, {1}, model, stop).reason, FinishReason::kStop);
  EXPECT_EQ(greedy({.max_new_tokens = 5}, {1}, model, stop).tokens.size(), 2U);
  EXPECT_EQ(greedy({.max_new_tokens = 2}, {1}, model).reason, FinishReason::kLength);
}

TEST(GreedySearch, ReturnsTheTokensSoFar) {
  const auto search = Search::make({.max_new_tokens = 3}, Ids{1, 2}, 4, exact_kernels(), {});
  EXPECT_TRUE(search->results().at(0).tokens.empty());
  EXPECT_EQ(search->results()[0].reason, FinishReason::kNone);
  std::vector<float> logits{0, 0, 0, 1};
  ASSERT_TRUE(search->take(logits.data()).ok());
  EXPECT_EQ(search->results().at(0).tokens, Ids{3});
  EXPECT_EQ(search->results()[0].reason, FinishReason::kNone);
  ASSERT_EQ(search->next().size(), 1U);
  EXPECT_EQ(search->next()[0].from, 0);
  EXPECT_EQ(search->next()[0].token, 3);
}

// prompt: how many tokens of the sequence are not new.
std::vector<float> processed(const GenerateOptions& options, std::int64_t prompt, const Ids& sequence, std::vector<float> scores) {
  Processors(options, prompt, static_cast<std::int64_t>(scores.size()), exact_kernels()).process(sequence, scores.data());
  return scores;
}

TEST(Processors, RepetitionPenaltyAppliesOncePerTokenAndBySign) {
  const GenerateOptions options{.repetition_penalty = 2};
  EXPECT_EQ(processed(options, 1, {0, 1, 1, 0, 3}, {4, -4, 4, 0}), (std::vector<float>{2, -8, 4, 0}));
  EXPECT_EQ(processed({.repetition_penalty = 0.5}, 1, {0, 1}, {4, -4, 4}), (std::vector<float>{8, -2, 4}));
}

TEST(Processors, RepeatedNgramsAreForbidden) {
  const std::vector<float> all{1, 1, 1, 1};
  EXPECT_EQ(processed({.no_repeat_ngram_size = 1}, 1, {2, 0}, all), (std::vector<float>{kNo, 1, kNo, 1}));
  EXPECT_EQ(processed({.no_repeat_ngram_size = 2}, 1, {0, 1, 0, 2, 0}, all), (std::vector<float>{1, kNo, kNo, 1}));
  EXPECT_EQ(processed({.no_repeat_ngram_size = 3}, 1, {0, 1, 2, 0, 1}, all), (std::vector<float>{1, 1, kNo, 1}));
  EXPECT_EQ(processed({.no_repeat_ngram_size = 3}, 1, {1, 1, 1}, all), (std::vector<float>{1, kNo, 1, 1}));
  EXPECT_EQ(processed({.no_repeat_ngram_size = 3}, 1, {0, 0}, all), all);
  EXPECT_EQ(processed({.no_repeat_ngram_size = 4}, 1, {0}, all), all);
}

TEST(Processors, BadWordsAreForbiddenAtTheirLastToken) {
  const std::vector<float> all{1, 1, 1, 1};
  EXPECT_EQ(processed({.bad_words = {{2}}}, 1, {0}, all), (std::vector<float>{1, 1, kNo, 1}));
  EXPECT_EQ(processed({.bad_words = {{0, 3}, {1, 0, 2}}}, 1, {1, 0}, all), (std::vector<float>{1, 1, kNo, kNo}));
  EXPECT_EQ(processed({.bad_words = {{1, 0, 2}, {0, 3}}}, 1, {0}, all), (std::vector<float>{1, 1, 1, kNo}));
  EXPECT_EQ(processed({.bad_words = {{0, 3}}}, 1, {0, 1}, all), all);
  // An end token alone is allowed; as the last of several tokens it is forbidden.
  EXPECT_EQ(processed({.eos_token_ids = {3}, .bad_words = {{3}, {2}}}, 1, {0}, all), (std::vector<float>{1, 1, kNo, 1}));
  EXPECT_EQ(processed({.eos_token_ids = {3}, .bad_words = {{0, 3}}}, 1, {0}, all), (std::vector<float>{1, 1, 1, kNo}));
}

TEST(Processors, MinNewTokensForbidsEndTokens) {
  const GenerateOptions options{.min_new_tokens = 2, .eos_token_ids = {0, 2}};
  const std::vector<float> all{1, 1, 1}, without{kNo, 1, kNo};
  EXPECT_EQ(processed(options, 2, {1, 1}, all), without);
  EXPECT_EQ(processed(options, 2, {1, 1, 1}, all), without);
  EXPECT_EQ(processed(options, 2, {1, 1, 1, 1}, all), all);
}

TEST(Processors, ForcedTokensExcludeAllOthers) {
  const std::vector<float> all{1, 5, 1};
  GenerateOptions options{.max_new_tokens = 3, .min_new_tokens = 3, .eos_token_ids = {2}};
  options.forced_bos_token_id = 0;
  EXPECT_EQ(processed(options, 1, {1}, all), (std::vector<float>{0, kNo, kNo}));
  EXPECT_EQ(processed(options, 1, {1, 0}, all), (std::vector<float>{1, 5, kNo}));
  EXPECT_EQ(processed(options, 2, {1, 0}, all), (std::vector<float>{1, 5, kNo}));  // only after a prompt of one token
  options.forced_eos_token_id = 2;
  EXPECT_EQ(processed(options, 1, {1, 0}, all), (std::vector<float>{1, 5, kNo}));
  EXPECT_EQ(processed(options, 1, {1, 0, 0}, all), (std::vector<float>{kNo, kNo, 0}));
}

std::vector<float> probabilities(GenerateOptions options, std::vector<float> scores) {
  options.do_sample = true;
  Processors(options, 1, static_cast<std::int64_t>(scores.size()), exact_kernels()).to_probabilities(scores.data());
  return scores;
}

TEST(Processors, ProbabilitiesMatchTheReference) {
  Generator random(2);
  for (int i = 0; i < 2000; ++i) {
    std::vector<float> scores(2 + random.next() % 12);
    for (float& score : scores) score = random.uniform() < 0.1 ? kNo : static_cast<float>(random.uniform(-3, 3));
    scores[0] = 0;
    GenerateOptions options;
    options.temperature = i % 2 == 0 ? 1 : random.uniform(0.3, 3);
    options.top_k = static_cast<std::int64_t>(random.next() % 10);
    options.top_p = i % 3 == 0 ? 1 : random.uniform(0.05, 1);
    options.min_p = i % 5 == 0 ? random.uniform(0, 0.6) : 0;
    const std::vector<float> found = probabilities(options, scores);
    const test::Row expected = test::probabilities(options, test::to_row(scores));
    // A softmax of at most 13 numbers: a few roundings each.
    for (std::size_t j = 0; j < found.size(); ++j) ASSERT_NEAR(found[j], expected[j], 32 * 0x1p-24) << i << ", " << j;
  }
}

TEST(Processors, BoundariesOfTopKTopPAndMinP) {
  using Row = std::vector<float>;
  const Row equal{0, 0, 0, 0};
  // Ties with the last of top_k stay. 0 keeps all, as does the size of the vocabulary.
  EXPECT_EQ(probabilities({.top_k = 1}, {1, 1, 0}), (Row{0.5, 0.5, 0}));
  EXPECT_EQ(probabilities({.top_k = 2}, equal), (Row{0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(probabilities({.top_k = 0}, {0, 0}), (Row{0.5, 0.5}));
  EXPECT_EQ(probabilities({.top_k = 2}, {0, 0}), (Row{0.5, 0.5}));
  EXPECT_EQ(probabilities({.top_k = 1}, {0, 30}), (Row{0, 1}));
  // Removes the least likely up to a sum of exactly 1 - top_p, the first of ties first; the likeliest stays.
  EXPECT_EQ(probabilities({.top_p = 0.5}, equal), (Row{0, 0, 0.5, 0.5}));
  EXPECT_EQ(probabilities({.top_p = 0.51}, equal), (Row{0, 1.0f / 3, 1.0f / 3, 1.0f / 3}));
  EXPECT_EQ(probabilities({.top_p = 1e-9}, equal), (Row{0, 0, 0, 1}));
  EXPECT_EQ(probabilities({.top_p = 1e-9}, {0, 2, 1}), (Row{0, 1, 0}));
  // Exactly min_p times the largest probability stays.
  EXPECT_EQ(probabilities({.min_p = 1}, {1, 1, 0}), (Row{0.5, 0.5, 0}));
  EXPECT_EQ(probabilities({.temperature = 1e-3}, {1, 0, 0.5}), (Row{1, 0, 0}));
  EXPECT_EQ(probabilities({.temperature = 2}, {2, 0, 4}), probabilities({}, {1, 0, 2}));
}

TEST(Sampler, DrawsTheTokensOfTheReference) {
  Generator random(3);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t vocab = 6 + static_cast<std::int64_t>(random.next() % 6);
    GenerateOptions options = random_options(random, vocab);
    options.do_sample = true;
    options.temperature = random.uniform(0.5, 2);
    options.top_k = static_cast<std::int64_t>(random.next() % 8);
    options.top_p = i % 2 == 0 ? 1 : random.uniform(0.3, 1);
    options.min_p = i % 3 == 0 ? 0.2 : 0;
    options.num_return_sequences = 1 + static_cast<std::int64_t>(random.next() % 4);
    options.seed = random.next();
    const Ids prompt = random_prompt(random, vocab);
    const Model model = test::random_model(vocab, random.next());
    const auto found = run_search(options, prompt, model);
    ASSERT_EQ(found.size(), static_cast<std::size_t>(options.num_return_sequences));
    Generator seeds(options.seed);
    for (const Generated& one : found) {
      const Generated expected = reference_path(options, prompt, model, {}, seeds.next());
      ASSERT_EQ(one.tokens, expected.tokens) << i;
      ASSERT_EQ(one.reason, expected.reason) << i;
    }
  }
}

TEST(Sampler, NeverDrawsTokensOfProbabilityZero) {
  const Model model = [](const Ids&) { return std::vector<float>{kNo, 0, kNo, 0, kNo}; };
  const auto found = run_search({.max_new_tokens = 200, .do_sample = true, .seed = 4}, {1}, model).at(0).tokens;
  EXPECT_EQ(std::count(found.begin(), found.end(), 1) + std::count(found.begin(), found.end(), 3), 200);
  EXPECT_NEAR(static_cast<double>(std::count(found.begin(), found.end(), 1)), 100, 3 * std::sqrt(200 * 0.25));
}

// Seeds whose first draw is 0, 1/2 and 1 - 2^-53, found by inverting SplitMix64.
TEST(Sampler, DrawsAtTheEndsOfTheInterval) {
  const auto drawn = [](std::uint64_t seed, const std::vector<float>& logits) {
    return run_search({.max_new_tokens = 1, .do_sample = true, .seed = seed}, {0}, [&](const Ids&) { return logits; })[0].tokens[0];
  };
  constexpr std::uint64_t kZero = 0xc5deefb0344c1df5u, kHalf = 0xe38360bf3c24c5c9u, kMost = 0x1fdb84807c8bc327u;
  EXPECT_EQ(drawn(kZero, {kNo, 0, 0, kNo}), 1);
  EXPECT_EQ(drawn(kHalf, {kNo, 0, 0, kNo}), 2);
  EXPECT_EQ(drawn(kMost, {kNo, 0, 0, kNo}), 2);
  // 25 times the float nearest to 1/25 is less than that draw, which then takes the last token of non-zero probability.
  std::vector<float> many(26, 0.0f);
  many.back() = kNo;
  EXPECT_EQ(drawn(kMost, many), 24);
}

TEST(Search, TakesTheFirstTokenWhereAllAreForbidden) {
  GenerateOptions options{.max_new_tokens = 2, .bad_words = {{0}, {1}, {2}}};
  const Model model = [](const Ids&) { return std::vector<float>{0, 2, 1}; };
  EXPECT_EQ(greedy(options, {1}, model).tokens, (Ids{0, 0}));
  options.do_sample = true;
  EXPECT_EQ(greedy(options, {1}, model).tokens, (Ids{0, 0}));
}

TEST(Search, RejectsLogitsThatAreNotFinite) {
  const auto error = [](const GenerateOptions& options, std::vector<float> logits) {
    const auto vocab = static_cast<std::int64_t>(logits.size());
    const auto taken = Search::make(options, Ids{0}, vocab, exact_kernels(), {})->take(logits.data());
    return taken.ok() ? std::string() : taken.error().message;
  };
  for (const GenerateOptions& options : {GenerateOptions{}, GenerateOptions{.do_sample = true}, GenerateOptions{.num_beams = 2}}) {
    EXPECT_EQ(error(options, {kNo, 3e38f, 0}), "");
    EXPECT_NE(error(options, {0, 0, std::nanf("")}).find("not finite, token 2"), std::string::npos);
    EXPECT_NE(error(options, {0, -kNo, 0}).find("not finite, token 1"), std::string::npos);
    EXPECT_NE(error(options, {kNo, kNo, -3e38f}).find("every token"), std::string::npos);
  }
  std::vector<float> bad{0, 0, 0, std::nanf("")};
  const auto beams = Search::make({.num_beams = 2}, Ids{0}, 2, exact_kernels(), {});
  ASSERT_TRUE(beams->take(bad.data()).ok());  // the first call has one row
  EXPECT_FALSE(beams->take(bad.data()).ok());
}

TEST(Search, AcceptsOptionsUpToTheirBounds) {
  const auto error = [](auto change) {
    GenerateOptions options;
    change(options);
    const auto checked = Search::check(options, 10);
    return checked.ok() ? std::string() : checked.error().message;
  };
  const auto count = [&](const char* name, std::int64_t GenerateOptions::* field, std::int64_t least, std::int64_t most) {
    const auto with = [&](std::int64_t value) { return error([&](GenerateOptions& o) { o.num_beams = 64, o.*field = value; }); };
    EXPECT_EQ(with(least), "") << name;
    EXPECT_EQ(with(most), "") << name;
    EXPECT_NE(with(least - 1).find(std::string("'") + name + "'"), std::string::npos);
    EXPECT_NE(with(most + 1).find(std::string("'") + name + "'"), std::string::npos);
  };
  count("max_new_tokens", &GenerateOptions::max_new_tokens, 1, 1 << 22);
  count("min_new_tokens", &GenerateOptions::min_new_tokens, 0, 1 << 22);
  count("top_k", &GenerateOptions::top_k, 0, std::int64_t{1} << 31);
  count("no_repeat_ngram_size", &GenerateOptions::no_repeat_ngram_size, 0, 1 << 22);
  count("num_beams", &GenerateOptions::num_beams, 1, 64);
  count("num_return_sequences", &GenerateOptions::num_return_sequences, 1, 64);
  const auto number = [&](const char* name, double GenerateOptions::* field, std::vector<double> good, std::vector<double> bad) {
    bad.push_back(std::nan(""));
    for (const double value : good) EXPECT_EQ(error([&](GenerateOptions& o) { o.*field = value; }), "") << name << value;
    for (const double value : bad) {
      EXPECT_NE(error([&](GenerateOptions& o) { o.*field = value; }).find(std::string("'") + name + "'"), std::string::npos)
          << value;
    }
  };
  number("temperature", &GenerateOptions::temperature, {1e-6, 999999}, {0, -1, 1e6});
  number("top_p", &GenerateOptions::top_p, {1e-6, 1}, {0, -1, 1.01});
  number("min_p", &GenerateOptions::min_p, {0, 1}, {-0.01, 1.01});
  number("repetition_penalty", &GenerateOptions::repetition_penalty, {1e-6, 999999}, {0, -1, 1e6});
  number("length_penalty", &GenerateOptions::length_penalty, {-999, 999}, {-1e3, 1e3});
  const auto ids = [&](const char* name, auto set) {
    for (const std::int32_t id : {0, 9}) EXPECT_EQ(error([&](GenerateOptions& o) { set(o, id); }), "") << name;
    for (const std::int32_t id : {-1, 10})
      EXPECT_NE(error([&](GenerateOptions& o) { set(o, id); }).find(std::string("'") + name + "'"), std::string::npos) << id;
  };
  ids("eos_token_id", [](GenerateOptions& o, std::int32_t id) { o.eos_token_ids = {3, id}; });
  ids("bad_words_ids", [](GenerateOptions& o, std::int32_t id) { o.bad_words = {{2}, {1, id}}; });
  ids("forced_bos_token_id", [](GenerateOptions& o, std::int32_t id) { o.forced_bos_token_id = id; });
  ids("forced_eos_token_id", [](GenerateOptions& o, std::int32_t id) { o.forced_eos_token_id = id; });
  EXPECT_NE(error([](GenerateOptions& o) { o.bad_words = {{}}; }).find("'bad_words_ids'"), std::string::npos);
  EXPECT_NE(error([](GenerateOptions& o) { o.num_beams = 2, o.do_sample = true; }).find("'num_beams'"), std::string::npos);
  EXPECT_EQ(error([](GenerateOptions& o) { o.num_return_sequences = 5, o.do_sample = true; }), "");
  EXPECT_EQ(error([](GenerateOptions& o) { o.num_return_sequences = o.num_beams = 3; }), "");
  EXPECT_NE(error([](GenerateOptions& o) { o.num_return_sequences = 2; }).find("'num_return_sequences'"), std::string::npos);
  EXPECT_EQ(Search::width({.num_beams = 3, .num_return_sequences = 2}), 3);
  EXPECT_EQ(Search::width({.num_return_sequences = 2}), 2);
}

}  // namespace
}  // namespace wattn
