// Blocks of random shapes against loops in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "nn/attention.h"
#include "nn/functional.h"
#include "nn/module.h"
#include "nn/norms.h"
#include "nn/pooling.h"

namespace wattn::nn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Shapes {
 public:
  explicit Shapes(std::uint64_t seed) : generator_(seed) {}
  std::int64_t size(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(generator_.next() % static_cast<std::uint64_t>(most));
  }
  bool coin() { return generator_.next() % 2 == 0; }
  Tensor tensor(const Shape& dims) {
    Tensor out = std::move(Tensor::zeros(dims)).value();
    for (float& x : out.data) x = static_cast<float>(generator_.uniform(-1, 1));
    return out;
  }

 private:
  Generator generator_;
};

// y[i] = sum over k of w[i, k] x[k] + b[i].
std::vector<double> affine(const Tensor& weight, std::int64_t first, std::int64_t count, const Tensor* bias, const float* x) {
  std::vector<double> out;
  const std::int64_t in = weight.dim(1);
  for (std::int64_t i = first; i < first + count; ++i) {
    double sum = bias ? *bias->at(i) : 0;
    for (std::int64_t k = 0; k < in; ++k) sum += double(*weight.at(i * in + k)) * x[k];
    out.push_back(sum);
  }
  return out;
}

// softmax(scores) of one row; only -inf gives zeros.
void softmax_row(std::vector<double>& row) {
  const double most = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& x : row) sum += (x = most == -kInfinity ? 0 : std::exp(x - most));
  for (double& x : row) x = sum == 0 ? 0 : x / sum;
}

TEST(RandomShapes, AttentionWithMasks) {
  Shapes shapes(1);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t batch = shapes.size(3), queries = shapes.size(11), keys = shapes.size(19), d = shapes.size(21),
                       d_v = shapes.size(13);
    const Tensor q = shapes.tensor({batch, queries, d}), k = shapes.tensor({batch, keys, d}), v = shapes.tensor({batch, keys, d_v});
    Tensor mask = shapes.tensor({queries, keys});
    for (float& x : mask.data) {
      if (shapes.size(4) == 1) x = -std::numeric_limits<float>::infinity();
    }
    ScoreChanges changes;
    changes.causal = shapes.coin();
    changes.past = shapes.size(5) - 1;
    if (shapes.coin()) changes.add.push_back(&mask);
    const auto got = scaled_dot_product_attention(q, k, v, changes, std::nullopt, true);
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (std::int64_t i = 0; i < batch * queries; ++i) {
      std::vector<double> scores;
      for (std::int64_t j = 0; j < keys; ++j) {
        double sum = 0;
        for (std::int64_t c = 0; c < d; ++c) sum += double(*q.at(i * d + c)) * *k.at((i / queries * keys + j) * d + c);
        sum /= std::sqrt(double(d));
        if (!changes.add.empty()) sum += *mask.at(i % queries * keys + j);
        if (changes.causal && j > changes.past + i % queries) sum = -kInfinity;
        scores.push_back(sum);
      }
      softmax_row(scores);
      // Scores of at most d products below 1 carry d roundings, softmax and the sum over keys one each and a few more; values are
      // below 1.
      const double bound = (std::sqrt(double(d)) * 4 + 2 * double(keys) + 16) * 0x1p-24;
      for (std::int64_t j = 0; j < keys; ++j)
        ASSERT_NEAR(*got.value().weights.at(i * keys + j), scores[j], bound) << "round " << round;
      for (std::int64_t c = 0; c < d_v; ++c) {
        double sum = 0;
        for (std::int64_t j = 0; j < keys; ++j) sum += scores[j] * *v.at((i / queries * keys + j) * d_v + c);
        ASSERT_NEAR(*got.value().output.at(i * d_v + c), sum, bound) << "round " << round;
      }
    }
  }
}

// SelfAttention, narrow and wide, against its formula.
TEST(RandomShapes, SelfAttentionInBothModes) {
  Shapes shapes(2);
  for (int round = 0; round < 60; ++round) {
    const bool wide = shapes.coin();
    const std::int64_t heads = shapes.size(4), seq = shapes.size(9), hidden = shapes.size(17), batch = shapes.size(2);
    const std::int64_t d_q = shapes.size(5) * (wide ? 1 : heads), d_v = shapes.size(5) * (wide ? 1 : heads);
    Options options("test");
    options.set("k", double(hidden)).set("heads", double(heads)).set("d_q", double(d_q)).set("d_v", double(d_v)).set("bias", 1);
    options.set("seed", round).set_word("mode", wide ? "wide" : "narrow");
    const auto module = make_module("SelfAttention", options);
    ASSERT_TRUE(module.ok()) << module.error().message;
    const auto parameter = [&](std::string_view name) {
      for (const auto& named : module.value()->state()) {
        if (named.name == name) return named.parameter->value();
      }
      return Tensor{};
    };
    const Tensor x = shapes.tensor({batch, seq, hidden});
    const auto got = (*module.value())(x);
    ASSERT_TRUE(got.ok()) << got.error().message;
    const std::int64_t q_head = wide ? d_q : d_q / heads, v_head = wide ? d_v : d_v / heads;
    const Tensor wq = parameter("W_q.weight"), wk = parameter("W_k.weight"), wv = parameter("W_v.weight"),
                 wu = parameter("unify.weight");
    const Tensor bq = parameter("W_q.bias"), bk = parameter("W_k.bias"), bv = parameter("W_v.bias"), bu = parameter("unify.bias");
    for (std::int64_t i = 0; i < batch * seq; ++i) {
      std::vector<float> joined;
      for (std::int64_t h = 0; h < heads; ++h) {
        const auto q = affine(wq, h * q_head, q_head, &bq, x.at(i * hidden));
        std::vector<double> scores;
        for (std::int64_t j = 0; j < seq; ++j) {
          const auto k = affine(wk, h * q_head, q_head, &bk, x.at((i / seq * seq + j) * hidden));
          double sum = 0;
          for (std::int64_t c = 0; c < q_head; ++c) sum += q[c] * k[c];
          scores.push_back(sum / std::sqrt(double(q_head)));
        }
        softmax_row(scores);
        std::vector<double> mixed(v_head, 0);
        for (std::int64_t j = 0; j < seq; ++j) {
          const auto v = affine(wv, h * v_head, v_head, &bv, x.at((i / seq * seq + j) * hidden));
          for (std::int64_t c = 0; c < v_head; ++c) mixed[c] += scores[j] * v[c];
        }
        for (const double value : mixed) joined.push_back(static_cast<float>(value));
      }
      const auto want = affine(wu, 0, hidden, &bu, joined.data());
      // Weights are below 1 / sqrt(hidden) <= 1, so queries and keys below sqrt(17) + 1 and each score's error below
      // 3 * 5.2 * 17 * 2^-24 of up to 5.2; the unify map adds its own 20 roundings.
      for (std::int64_t c = 0; c < hidden; ++c)
        ASSERT_NEAR(*got.value().at(i * hidden + c), want[c], 2000 * 0x1p-24) << "round " << round;
    }
  }
}

TEST(RandomShapes, ProductsNormsAndPools) {
  Shapes shapes(3);
  for (int round = 0; round < 100; ++round) {
    const std::int64_t b = shapes.size(3), m = shapes.size(13), k = shapes.size(29), n = shapes.size(17);
    const Tensor x = shapes.tensor({b, m, k}), y = shapes.tensor({k, n});
    const auto product = matmul(x, y);
    ASSERT_TRUE(product.ok());
    ASSERT_EQ(product.value().dims, (Shape{b, m, n}));
    for (std::int64_t i = 0; i < b * m * n; ++i) {
      double sum = 0;
      for (std::int64_t c = 0; c < k; ++c) sum += double(*x.at(i / n * k + c)) * *y.at(c * n + i % n);
      ASSERT_NEAR(*product.value().at(i), sum, 2 * double(k) * 0x1p-24 * std::sqrt(double(k)));
    }
    const auto norm = vector_norm(x, 2, 1, false);
    ASSERT_TRUE(norm.ok());
    for (std::int64_t i = 0; i < b * k; ++i) {
      double squares = 0;
      for (std::int64_t r = 0; r < m; ++r) squares += std::pow(double(*x.at((i / k * m + r) * k + i % k)), 2);
      ASSERT_NEAR(*norm.value().at(i), std::sqrt(squares), 2 * 0x1p-24 * std::sqrt(squares));
    }
    const Window window{{shapes.size(m), shapes.size(k)}, {shapes.size(3), shapes.size(3)}, {0, 0}};
    const auto pooled = avg_pool2d(x, window);
    ASSERT_TRUE(pooled.ok());
    const std::int64_t rows = pooled.value().dim(-2), columns = pooled.value().dim(-1);
    for (std::int64_t i = 0; i < pooled.value().size(); ++i) {
      double sum = 0;
      for (std::int64_t r = 0; r < window.kernel[0]; ++r) {
        for (std::int64_t c = 0; c < window.kernel[1]; ++c) {
          const std::int64_t row = i / columns % rows * window.stride[0] + r, column = i % columns * window.stride[1] + c;
          sum += *x.at((i / (rows * columns) * m + row) * k + column);
        }
      }
      ASSERT_NEAR(*pooled.value().at(i), sum / double(window.kernel[0] * window.kernel[1]), 2 * 0x1p-24);
    }
  }
}

// With any options a module is made, or an error gives the reason; likewise its forward.
TEST(RandomShapes, AnyOptionsAndShapesSucceedOrAreErrors) {
  Shapes shapes(4);
  const char* const kTypes[] = {"Linear",
                                "SelfAttention",
                                "CrossAttention",
                                "MultiheadAttention",
                                "TransformerBlock",
                                "LanguageModel",
                                "TransformerEncoderLayer",
                                "TransformerDecoder",
                                "LayerNorm",
                                "BatchNorm1d",
                                "SequenceClassifier",
                                "EncoderDecoder",
                                "PositionalEncoding",
                                "AvgPool2d",
                                "Transformer",
                                "InstanceNorm2d",
                                "RMSNorm",
                                "Embedding"};
  const char* const kNames[] = {"k",
                                "heads",
                                "d_q",
                                "d_v",
                                "embed_dim",
                                "num_heads",
                                "d_model",
                                "nhead",
                                "in_features",
                                "out_features",
                                "dim_feedforward",
                                "vocab_size",
                                "num_classes",
                                "max_len",
                                "num_layers",
                                "normalized_shape",
                                "kernel_size",
                                "num_features",
                                "n_mlp",
                                "src_vocab_size",
                                "k_context",
                                "num_embeddings",
                                "embedding_dim",
                                "unify",
                                "num_encoder_layers"};
  int made = 0, ran = 0;
  for (int round = 0; round < 20000; ++round) {
    const char* const type = kTypes[shapes.size(std::size(kTypes)) - 1];
    Options options(type);
    // Names that a type requires are found by trying: its message names a missing one.
    std::vector<std::string> given;
    auto module = make_module(type, options);
    for (int tries = 0; tries < 12 && !module.ok(); ++tries) {
      const std::string message = module.error().message;
      for (const char* name : kNames) {
        const bool missing = message.find("'" + std::string(name) + "' is missing") != std::string::npos;
        if (missing || shapes.size(40) == 1) {
          if (std::find(given.begin(), given.end(), name) != given.end()) continue;
          given.emplace_back(name);
          options.set(name, double(shapes.size(4)));
        }
      }
      module = make_module(type, options);
    }
    if (!module.ok()) continue;
    ++made;
    const auto dims = [&] {
      Shape out;
      for (std::int64_t i = shapes.size(4); i > 0; --i) out.push_back(shapes.size(5) - (shapes.size(9) == 1 ? 1 : 0));
      return out;
    };
    Tensor x = shapes.tensor(dims()), other = shapes.tensor(dims()), mask = shapes.tensor(dims());
    if (shapes.coin()) {
      for (float& id : x.data) id = static_cast<float>(shapes.size(4) - 1);
      for (float& id : other.data) id = static_cast<float>(shapes.size(4) - 1);
    }
    KeyValueCache cache;
    Arguments arguments;
    arguments.input = &x;
    if (shapes.coin()) arguments.key = &other;
    if (shapes.coin()) arguments.memory = &other;
    if (shapes.size(4) == 1) arguments.attn_mask = &mask;
    if (shapes.size(4) == 1) arguments.key_padding_mask = &mask;
    if (shapes.size(4) == 1) arguments.cache = &cache;
    arguments.need_weights = shapes.coin();
    for (int times = 0; times < 2; ++times) {
      const auto out = module.value()->forward(arguments);
      if (out.ok()) {
        ++ran;
      } else {
        ASSERT_FALSE(out.error().message.empty());
      }
    }
  }
  EXPECT_GT(made, 5000);
  EXPECT_GT(ran, 1000);
}

}  // namespace
}  // namespace wattn::nn
