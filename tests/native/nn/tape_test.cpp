// Gradients of functions of random shapes against central differences, and what the tape promises.
#include "nn/tape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"
#include "native/nn/json_calls.h"
#include "nn/elementwise.h"
#include "nn/functional.h"
#include "nn/module.h"
#include "nn/optimizer.h"
#include "nn/shapes.h"

namespace wattn::nn {
namespace {

using test::to_options;

Tensor leaf(Tensor x) {
  x.node = std::make_shared<Node>(x.size());
  return x;
}

Tensor drawn(Generator& random, const Shape& dims, double low = -1.5, double high = 1.5) {
  Tensor out = std::move(Tensor::zeros(dims)).value();
  for (float& x : out.data) x = static_cast<float>(random.uniform(low, high));
  return out;
}

// The sum of all outputs times numbers that a seed draws, in double precision; 0 and a failure if the call fails.
double weighted(const std::string& name, const Inputs& inputs, const std::string& options) {
  const GradMode no_grad(false);
  const auto out = call_function(name, inputs, to_options("nn." + name, options));
  EXPECT_TRUE(out.ok()) << out.error().message;
  if (!out.ok()) return 0;
  Generator random(9);
  double sum = 0;
  for (const float x : out.value().output.data) sum += x * random.uniform(-1, 1);
  return sum;
}

// With h = 2^-6 and five points, a smooth function's error is some h^4 = 6e-8. The roundings of float32 are some 2^-24 / h = 4e-6
// of each term of the sum, whatever the gradient. What is allowed is several times what can happen, and far below any wrong
// term.
void expect_gradients(const std::string& name, Inputs inputs, const std::string& options,
                      const std::vector<std::string>& constant = {}) {
  const auto is_constant = [&](const std::string& input) {
    return std::find(constant.begin(), constant.end(), input) != constant.end();
  };
  for (auto& [input, tensor] : inputs) {
    if (!is_constant(input)) tensor = leaf(std::move(tensor));
  }
  const auto out = call_function(name, inputs, to_options("nn." + name, options));
  ASSERT_TRUE(out.ok()) << out.error().message;
  ASSERT_TRUE(out.value().output.node) << name;
  Generator random(9);
  std::vector<float> gradient;
  gradient.reserve(out.value().output.data.size());
  for (std::int64_t i = 0; i < out.value().output.size(); ++i) gradient.push_back(static_cast<float>(random.uniform(-1, 1)));
  ASSERT_TRUE(backward(out.value().output.node, gradient.data(), false).ok());
  for (auto& [input, tensor] : inputs) {
    if (is_constant(input)) continue;
    double most = 1e-2;
    for (const float g : tensor.node->grad) most = std::max(most, std::abs(static_cast<double>(g)));
    const std::int64_t step = std::max<std::int64_t>(1, tensor.size() / 7);
    for (std::int64_t i = 0; i < tensor.size(); i += step) {
      const float at = *tensor.at(i);
      const auto value = [&](double move) {
        *tensor.at(i) = static_cast<float>(at + move);
        return weighted(name, inputs, options);
      };
      constexpr double kH = 0x1p-6;
      const double slope = (8 * (value(kH) - value(-kH)) - (value(2 * kH) - value(-2 * kH))) / (12 * kH);
      *tensor.at(i) = at;
      const double got = tensor.node->grad.empty() ? 0 : tensor.node->grad[static_cast<std::size_t>(i)];
      EXPECT_NEAR(got, slope, 2e-4 * most + 2e-5)
          << name << " " << options << ", '" << input << "' " << to_string(tensor.dims) << " at " << i;
    }
  }
}

TEST(Gradients, ReachEveryInputOfFunctionsOfRandomShapes) {
  Generator random(1);
  const auto size = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(most));
  };
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  for (int round = 0; round < 12; ++round) {
    const std::int64_t a = size(3), b = size(5), c = size(9), d = size(7);
    const Tensor x = drawn(random, {a, b, c});
    for (const char* name : {"add", "sub", "mul"}) {
      expect_gradients(name, {{"input", x}, {"other", drawn(random, {b, 1})}}, "{}");
      expect_gradients(name, {{"input", drawn(random, {c})}, {"other", x}}, "{}");
    }
    expect_gradients("div", {{"input", x}, {"other", drawn(random, {a, 1, c}, 1, 3)}}, "{}");
    for (const char* dim : {"0", "1", "-1"}) {
      const std::string option = std::string(R"({"dim": )") + dim + "}";
      expect_gradients("softmax", {{"input", x}}, option);
      expect_gradients("log_softmax", {{"input", x}}, option);
      expect_gradients("sum", {{"input", x}}, option);
      expect_gradients("mean", {{"input", x}}, option);
      expect_gradients("cat", {{"first", x}, {"second", drawn(random, {a, b, c})}}, option);
    }
    expect_gradients("matmul", {{"input", x}, {"other", drawn(random, {c, d})}}, "{}");
    expect_gradients("matmul", {{"input", drawn(random, {b, c})}, {"other", drawn(random, {a, c, d})}}, "{}");
    expect_gradients("matmul", {{"input", x}, {"other", drawn(random, {c})}}, "{}");
    expect_gradients("linear", {{"input", x}, {"weight", drawn(random, {d, c})}, {"bias", drawn(random, {d})}}, "{}");
    expect_gradients(
        "layer_norm",
        {{"input", drawn(random, {a, b, c + 1})}, {"weight", drawn(random, {c + 1})}, {"bias", drawn(random, {c + 1})}},
        R"({"eps": 0.1, "normalized_shape": [)" + text(c + 1) + "]}");
    expect_gradients("rms_norm", {{"input", x}, {"weight", drawn(random, {c})}},
                     R"({"eps": 0.1, "normalized_shape": [)" + text(c) + "]}");
    expect_gradients("instance_norm", {{"input", drawn(random, {a, b, c + 1})}, {"weight", drawn(random, {b})}}, R"({"eps": 0.1})");
    expect_gradients("permute", {{"input", x}}, R"({"dims": [2, 0, 1]})");
    expect_gradients("pool_sequence", {{"input", x}}, R"({"mode": "weightedmean"})");
    for (const char* kind : {"gelu", "gelu_tanh", "silu", "tanh", "sigmoid"})
      expect_gradients("activate", {{"input", x}}, std::string(R"({"kind": ")") + kind + "\"}");
    for (const char* kind : {"exp", "sin", "cos"})
      expect_gradients("unary", {{"input", x}}, std::string(R"({"kind": ")") + kind + "\"}");
    expect_gradients("pow", {{"input", x}}, R"({"exponent": 3})");
    expect_gradients("dropout", {{"input", x}}, R"({"p": 0.4, "seed": 3})");
    const Tensor q = drawn(random, {a, b, c}), k = drawn(random, {a, d, c}), v = drawn(random, {a, d, size(6)});
    expect_gradients(
        "scaled_dot_product_attention",
        {{"query", q}, {"key", k}, {"value", v}, {"attn_mask", drawn(random, {b, d})}, {"score_factor", drawn(random, {b, d})}},
        "{}");
    expect_gradients("scaled_dot_product_attention", {{"query", q}, {"key", k}, {"value", v}}, R"({"is_causal": true})");
    expect_gradients("rotary", {{"input", drawn(random, {a, b, 2 * c})}}, R"({"first": 3})");
    expect_gradients("relative_bias", {{"table", drawn(random, {2 * d - 1, 2})}},
                     R"({"queries": )" + text(b) + R"(, "keys": )" + text(c) + "}");
    expect_gradients("relative_scores", {{"query", q}, {"table", drawn(random, {2 * d - 1, c})}}, R"({"keys": 4})");
    expect_gradients("t5_bias", {{"table", drawn(random, {8, 2})}},
                     R"({"num_buckets": 8, "max_distance": 9, "past": 2, "queries": )" + text(b) + R"(, "keys": )" + text(c) + "}");
    expect_gradients("vector_norm", {{"input", drawn(random, {a, b, c}, 0.5, 2)}}, R"({"ord": 3, "dim": 1})");
    expect_gradients("normalize", {{"input", drawn(random, {a, b, c}, 0.5, 2)}}, R"({"dim": -1})");
    expect_gradients("avg_pool2d", {{"input", drawn(random, {b, 4, 5})}}, R"({"kernel_size": [2, 3], "padding": [1, 1]})");
    Tensor targets = std::move(Tensor::zeros({b})).value();
    for (float& target : targets.data) target = static_cast<float>(size(d) - 1);
    expect_gradients("cross_entropy", {{"input", drawn(random, {b, d})}, {"target", targets}}, R"({"label_smoothing": 0.1})",
                     {"target"});
  }
}

// A loss of several modules, whose graph is alive.
struct Small {
  ModulePtr module = std::move(make_module("FeedForward", to_options("nn.FeedForward", R"({"k": 3})"))).value();
  Tensor x = Tensor::of({2, 3}, {1, 2, 3, 4, 5, 6});
  Result<Tensor> loss() const {
    auto out = (*module)(x);
    return out.ok() ? sum(out.value(), {}, false, true) : std::move(out);
  }
  ParameterPtr parameter(std::size_t i) const { return module->state()[i].parameter; }
};

TEST(Tape, RecordsNothingUntilAParameterIsAskedFor) {
  Small small;
  EXPECT_FALSE(small.loss().value().node);
  const std::vector<float> before = small.loss().value().data;
  small.module->train(true);
  EXPECT_TRUE(small.loss().value().node);
  EXPECT_EQ(small.loss().value().data, before);
  const GradMode no_grad(false);
  EXPECT_FALSE(small.loss().value().node);
}

TEST(Tape, AddsGradientsAndIsUsedUpOnce) {
  Small small;
  small.module->train(true);
  const Tensor loss = small.loss().value();
  ASSERT_TRUE(backward(loss.node, nullptr, true).ok());
  const std::span<float> grad = small.parameter(0)->grad();
  const std::vector<float> once(grad.begin(), grad.end());
  ASSERT_TRUE(backward(loss.node, nullptr, false).ok());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(small.parameter(0)->grad()[i], 2 * once[i]);
  const auto again = backward(loss.node, nullptr, false);
  EXPECT_EQ(again.error().code, ErrorCode::kState);
  EXPECT_NE(again.error().message.find("an earlier backward() used up"), std::string::npos) << again.error().message;
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(small.parameter(0)->grad()[i], 2 * once[i]);
}

TEST(Tape, RefusesParametersThatChangedAfterTheForwardPass) {
  Small small;
  small.module->train(true);
  const Tensor loss = small.loss().value();
  small.parameter(0)->change()[0] = 7;
  const auto done = backward(loss.node, nullptr, false);
  EXPECT_EQ(done.error().code, ErrorCode::kState);
  EXPECT_TRUE(small.parameter(0)->grad().empty());
}

TEST(Tape, EndsLongGraphsWithoutRecursion) {
  Tensor x = leaf(Tensor::of({}, {1}));
  for (int i = 0; i < 200000; ++i) x = scaled(x, 1);
  x = {};
  Tensor y = leaf(Tensor::of({}, {1}));
  const NodePtr first = y.node;
  for (int i = 0; i < 200000; ++i) y = scaled(y, 1);
  ASSERT_TRUE(backward(y.node, nullptr, false).ok());
  EXPECT_EQ(first->grad[0], 1);
}

TEST(Tape, LetsNaNFlow) {
  const Tensor x = leaf(Tensor::of({2}, {std::numeric_limits<float>::quiet_NaN(), 1}));
  const Tensor y = sum(mul(x, x).value(), {}, false, false).value();
  ASSERT_TRUE(backward(y.node, nullptr, false).ok());
  EXPECT_TRUE(std::isnan(x.node->grad[0]));
  EXPECT_EQ(x.node->grad[1], 2);
}

TEST(Optimizers, RefuseWrongOptionsAndParametersGivenTwice) {
  Small small;
  small.module->train(true);
  auto optimizer = std::move(Optimizer::make("Adam")).value();
  EXPECT_FALSE(Optimizer::make("LBFGS").ok());
  ASSERT_TRUE(optimizer.add_group({small.parameter(0), small.parameter(1)}).ok());
  EXPECT_EQ(optimizer.add_group({small.parameter(1)}).error().message,
            "nn.optim: expected each parameter once, found parameter 0 of a group twice");
  ASSERT_TRUE(backward(small.loss().value().node, nullptr, false).ok());
  const std::vector<float> before = small.parameter(0)->value().data;
  EXPECT_FALSE(optimizer.step({to_options("nn.optim.Adam", R"({"lr": -1})")}).ok());
  EXPECT_FALSE(optimizer.step({to_options("nn.optim.Adam", R"({"momentum": 0.5})")}).ok());
  EXPECT_EQ(small.parameter(0)->value().data, before);
  ASSERT_TRUE(optimizer.step({to_options("nn.optim.Adam", R"({"lr": 0.5})")}).ok());
  EXPECT_NE(small.parameter(0)->value().data, before);
}

}  // namespace
}  // namespace wattn::nn
