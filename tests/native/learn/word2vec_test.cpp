#include "learn/word2vec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"

namespace wattn {
namespace {

TEST(AliasTable, DrawsInProportion) {
  const std::vector<double> weights{5, 0.5, 3, 1.25, 0.25};
  const AliasTable table(weights);
  Generator generator(3);
  std::vector<double> counts(weights.size());
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) counts[static_cast<std::size_t>(table.draw(generator))] += 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double p = weights[i] / 10;
    EXPECT_NEAR(counts[i] / kDraws, p, 5 * std::sqrt(p * (1 - p) / kDraws)) << i;
  }
}

TEST(HuffmanCodes, AreOptimalAndPrefixFree) {
  const std::vector<double> counts{40, 20, 20, 9, 5, 4, 1, 1};
  const HuffmanCodes codes = huffman_codes(counts);
  std::vector<std::string> texts;
  double bits = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::string text;
    for (std::int32_t at = codes.begin[i]; at < codes.begin[i + 1]; ++at) {
      text += codes.bits[static_cast<std::size_t>(at)] ? '1' : '0';
      EXPECT_GE(codes.nodes[static_cast<std::size_t>(at)], 0);
      EXPECT_LT(codes.nodes[static_cast<std::size_t>(at)], static_cast<std::int32_t>(counts.size()) - 1);
    }
    EXPECT_EQ(codes.nodes[static_cast<std::size_t>(codes.begin[i])], static_cast<std::int32_t>(counts.size()) - 2);  // the root
    bits += counts[i] * static_cast<double>(text.size());
    texts.push_back(text);
  }
  // By hand: joining 1+1, 2+4, 5+6, 9+11, 20+20, 20+40, 40+60: the sum of all inner nodes' counts.
  EXPECT_EQ(bits, 2 + 6 + 11 + 20 + 40 + 60 + 100);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = 0; j < texts.size(); ++j)
      EXPECT_TRUE(i == j || !texts[j].starts_with(texts[i])) << texts[i] << " " << texts[j];
  }
}

// A language of two topics: words occur with words of their topic.
std::vector<std::int32_t> two_topics(int sentences, int words) {
  Generator generator(5);
  std::vector<std::int32_t> out;
  for (int s = 0; s < sentences; ++s) {
    const auto topic = static_cast<std::int32_t>(generator.next() % 2);
    for (int w = 0; w < words; ++w) out.push_back(static_cast<std::int32_t>(generator.next() % 10) * 2 + topic);
  }
  return out;
}

TEST(Word2Vec, LearnsWhichWordsGoTogetherInEveryForm) {
  const std::vector<std::int32_t> words = two_topics(800, 12);
  const std::vector<std::int32_t> lengths(800, 12);
  for (const bool skip_gram : {false, true}) {
    for (const bool hierarchical : {false, true}) {
      Word2VecOptions options;
      options.vector_size = 20;
      options.skip_gram = skip_gram;
      options.hierarchical = hierarchical;
      options.negative = hierarchical ? 0 : 5;
      options.sample = 0;
      options.epochs = 20;
      auto model = Word2Vec::make(options, std::vector<double>(20, 480));
      ASSERT_TRUE(model.ok()) << model.error().message;
      ASSERT_TRUE(model.value().feed(words, lengths).ok());
      while (model.value().step()) {
      }
      EXPECT_EQ(model.value().words_done(), model.value().words_total());
      const auto& v = model.value().vectors();
      const auto cosine = [&](int a, int b) {
        double dot = 0, aa = 0, bb = 0;
        for (int i = 0; i < 20; ++i) {
          const double x = v[static_cast<std::size_t>(a * 20 + i)], y = v[static_cast<std::size_t>(b * 20 + i)];
          dot += x * y;
          aa += x * x;
          bb += y * y;
        }
        return dot / std::sqrt(aa * bb);
      };
      double same = 0, other = 0;
      for (int a = 0; a < 20; ++a) {
        for (int b = 0; b < a; ++b) (a % 2 == b % 2 ? same : other) += cosine(a, b) / (a % 2 == b % 2 ? 90 : 100);
      }
      EXPECT_GT(same, other + 0.5) << skip_gram << hierarchical;
    }
  }
}

TEST(Word2Vec, RejectsInvalidInput) {
  EXPECT_FALSE(Word2Vec::make({}, {}).ok());
  EXPECT_FALSE(Word2Vec::make({.negative = 0}, {1}).ok());
  EXPECT_FALSE(Word2Vec::make({.vector_size = 0}, {1}).ok());
  EXPECT_FALSE(Word2Vec::make({.vector_size = 1 << 29}, {1}).ok());
  EXPECT_FALSE(Word2Vec::make({}, {0.0}).ok());
  auto model = Word2Vec::make({}, {3, 2});
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(model.value().step());  // nothing to learn from
  const std::vector<std::int32_t> words{0, 1, 2}, good{0, 1, 0};
  EXPECT_FALSE(model.value().feed(words, std::vector<std::int32_t>{3}).ok());
  EXPECT_FALSE(model.value().feed(good, std::vector<std::int32_t>{4}).ok());
  EXPECT_FALSE(model.value().feed(good, std::vector<std::int32_t>{-1}).ok());
}

TEST(Word2Vec, SaysWhatIsWrong) {
  const auto error = [](auto change, std::vector<double> counts = {3, 2}) {
    Word2VecOptions options;
    change(options);
    const auto made = Word2Vec::make(options, std::move(counts));
    return made.ok() ? std::string("ok") : made.error().message;
  };
  const auto nothing = [](Word2VecOptions&) {};
  const std::string sizes = "Word2Vec.train: expected vector_size, window and epochs of at least 1";
  EXPECT_EQ(error(nothing), "ok");
  EXPECT_EQ(error([](auto& o) { o.vector_size = 0; }), sizes);
  EXPECT_EQ(error([](auto& o) { o.window = 0; }), sizes);
  EXPECT_EQ(error([](auto& o) { o.epochs = 0; }), sizes);
  EXPECT_EQ(error([](auto& o) { o.negative = -1; }), sizes);
  EXPECT_EQ(error([](auto& o) { o.negative = 0; }), "Word2Vec.train: expected negative above 0 or hs: true, found neither");
  EXPECT_EQ(error([](auto& o) { o.vector_size = 1 << 29; }), "Word2Vec.train: 2 vectors of 536870912 exceed the limit of 2 GiB");
  EXPECT_EQ(error(nothing, {}), "Word2Vec.train: expected words that occur at least min_count times, found none (lower min_count)");
  EXPECT_EQ(error(nothing, {1, 0.5}), "Word2Vec.train: expected counts of at least 1");
  auto model = std::move(Word2Vec::make({.vector_size = 2}, {3, 2})).value();
  EXPECT_FALSE(model.step());  // of no text
  const std::vector<std::int32_t> words{0, 1, 2}, three{3}, four{4}, below{-1};
  EXPECT_EQ(model.feed(words, three).error().message, "Word2Vec: expected words below 2, found 2");
  EXPECT_EQ(model.feed(words, four).error().message, "Word2Vec: the lengths of sentences exceed the number of words");
  EXPECT_EQ(model.feed(words, below).error().message, "Word2Vec: the lengths of sentences exceed the number of words");
}

// One word is all there is to draw: its code is empty, and there is no noise but itself.
TEST(Word2Vec, TrainsOnAWordAloneAndOnSentencesOfOne) {
  for (const bool skip_gram : {false, true}) {
    for (const bool hierarchical : {false, true}) {
      Word2VecOptions options{.vector_size = 2, .epochs = 2};
      options.skip_gram = skip_gram;
      options.hierarchical = hierarchical;
      options.shrink_windows = options.cbow_mean = hierarchical;
      auto model = std::move(Word2Vec::make(options, {4})).value();
      const std::vector<std::int32_t> words(4, 0), lengths{3, 1, 0};
      ASSERT_TRUE(model.feed(words, lengths).ok());
      while (model.step()) {
      }
      for (const float x : model.vectors()) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

}  // namespace
}  // namespace wattn
