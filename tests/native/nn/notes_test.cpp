// The numbers in the lecture notes, to the digits printed there.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "nn/attention.h"
#include "nn/functional.h"
#include "nn/module.h"
#include "nn/pooling.h"
#include "nn/positional.h"

namespace wattn::nn {
namespace {

void expect_near(const Result<Tensor>& got, const Shape& dims, const std::vector<float>& want, float bound) {
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_EQ(got.value().dims, dims);
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got.value().data[i], want[i], bound) << i;
}

// The notes print four digits of inputs and results. A result is off by half a digit, a sum of products also by that of each factor
// times the other factor. That is at most half a digit times (1 + the sums of absolute values of both sides).
constexpr float kHalfDigit = 0.5001e-4f;
float products(float sum_a, float sum_b) { return kHalfDigit * (1 + sum_a + sum_b); }

TEST(Notes, SelfAttentionWithoutParameters) {
  const Tensor x = Tensor::of({2, 3}, {0.4581f, 0.4829f, 0.3125f, 0.6150f, 0.2139f, 0.4118f});
  expect_near(dot_product_similarity(x, x), {2, 2}, {0.5406f, 0.5137f, 0.5137f, 0.5936f}, products(1.26f, 1.26f));
  const auto attention = self_attention(x, true);
  ASSERT_TRUE(attention.ok());
  expect_near(attention.value().weights, {2, 2}, {0.5067f, 0.4933f, 0.4800f, 0.5200f},
              products(0.63f, 0.63f));  // a weight changes by a quarter of the change of the scores
}

TEST(Notes, QueriesKeysAndValues) {
  const Tensor x = Tensor::of({3, 2}, {0.4581f, 0.4829f, 0.3125f, 0.6150f, 0.2139f, 0.4118f});
  const Tensor wq = Tensor::of({2, 3}, {1.5410f, -0.2934f, -2.1788f, 0.5684f, -1.0845f, -1.3986f});
  const Tensor wk = Tensor::of({2, 3}, {0.7576f, 0.2793f, 0.4031f, 0.7347f, 0.0293f, 0.7999f});
  const Tensor wv = Tensor::of({2, 3}, {0.6147f, 0.3810f, 0.6371f, 0.4745f, 0.7136f, 0.6190f});
  const auto q = matmul(wq, x), k = matmul(wk, x), v = matmul(wv, x);
  expect_near(q, {2, 2}, {0.1481f, -0.3337f, -0.3777f, -0.9685f}, products(4.02f, 1.31f));
  expect_near(k, {2, 2}, {0.5206f, 0.7036f, 0.5168f, 0.7022f}, products(1.57f, 1.31f));
  expect_near(v, {2, 2}, {0.5370f, 0.7935f, 0.5728f, 0.9229f}, products(1.81f, 1.31f));
  // The notes continue with the rows of Q, K and V and d_k = 3. Weights change by a quarter of the scores' error, outputs by V's.
  const auto attention = scaled_dot_product_attention(q.value(), k.value(), v.value(), {}, 1 / std::sqrt(3.0f), true);
  ASSERT_TRUE(attention.ok());
  expect_near(attention.value().weights, {2, 2}, {0.5000f, 0.5000f, 0.4996f, 0.5004f}, products(1, 1));
  expect_near(attention.value().output, {2, 2}, {0.5549f, 0.8582f, 0.5549f, 0.8583f}, products(1.81f, 1.31f));
}

TEST(Notes, PositionalTable) {
  expect_near(sinusoidal(3, 4, SinusoidalForm::kNotes), {3, 4},
              {0, 1, 0, 1, 0.841470985f, 0.99995f, 9.99999998e-05f, 1, 0.909297427f, 0.999800007f, 2e-4f, 1}, 1e-8f);
}

TEST(Notes, Pooling) {
  const Tensor x = Tensor::of({4, 4}, {0.6260f, 0.8184f, 0.5762f, 0.5772f, 0.1086f, 0.0214f, 0.4732f, 0.1426f,  //
                                       0.0451f, 0.4872f, 0.2618f, 0.7914f, 0.0903f, 0.2658f, 0.1414f, 0.5247f});
  expect_near(max_pool2d(x, {{2, 2}, {2, 2}}), {2, 2}, {0.8184f, 0.5772f, 0.4872f, 0.7914f}, 0);
  expect_near(avg_pool2d(x, {{2, 4}, {2, 4}}), {2, 1}, {0.4180f, 0.3260f}, kHalfDigit);
  expect_near(avg_pool2d(x, {{4, 4}, {4, 4}}), {1, 1}, {0.3720f}, kHalfDigit);
}

std::int64_t parameters(const Result<ModulePtr>& module) {
  std::int64_t sum = 0;
  for (const auto& named : module.value()->state()) sum += named.parameter->value().size();
  return sum;
}

TEST(Notes, ParameterCounts) {
  EXPECT_EQ(parameters(make_module("SelfAttention", Options().set("k", 6))), 108);
  EXPECT_EQ(parameters(make_module("SelfAttention", Options().set("k", 6).set("heads", 8).set_word("mode", "wide"))), 1158);
}

}  // namespace
}  // namespace wattn::nn
