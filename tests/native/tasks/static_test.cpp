// Static embeddings: texts to the means of their tokens' rows, from tensors of every form. Python's vectors are compared in
// tests/web/static.test.ts, where the files are completed as web/source/static_model.ts does.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "native/support/models.h"
#include "ops/pooling.h"
#include "tasks/embed.h"

namespace wattn {
namespace {

constexpr const char* kTokenizer = R"({"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"},
  "truncation": {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0},
  "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "aa": 1, "bb": 2, "cccc": 3}, "unk_token": "[UNK]"}})";

struct Stored {
  std::string name, dtype, shape;
  std::string bytes;
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string weight_file(const std::vector<Stored>& tensors) {
  std::string header = "{", data;
  for (const Stored& one : tensors) {
    header += (data.empty() ? "\"" : ",\"") + one.name + R"(":{"dtype":")" + one.dtype + R"(","shape":)" + one.shape +
              R"(,"data_offsets":[)" + std::to_string(data.size()) + "," + std::to_string(data.size() + one.bytes.size()) + "]}";
    data += one.bytes;
  }
  header += "}";
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + data;
}

Result<std::unique_ptr<Model>> load(const std::string& config, const std::vector<Stored>& tensors, const char* sentence = "{}") {
  const std::string weights = weight_file(tensors);
  return test::load_with({{"config.json", config},
                          {"tokenizer.json", kTokenizer},
                          {"sentence_bert_config.json", sentence},
                          {"modules.json", R"([{"type": "Transformer", "path": ""}, {"type": "Pooling", "path": "p"}])"},
                          {"p/config.json", R"({"pooling_mode": "mean"})"}},
                         [&](const std::string&) { return weights; });
}

Result<EmbedResult> embed_text(Model& model, std::u16string_view text, const EmbedOptions& options = {}) {
  const std::u16string_view texts[] = {text};
  return embed(model, texts, options);
}

const std::vector<float> kRows = {1, 2, 10, 20, 100, 200, 1000, 2000};

TEST(StaticEmbeddings, AreMeansWithoutSpecialTokensAndWithTheFilesTruncation) {
  const auto model = load(R"({"model_type": "static-embedding", "vocab_size": 4, "hidden_size": 2})",
                          {{"embedding.weight", "F32", "[4,2]", bytes_of(kRows)}});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(embed_text(*model.value(), u"aa bb").value().data, (std::vector<float>{55, 110}));
  EXPECT_EQ(embed_text(*model.value(), u"").value().data, (std::vector<float>{0, 0}));
  EXPECT_EQ(embed_text(*model.value(), u"zz aa").value().data, (std::vector<float>{5.5, 11}));
  const auto cut = embed_text(*model.value(), u"aa aa aa aa aa aa cccc cccc");
  EXPECT_EQ(cut.value().data, (std::vector<float>{10, 20}));
  EXPECT_EQ(cut.value().tokens_untruncated[0], 8);
  EXPECT_EQ(embed_text(*model.value(), u"aa cccc", {.max_length = 1}).value().data, (std::vector<float>{10, 20}));
}

TEST(StaticEmbeddings, ShareRowsAndHaveWeights) {
  const std::string config =
      R"({"model_type": "model2vec", "vocab_size": 4, "hidden_size": 2, "table_rows": 2, "token_weights": true, "skip_unknown": true})";
  const std::vector<std::int64_t> mapping = {1, 0, 0, 1};
  const std::vector<double> weights = {9, 1, 0.5, 2};
  const std::vector<std::int8_t> rows = {1, -2, 10, 20};
  const auto model = load(config,
                          {{"weights", "F64", "[4]", bytes_of(weights)},
                           {"embeddings", "I8", "[2,2]", bytes_of(rows)},
                           {"mapping", "I64", "[4]", bytes_of(mapping)}},
                          R"({"max_seq_length": 512})");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(embed_text(*model.value(), u"aa bb").value().data, (std::vector<float>{0.75, -1.5}));
  // The unknown token is left out, so the mean is of one.
  const auto known = embed_text(*model.value(), u"zz cccc zz");
  EXPECT_EQ(known.value().data, (std::vector<float>{20, 40}));
  EXPECT_EQ(known.value().tokens[0], 1);
  EXPECT_EQ(known.value().tokens_untruncated[0], 1);
  EXPECT_NEAR(known.value().unknown[0], 2.0f / 3, 1e-6f);
  // Tokens have a median length of 3 characters, so 2 tokens have 6: "cccc a", whose last word is unknown and counts.
  const auto cut = embed_text(*model.value(), u"cccc aa bb", {.max_length = 2});
  EXPECT_EQ(cut.value().data, (std::vector<float>{20, 40}));
  EXPECT_GT(cut.value().tokens_untruncated[0], cut.value().tokens[0]);
  // A pair of surrogates is one character: these are six.
  EXPECT_EQ(embed_text(*model.value(), u"\U0001F600\U0001F600\U0001F600 aa", {.max_length = 2}).value().data,
            (std::vector<float>{1, -2}));
  // Truncation comes before unknown tokens are left out.
  EXPECT_EQ(embed_text(*model.value(), u"zz zz aa", {.max_length = 2}).value().data, (std::vector<float>{0, 0}));
}

TEST(StaticEmbeddings, RefuseWrongTensors) {
  const std::string config = R"({"model_type": "model2vec", "vocab_size": 2, "hidden_size": 2, "table_rows": 2})";
  const std::vector<float> rows = {1, 2, 3, 4};
  const auto error_of = [&](const std::vector<std::int32_t>& mapping) {
    return load(config, {{"embeddings", "F32", "[2,2]", bytes_of(rows)}, {"mapping", "I32", "[2]", bytes_of(mapping)}})
        .error()
        .message;
  };
  EXPECT_NE(error_of({0, 2}).find("'mapping': expected whole numbers from 0 to 1, found 2"), std::string::npos) << error_of({0, 2});
  EXPECT_NE(error_of({-1, 0}).find("found -1"), std::string::npos);
  const std::string plain = R"({"model_type": "model2vec", "vocab_size": 2, "hidden_size": 2})";
  EXPECT_NE(load(plain, {}).error().message.find("expected tensor 'embeddings.weight' [2, 2]"), std::string::npos);
  for (const char* sizes :
       {R"("vocab_size": 0, "hidden_size": 2)", R"("vocab_size": 2)", R"("vocab_size": 99999999, "hidden_size": 2)"}) {
    EXPECT_FALSE(load(R"({"model_type": "model2vec", )" + std::string(sizes) + "}", {}).ok()) << sizes;
  }
}

TEST(StaticEmbeddings, RunLongTextsInParts) {
  const auto model = load(R"({"model_type": "model2vec", "vocab_size": 4, "hidden_size": 2})",
                          {{"embeddings", "F32", "[4,2]", bytes_of(kRows)}}, R"({"max_seq_length": 100000})");
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::u16string text;
  const std::int64_t words = 3 * model.value()->token_budget() + 1;
  for (std::int64_t i = 0; i < words; ++i) text += i == words - 1 ? u"cccc" : i == 0 ? u"bb " : u"aa ";
  EmbedOptions options{.max_length = 100000};
  const auto mean = embed_text(*model.value(), text, options);
  ASSERT_TRUE(mean.ok()) << mean.error().message;
  EXPECT_EQ(mean.value().data[0], (static_cast<float>(words - 2) * 10 + 1100) / static_cast<float>(words));
  options.pooling = {PoolingMode::kCls, PoolingMode::kMax, PoolingMode::kLastToken};
  EXPECT_EQ(embed_text(*model.value(), text, options).value().data, (std::vector<float>{100, 200, 1000, 2000, 1000, 2000}));
  options.pooling = std::vector<PoolingMode>();
  EXPECT_EQ(embed_text(*model.value(), text, options).value().data.size(), static_cast<std::size_t>(2 * words));
}

TEST(Pooling, HasTheSameBitsInParts) {
  constexpr std::int64_t kTokens = 13, kHidden = 5;
  std::vector<float> x(kTokens * kHidden);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 29) / 7.0f - 2.0f;
  const std::vector<PoolingMode> modes = {PoolingMode::kCls,         PoolingMode::kMax,          PoolingMode::kMean,
                                          PoolingMode::kMeanSqrtLen, PoolingMode::kWeightedMean, PoolingMode::kLastToken};
  for (std::int64_t skip = 0; skip <= kTokens + 1; ++skip) {
    std::vector<float> whole(modes.size() * kHidden);
    pool(exact_kernels(), modes, x.data(), kTokens, kHidden, skip, whole.data());
    for (std::int64_t step = 1; step <= kTokens; ++step) {
      std::vector<float> parts(whole.size(), 7.0f);
      for (std::int64_t begin = 0; begin < kTokens; begin += step) {
        const PooledRows rows{.begin = begin, .count = std::min(step, kTokens - begin), .skip = skip, .tokens = kTokens};
        pool_part(exact_kernels(), modes, x.data() + begin * kHidden, rows, kHidden, parts.data());
      }
      EXPECT_EQ(parts, whole) << "skip " << skip << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace wattn
