// Functions and modules by name: errors of invalid calls, and results that the goldens do not cover.
#include "nn/call.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"
#include "native/nn/json_calls.h"
#include "nn/attention.h"
#include "nn/functional.h"
#include "nn/norms.h"
#include "nn/pooling.h"
#include "nn/positional.h"
#include "nn/summary.h"

namespace wattn::nn {
namespace {

using test::to_inputs;
using test::to_options;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
std::string error_of(const Result<T>& result) {
  return result.ok() ? "ok" : result.error().message;
}

Result<Outputs> call(const std::string& name, const char* tensors, const char* options, float fill = 1) {
  return call_function(name, to_inputs(tensors, fill), to_options("nn." + name, options));
}

TEST(NnFunctions, RejectInvalidCalls) {
  const struct {
    const char* name;
    const char* tensors;
    const char* options;
    const char* error;
  } rows[] = {
      {"soft", "{}", "{}", "nn: unknown function 'soft'"},
      {"softmax", "{}", "{}", "nn.softmax: expected a tensor 'input', found none"},
      {"softmax", R"({"input": [2, 3]})", R"({"dims": 1})",
       "nn.softmax: unknown option 'dims'; did you mean 'dim'? known options: dim"},
      {"softmax", R"({"input": [2, 3]})", R"({"dim": "last"})", "nn.softmax: option 'dim': expected a number, found 'last'"},
      {"softmax", R"({"input": [2, 3]})", R"({"dim": [0, 1]})", "nn.softmax: option 'dim': expected a number, found 2 numbers"},
      {"softmax", R"({"input": [2, 3]})", R"({"dim": 0.5})",
       "nn.softmax: option 'dim': expected a whole number from -2147483648 on, found 0.500000"},
      {"softmax", R"({"input": [2, 3]})", R"({"dim": 2})", "nn.softmax: expected dim in -2 .. 1, found 2"},
      {"log_softmax", R"({"input": [2, 3]})", R"({"dim": -3})", "nn.log_softmax: expected dim in -2 .. 1, found -3"},
      {"matmul", R"({"input": [], "other": [2]})", "{}", "nn.matmul: expected tensors of at least one dimension"},
      {"matmul", R"({"input": [2], "other": []})", "{}", "nn.matmul: expected tensors of at least one dimension"},
      {"matmul", R"({"input": [2, 3], "other": [2, 3]})", "{}", "nn.matmul: the inner sizes of [2, 3] and [2, 3] differ"},
      {"matmul", R"({"input": [2, 1, 1], "other": [3, 1, 1]})", "{}", "nn.matmul: shapes [2] and [3] cannot be broadcast"},
      {"matmul", R"({"input": [32768, 1], "other": [1, 32768]})", "{}",
       "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"bmm", R"({"input": [2, 3], "other": [2, 3, 4]})", "{}",
       "nn.bmm: expected the first tensor of shape [batch, m, k], found [2, 3]"},
      {"bmm", R"({"input": [2, 3, 3], "other": [3, 3]})", "{}",
       "nn.bmm: expected the second tensor of shape [batch, k, n], found [3, 3]"},
      {"bmm", R"({"input": [2, 3, 3], "other": [1, 3, 3]})", "{}",
       "nn.bmm: expected the second tensor of shape [batch, k, n], found [1, 3, 3]"},
      {"add", R"({"input": [2, 3], "other": [2]})", "{}", "nn.add: shapes [2, 3] and [2] cannot be broadcast"},
      {"mul", R"({"input": [32768, 1], "other": [32768]})", "{}",
       "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"linear", R"({"input": [2, 3], "weight": [3]})", "{}", "nn.linear: expected weight of shape [out, in], found [3]"},
      {"linear", R"({"input": [2, 3], "weight": [4, 2]})", "{}", "nn.linear: expected the input of shape [..., 2], found [2, 3]"},
      {"linear", R"({"input": [], "weight": [4, 2]})", "{}", "nn.linear: expected the input of shape [..., 2], found []"},
      {"linear", R"({"input": [2, 3], "weight": [4, 3], "bias": [3]})", "{}", "nn.linear: expected bias of shape [4], found [3]"},
      {"linear", R"({"input": [32768, 1], "weight": [32768, 1]})", "{}",
       "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"dot_product_similarity", R"({"input": [3]})", "{}",
       "nn.dot_product_similarity: expected the input of shape [..., seq, hidden], found [3]"},
      {"dot_product_similarity", R"({"input": [2, 3], "other": [3]})", "{}",
       "nn.dot_product_similarity: expected the other of shape [..., seq, hidden], found [3]"},
      {"activate", R"({"input": [2]})", R"({"kind": "mish"})",
       "nn.activate: option 'kind': expected one of 'relu', 'gelu', 'gelu_tanh', 'silu', 'tanh', 'sigmoid', found 'mish'"},
      {"embedding", R"({"input": [2], "weight": [2]})", "{}", "nn.embedding: expected weight of shape [rows, hidden], found [2]"},
      {"embedding", R"({"input": [2], "weight": [1, 2]})", "{}",
       "nn.embedding: expected ids that are whole numbers below 1, found 1.000000 at index 0"},
      {"embedding", R"({"input": [32768], "weight": [2, 32768]})", "{}",
       "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"one_hot", R"({"input": [2]})", R"({"num_classes": 1})",
       "nn.one_hot: expected ids that are whole numbers below 1, found 1.000000 at index 0"},
      {"one_hot", R"({"input": [2]})", R"({"num_classes": 1000000000})",
       "nn: a tensor of shape [2, 1000000000] exceeds the limit of 2 GiB"},
      {"permute_rows", R"({"input": [2], "order": [2]})", "{}",
       "nn.permute_rows: expected the input of shape [..., seq, hidden], found [2]"},
      {"permute_rows", R"({"input": [2, 3], "order": [3]})", "{}", "nn.permute_rows: expected order of shape [2], found [3]"},
      {"permute_rows", R"({"input": [1, 3], "order": [1]})", "{}",
       "nn.permute_rows: expected ids that are whole numbers below 1, found 1.000000 at index 0"},
      {"layer_norm", R"({"input": [2, 3]})", "{}", "nn.layer_norm: expected the input of a shape that ends in [], found [2, 3]"},
      {"layer_norm", R"({"input": [3]})", R"({"normalized_shape": [2, 3]})",
       "nn.layer_norm: expected the input of a shape that ends in [2, 3], found [3]"},
      {"layer_norm", R"({"input": [2, 3]})", R"({"normalized_shape": "3"})",
       "nn.layer_norm: option 'normalized_shape': expected whole numbers, found '3'"},
      {"layer_norm", R"({"input": [2, 3]})", R"({"normalized_shape": [3, 0]})",
       "nn.layer_norm: option 'normalized_shape': expected whole numbers from 1 on, found 0"},
      {"layer_norm", R"({"input": [2, 3]})", R"({"normalized_shape": [3], "eps_form": 1})",
       "nn.layer_norm: option 'eps_form': expected one of 'inside', 'outside', found a number"},
      {"layer_norm", R"({"input": [2, 3], "weight": [2]})", R"({"normalized_shape": [3]})",
       "nn.layer_norm: expected weight of shape [3], found [2]"},
      {"layer_norm", R"({"input": [2, 3], "bias": [2]})", R"({"normalized_shape": [3]})",
       "nn.layer_norm: expected bias of shape [3], found [2]"},
      {"rms_norm", R"({"input": [2, 3]})", R"({"normalized_shape": [2]})",
       "nn.rms_norm: expected the input of a shape that ends in [2], found [2, 3]"},
      {"batch_norm", R"({"input": [3], "running_mean": [3], "running_var": [3]})", "{}",
       "nn.batch_norm: expected the input of shape [batch, channels, ...], found [3]"},
      {"batch_norm", R"({"input": [2, 3], "running_mean": [3], "running_var": [2]})", "{}",
       "nn.batch_norm: expected weights and statistics of shape [3], found [2]"},
      {"instance_norm", R"({"input": [2, 3, 4], "weight": [4]})", "{}",
       "nn.instance_norm: expected weights and statistics of shape [3], found [4]"},
      {"vector_norm", R"({"input": [2, 3]})", R"({"dim": 2})", "nn.vector_norm: expected dim in -2 .. 1, found 2"},
      {"vector_norm", R"({"input": [2, 3]})", R"({"ord": 0})", "nn.vector_norm: expected p above 0, found 0.000000"},
      {"vector_norm", R"({"input": [0, 32768, 32768]})", R"({"dim": 0})",
       "nn: a tensor of shape [1, 32768, 32768] exceeds the limit of 2 GiB"},
      {"normalize", R"({"input": [3]})", "{}", "nn.vector_norm: expected dim in -1 .. 0, found 1"},
      {"avg_pool2d", R"({"input": [2, 3]})", "{}",
       "nn.avg_pool2d: option 'kernel_size' is missing: expected one or two whole numbers"},
      {"avg_pool2d", R"({"input": [2, 3]})", R"({"kernel_size": [1, 1, 1]})",
       "nn.avg_pool2d: option 'kernel_size': expected one or two whole numbers"},
      {"max_pool2d", R"({"input": [3]})", R"({"kernel_size": 1})",
       "nn.max_pool2d: expected the input of shape [..., height, width], found [3]"},
      {"max_pool2d", R"({"input": [3, 3]})", R"({"kernel_size": [2, 4]})",
       "nn.max_pool2d: the kernel of 4 is larger than the image's 3"},
      {"max_pool2d", R"({"input": [3, 3]})", R"({"kernel_size": 3, "padding": 2})",
       "nn.max_pool2d: expected a padding of at most half the kernel, found 2 for 3"},
      {"max_pool2d", R"({"input": [1073741824, 0]})", R"({"kernel_size": 2, "padding": 1, "stride": 1})",
       "nn: a tensor of shape [1073741825, 1] exceeds the limit of 2 GiB"},
      {"pool_sequence", R"({"input": [2, 3]})", "{}",
       "nn.pool_sequence: expected the input of shape [batch, seq, hidden], found [2, 3]"},
      {"pool_sequence", R"({"input": [2, 3, 4], "mask": [3, 2]})", "{}",
       "nn.pool_sequence: expected mask of shape [2, 3], found [3, 2]"},
      {"pool_sequence", R"({"input": [32768, 0, 32768]})", "{}", "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"scaled_dot_product_attention", R"({"query": [3], "key": [2, 3], "value": [2, 3]})", "{}",
       "nn.scaled_dot_product_attention: expected query of shape [..., queries, d_k], found [3]"},
      {"scaled_dot_product_attention", R"({"query": [2, 3], "key": [3], "value": [2, 3]})", "{}",
       "nn.scaled_dot_product_attention: expected key of shape [..., keys, 3], found [3]"},
      {"scaled_dot_product_attention", R"({"query": [2, 3], "key": [2, 4], "value": [2, 3]})", "{}",
       "nn.scaled_dot_product_attention: expected key of shape [..., keys, 3], found [2, 4]"},
      {"scaled_dot_product_attention", R"({"query": [2, 3], "key": [4, 3], "value": [3]})", "{}",
       "nn.scaled_dot_product_attention: expected value of shape [..., 4, d_v], found [3]"},
      {"scaled_dot_product_attention", R"({"query": [2, 3], "key": [4, 3], "value": [2, 3]})", "{}",
       "nn.scaled_dot_product_attention: expected value of shape [..., 4, d_v], found [2, 3]"},
      {"scaled_dot_product_attention", R"({"query": [2, 1, 3], "key": [3, 1, 3], "value": [1, 3]})", "{}",
       "nn.scaled_dot_product_attention: shapes [2] and [3] cannot be broadcast"},
      {"scaled_dot_product_attention", R"({"query": [2, 1, 3], "key": [1, 3], "value": [3, 1, 3]})", "{}",
       "nn.scaled_dot_product_attention: shapes [2] and [3] cannot be broadcast"},
      {"scaled_dot_product_attention", R"({"query": [2, 3], "key": [4, 3], "value": [4, 3], "attn_mask": [3, 4]})", "{}",
       "nn.scaled_dot_product_attention: expected a mask or bias of a shape that can be broadcast to [2, 4], found [3, 4]"},
      {"scaled_dot_product_attention", R"({"query": [2, 3], "key": [4, 3], "value": [4, 3], "score_factor": [5, 2, 4]})", "{}",
       "nn.scaled_dot_product_attention: expected a mask or bias of a shape that can be broadcast to [2, 4], found [5, 2, 4]"},
      {"scaled_dot_product_attention", R"({"query": [32768, 1], "key": [1, 1], "value": [1, 32768]})", "{}",
       "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"scaled_dot_product_attention", R"({"query": [32768, 1], "key": [32768, 1], "value": [32768, 1]})",
       R"({"need_weights": true})", "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"scaled_dot_product_attention", R"({"query": [2, 3], "key": [4, 3], "value": [4, 3]})", R"({"causal": true})",
       "nn.scaled_dot_product_attention: unknown option 'causal'; known options: is_causal, scale, need_weights"},
      {"sinusoidal", "{}", R"({"dim": 4})", "nn.sinusoidal: option 'length' is missing: expected a whole number from 1 on"},
      {"sinusoidal", "{}", R"({"length": 3, "dim": 4, "base": 0})",
       "nn.positional.sinusoidal: expected a base above 0, found 0.000000"},
      {"sinusoidal", "{}", R"({"length": 32768, "dim": 32768})", "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"alibi_bias", "{}", R"({"heads": 4, "queries": 2147483647})",
       "nn: expected a valid shape of a tensor, found [4, 2147483647, 2147483647]"},
      {"relative_bias", R"({"table": [4]})", R"({"queries": 2})",
       "nn.positional.relative_bias: expected table of shape [2r - 1] or [2r - 1, heads], found [4]"},
      {"relative_bias", R"({"table": [3, 0]})", R"({"queries": 2})",
       "nn.positional.relative_bias: expected table of shape [2r - 1] or [2r - 1, heads], found [3, 0]"},
      {"relative_bias", R"({"table": []})", R"({"queries": 2})",
       "nn.positional.relative_bias: expected table of shape [2r - 1] or [2r - 1, heads], found []"},
      {"relative_bias", R"({"table": [3, 1, 1]})", R"({"queries": 2})",
       "nn.positional.relative_bias: expected table of shape [2r - 1] or [2r - 1, heads], found [3, 1, 1]"},
      {"relative_scores", R"({"query": [4], "table": [3, 4]})", "{}",
       "nn.positional.relative_scores: expected query of shape [..., queries, d], found [4]"},
      {"relative_scores", R"({"query": [2, 4], "table": [3]})", "{}",
       "nn.positional.relative_scores: expected table of shape [2r - 1, 4], found [3]"},
      {"relative_scores", R"({"query": [2, 4], "table": [2, 4]})", "{}",
       "nn.positional.relative_scores: expected table of shape [2r - 1, 4], found [2, 4]"},
      {"relative_scores", R"({"query": [2, 4], "table": [3, 2]})", "{}",
       "nn.positional.relative_scores: expected table of shape [2r - 1, 4], found [3, 2]"},
      {"relative_scores", R"({"query": [32768, 1], "table": [3, 1]})", "{}",
       "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"t5_buckets", "{}", R"({"queries": 2, "num_buckets": 3})",
       "nn.positional.t5_buckets: expected max_distance above a quarter of num_buckets (half, in one direction), found 128 for 3 "
       "buckets"},
      {"t5_buckets", "{}", R"({"queries": 2, "num_buckets": 32, "max_distance": 16, "bidirectional": false})",
       "nn.positional.t5_buckets: expected max_distance above a quarter of num_buckets (half, in one direction), found 16 for 32 "
       "buckets"},
      {"t5_bias", R"({"table": [32]})", R"({"queries": 2})",
       "nn.positional.t5_bias: expected table of shape [32, heads], found [32]"},
      {"t5_bias", R"({"table": [31, 2]})", R"({"queries": 2})",
       "nn.positional.t5_bias: expected table of shape [32, heads], found [31, 2]"},
      {"t5_bias", R"({"table": [3, 2]})", R"({"queries": 2, "num_buckets": 3})",
       "nn.positional.t5_buckets: expected max_distance above a quarter of num_buckets (half, in one direction), found 128 for 3 "
       "buckets"},
      {"alibi_slopes", "{}", R"({"heads": 1000000000})", "nn: a tensor of shape [1000000000] exceeds the limit of 2 GiB"},
      {"alibi_bias", "{}", R"({"heads": 1000000000, "queries": 2})",
       "nn: a tensor of shape [1000000000] exceeds the limit of 2 GiB"},
      {"rotary", R"({"input": [4]})", "{}", "nn.positional.rotary: expected the input of shape [..., seq, d], d even, found [4]"},
      {"rotary", R"({"input": [2, 3]})", "{}",
       "nn.positional.rotary: expected the input of shape [..., seq, d], d even, found [2, 3]"},
      {"rotary", R"({"input": [2, 4]})", R"({"base": -1})", "nn.positional.rotary: expected a base above 0, found -1.000000"},
      {"sampling_probabilities", R"({"input": [2, 3]})", "{}",
       "nn.sampling_probabilities: expected the input of shape [vocab], found [2, 3]"},
      {"sampling_probabilities", R"({"input": [0]})", "{}",
       "nn.sampling_probabilities: expected the input of shape [vocab], found [0]"},
      {"sampling_probabilities", R"({"input": [3]})", R"({"top_p": 2})",
       "generate: option 'top_p': expected a number above 0, at most 1, found 2.0"},
      {"sampling_probabilities", R"({"input": [3]})", R"({"top": 2})",
       "nn.sampling_probabilities: unknown option 'top'; known options: max_new_tokens, min_new_tokens, eos_token_id, do_sample, "
       "temperature, top_p, min_p, repetition_penalty, length_penalty, top_k, no_repeat_ngram_size, forced_bos_token_id, "
       "forced_eos_token_id, num_beams, early_stopping, seed, use_cache"},
  };
  for (const auto& [name, tensors, options, error] : rows)
    EXPECT_EQ(error_of(call(name, tensors, options)), error) << name << tensors;
  EXPECT_EQ(error_of(call("one_hot", R"({"input": [1]})", "{}", -1)),
            "nn.one_hot: expected ids that are whole numbers below 16777216, found -1.000000 at index 0");
  EXPECT_EQ(error_of(call("sampling_probabilities", R"({"input": [2]})", "{}", std::nanf(""))),
            "nn.sampling_probabilities: found NaN among the logits");
  const Tensor image = Tensor::of({1, 1}, {1});
  EXPECT_EQ(error_of(avg_pool2d(image, {{0, 1}, {1, 1}})), "nn.avg_pool2d: expected a kernel and a stride of at least 1");
  EXPECT_EQ(error_of(max_pool2d(image, {{1, 1}, {1, 0}})), "nn.max_pool2d: expected a kernel and a stride of at least 1");
  EXPECT_NE(error_of(max_pool2d(image, {{1, 1}, {1, 1}, {0, -1}})).find("a padding of at most half the kernel"), std::string::npos);
  EXPECT_NE(error_of(pool_sequence(Tensor::of({1, 1, 1}, {1}), "median", nullptr)).find("found 'median'"), std::string::npos);
}

void expect_tensor(const Result<Outputs>& got, const Shape& dims, const std::vector<float>& want) {
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value().output.dims, dims);
  EXPECT_EQ(got.value().output.data, want);
}

Result<Outputs> call_with(const std::string& name, std::vector<std::pair<std::string, Tensor>> tensors,
                          const char* options = "{}") {
  Inputs inputs;
  for (auto& [key, tensor] : tensors) inputs.emplace_back(key, std::move(tensor));
  return call_function(name, inputs, to_options("nn." + name, options));
}

TEST(NnFunctions, OffsetsAndBiasesAreThoseOfTheirFormulas) {
  expect_tensor(call("relative_offsets", "{}", R"({"queries": 2, "keys": 3, "past": 1})"), {2, 3}, {-1, 0, 1, -2, -1, 0});
  expect_tensor(call("alibi_bias", "{}", R"({"heads": 2, "queries": 1, "keys": 3, "past": 2})"), {2, 1, 3},
                {-2 * 0x1p-4f, -0x1p-4f, 0, -2 * 0x1p-8f, -0x1p-8f, 0});
  // A table of one column is a bias for all heads.
  expect_tensor(call_with("relative_bias", {{"table", Tensor::of({3}, {1, 2, 3})}}, R"({"queries": 1, "keys": 4, "past": 1})"),
                {1, 4}, {1, 2, 3, 3});
  const auto buckets = call("t5_buckets", "{}", R"({"queries": 40, "past": 7, "keys": 60, "num_buckets": 8, "max_distance": 20})");
  Tensor table = Tensor::of({8, 2}, std::vector<float>(16));
  for (std::size_t i = 0; i < 16; ++i) table.data[i] = static_cast<float>(i);
  const auto bias =
      call_with("t5_bias", {{"table", table}}, R"({"queries": 40, "past": 7, "keys": 60, "num_buckets": 8, "max_distance": 20})");
  ASSERT_TRUE(buckets.ok() && bias.ok());
  ASSERT_EQ(bias.value().output.dims, (Shape{2, 40, 60}));
  for (std::int64_t i = 0; i < 2 * 2400; ++i) {
    ASSERT_EQ(*bias.value().output.at(i), 2 * *buckets.value().output.at(i % 2400) + static_cast<float>(i / 2400)) << i;
  }
}

TEST(NnFunctions, LossesOfTensorsOfOneShape) {
  EXPECT_EQ(call("mse_loss", R"({"input": [2, 3], "target": [2, 3]})", "{}").value().output.data, std::vector<float>{0});
  EXPECT_EQ(error_of(call("mse_loss", R"({"input": [2, 3], "target": [3, 2]})", "{}")),
            "nn.mse_loss: expected target of shape [2, 3] as the input, found [3, 2]");
}

TEST(NnFunctions, RowsAndIds) {
  expect_tensor(
      call_with("permute_rows", {{"input", Tensor::of({2, 3, 1}, {0, 1, 2, 3, 4, 5})}, {"order", Tensor::of({3}, {2, 0, 1})}}),
      {2, 3, 1}, {2, 0, 1, 5, 3, 4});
  expect_tensor(call_with("one_hot", {{"input", Tensor::of({2}, {2, 0})}}), {2, 3}, {0, 0, 1, 1, 0, 0});
  expect_tensor(
      call_with("dot_product_similarity", {{"input", Tensor::of({1, 2}, {2, 3})}, {"other", Tensor::of({2, 2}, {1, 0, 0, 1})}}),
      {1, 2}, {2, 3});
}

TEST(NnFunctions, EdgesOfNormsAndSoftmax) {
  expect_tensor(call("softmax", R"({"input": [2]})", "{}", -kInfinity), {2}, {0, 0});
  EXPECT_EQ(layer_norm(Tensor{{2, 0}, {}}, {0}, nullptr, nullptr, 1, EpsilonForm::kInsideRoot).value().dims, (Shape{2, 0}));
  EXPECT_EQ(rms_norm(Tensor{{2, 0}, {}}, {0}, nullptr, 1).value().dims, (Shape{2, 0}));
  expect_tensor(call("batch_norm", R"({"input": [0, 2], "running_mean": [2], "running_var": [2]})", "{}"), {0, 2}, {});
  expect_tensor(call("instance_norm", R"({"input": [2, 3, 0]})", "{}"), {2, 3, 0}, {});
  const Tensor x = Tensor::of({2, 2}, {3, -4, 0, 2});
  expect_tensor(call_with("vector_norm", {{"input", x}}, R"({"ord": 1, "keepdim": true})"), {2, 1}, {7, 2});
  for (const auto& [p, want] : {std::pair{static_cast<double>(kInfinity), std::vector<float>{4, 2}}, {4.0, {4.284573f, 2}}}) {
    const auto norm = vector_norm(x, p, 1, false);
    ASSERT_TRUE(norm.ok());
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(norm.value().data[i], want[i], 1e-6) << p;
  }
  // (x - mean) / (sigma + eps) without weight and bias; x / sqrt(mean of squares + eps) without weight.
  const auto outside = call_with("layer_norm", {{"input", x}}, R"({"normalized_shape": 2, "eps": 0.5, "eps_form": "outside"})");
  const auto rms = call_with("rms_norm", {{"input", x}}, R"({"normalized_shape": 2, "eps": 0.5})");
  ASSERT_TRUE(outside.ok() && rms.ok());
  const double row[] = {3.5 / 4, -3.5 / 4, -1 / 1.5, 1 / 1.5};
  const double squares[] = {3 / std::sqrt(13), -4 / std::sqrt(13), 0, 2 / std::sqrt(2.5)};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(outside.value().output.data[i], row[i], 1e-6);
    EXPECT_NEAR(rms.value().output.data[i], squares[i], 1e-6);
  }
}

TEST(NnFunctions, PoolingLeavesOutMaskedTokens) {
  const Tensor x = Tensor::of({1, 4, 2}, {1, 10, 5, 20, 3, 30, 100, 100}), mask = Tensor::of({1, 4}, {1, 1, 1, 0});
  const struct {
    const char* mode;
    std::vector<float> want;
  } rows[] = {{R"({"mode": "mean"})", {3, 20}},
              {R"({"mode": "max"})", {5, 30}},
              {R"({"mode": "cls"})", {1, 10}},
              {R"({"mode": "last"})", {3, 30}},
              {R"({"mode": "mean_sqrt_len_tokens"})", {9 / std::sqrt(3.0f), 60 / std::sqrt(3.0f)}},
              {R"({"mode": "weightedmean"})", {20.0f / 6, 140.0f / 6}}};
  for (const auto& [mode, want] : rows) {
    const auto got = call_with("pool_sequence", {{"input", x}, {"mask", mask}}, mode);
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(got.value().output.data[i], want[i], 4 * 0x1p-19) << mode;
  }
}

// type, options and tensors of a forward, and its error; of making where tensors are null.
TEST(NnModules, RejectInvalidOptions) {
  const struct {
    const char* type;
    const char* options;
    const char* tensors;
    const char* error;
  } rows[] = {
      {"Squid", "{}", nullptr, "nn: unknown module 'Squid'"},
      {"Linear", R"({"in_features": 0, "out_features": 2})", nullptr,
       "nn.Linear: option 'in_features': expected a whole number from 1 on, found 0"},
      {"Linear", R"({"in_features": 3000000000, "out_features": 2})", nullptr,
       "nn.Linear: option 'in_features': expected a whole number from 1 on, found 3000000000"},
      {"Linear", R"({"in_features": 2})", nullptr,
       "nn.Linear: option 'out_features' is missing: expected a whole number from 1 on"},
      {"Linear", R"({"in_features": 2, "out_features": 2, "biass": true})", nullptr,
       "nn.Linear: unknown option 'biass'; did you mean 'bias'? known options: seed, in_features, out_features, bias"},
      {"Embedding", R"({"num_embeddings": 1073741824, "embedding_dim": 1024})", nullptr,
       "nn.Embedding: out of memory for the parameter 'weight'"},
      {"LayerNorm", "{}", nullptr, "nn.LayerNorm: option 'normalized_shape' is missing: expected one or more whole numbers"},
      {"RMSNorm", "{}", nullptr, "nn.RMSNorm: option 'normalized_shape' is missing: expected one or more whole numbers"},
      {"RMSNorm", R"({"normalized_shape": [2, 2.5]})", nullptr,
       "nn.RMSNorm: option 'normalized_shape': expected whole numbers from 1 on, found 2.500000"},
      {"PositionalEncoding", R"({"d_model": 4, "base": 0})", nullptr,
       "nn.PositionalEncoding: option 'base': expected a number above 0"},
      {"SelfAttention", R"({"k": 8, "mode": "broad"})", nullptr,
       "nn.SelfAttention: option 'mode': expected one of 'narrow', 'wide', found 'broad'"},
      {"SelfAttention", R"({"k": 8, "heads": 3})", nullptr,
       "nn.SelfAttention: expected d_q to be a multiple of the 3 heads, found 8"},
      {"SelfAttention", R"({"k": 8, "d_v": 9, "heads": 2})", nullptr,
       "nn.SelfAttention: expected d_v to be a multiple of the 2 heads, found 9"},
      {"SelfAttention", R"({"k": 6, "heads": 2, "relative": "rotary"})", nullptr,
       "nn.SelfAttention: rotary positions: expected an even width of each head, found 3"},
      {"SelfAttention", R"({"k": 8, "base": 0})", nullptr, "nn.SelfAttention: option 'base': expected a number above 0"},
      {"MultiheadAttention", R"({"embed_dim": 10, "num_heads": 3})", nullptr,
       "nn.MultiheadAttention: expected embed_dim to be a multiple of the 3 heads, found 10"},
      {"MultiheadAttention", R"({"embed_dim": 8, "num_heads": 2, "batch_first": false})", nullptr,
       "nn.MultiheadAttention: batch_first: false is not supported; tensors are [batch, seq, hidden]"},
      {"TransformerEncoderLayer", R"({"d_model": 9, "nhead": 2})", nullptr,
       "nn.TransformerEncoderLayer: expected d_model to be a multiple of the 2 heads, found 9"},
      {"TransformerEncoderLayer", R"({"d_model": 8, "nhead": 2, "batch_first": false})", nullptr,
       "nn.TransformerEncoderLayer: batch_first: false is not supported; tensors are [batch, seq, hidden]"},
      {"TransformerEncoder", R"({"d_model": 1, "nhead": 1, "dim_feedforward": 1, "num_layers": 1025})", nullptr,
       "nn.TransformerEncoder: option 'num_layers': expected at most 1024 layers"},
      {"TransformerBlock", R"({"k": 8, "d_v": 4})", nullptr,
       "nn.TransformerBlock: expected d_v = k, or unify: true, found d_v = 4"},
      {"TransformerBlock", R"({"k": 8, "heads": 3})", nullptr,
       "nn.TransformerBlock: expected d_q to be a multiple of the 3 heads, found 8"},
      {"Linear", R"({"in_features": 3, "out_features": 2})", "{}", "nn.Linear: expected an input, found none"},
      {"Linear", R"({"in_features": 3, "out_features": 2})", R"({"x": [3]})", "nn.Linear: unknown tensor 'x'"},
      {"Linear", R"({"in_features": 3, "out_features": 2})", R"({"input": [2]})",
       "nn.Linear: expected the input of shape [..., 3], found [2]"},
      {"Linear", R"({"in_features": 3, "out_features": 2})", R"({"input": []})",
       "nn.Linear: expected the input of shape [..., 3], found []"},
      {"Linear", R"({"in_features": 1, "out_features": 32768})", R"({"input": [32768, 1]})",
       "nn: a tensor of shape [32768, 32768] exceeds the limit of 2 GiB"},
      {"Embedding", R"({"num_embeddings": 1, "embedding_dim": 2})", R"({"input": [1]})",
       "nn.embedding: expected ids that are whole numbers below 1, found 1.000000 at index 0"},
      {"LayerNorm", R"({"normalized_shape": [3]})", R"({"input": [2]})",
       "nn.layer_norm: expected the input of a shape that ends in [3], found [2]"},
      {"BatchNorm1d", R"({"num_features": 3})", R"({"input": [3]})",
       "nn.BatchNorm1d: expected the input of a shape with 3 dimensions, found [3]"},
      {"BatchNorm2d", R"({"num_features": 3})", R"({"input": [2, 3]})",
       "nn.BatchNorm2d: expected the input of a shape with 4 dimensions, found [2, 3]"},
      {"InstanceNorm1d", R"({"num_features": 3})", R"({"input": [2, 3]})",
       "nn.InstanceNorm1d: expected the input of a shape with 3 dimensions, found [2, 3]"},
      {"InstanceNorm1d", R"({"num_features": 3})", R"({"input": [2, 4, 5]})",
       "nn.InstanceNorm1d: expected the input of shape [batch, 3, ...], found [2, 4, 5]"},
      {"SequencePooling", "{}", R"({"input": [2, 4], "key_padding_mask": [2, 4]})",
       "nn.pool_sequence: expected the input of shape [batch, seq, hidden], found [2, 4]"},
      {"PositionalEncoding", R"({"d_model": 4, "max_len": 2})", R"({"input": [3, 4]})",
       "nn.PositionalEncoding: expected at most max_len = 2 positions, found 3"},
      {"FeedForward", R"({"k": 4})", R"({"input": [3]})", "nn.Linear: expected the input of shape [..., 4], found [3]"},
      {"SelfAttention", R"({"k": 4})", R"({"input": [4]})",
       "nn.SelfAttention: expected the input of shape [batch, seq, 4], found [4]"},
      {"SelfAttention", R"({"k": 4})", R"({"input": [2, 3, 5]})",
       "nn.SelfAttention: expected the input of shape [batch, seq, 4], found [2, 3, 5]"},
      {"SelfAttention", R"({"k": 4})", R"({"input": [2, 3, 4], "key_padding_mask": [3, 2]})",
       "nn.SelfAttention: expected key_padding_mask of shape [2, 3], found [3, 2]"},
      {"SelfAttention", R"({"k": 4})", R"({"input": [2, 3, 4], "attn_mask": [4, 3]})",
       "nn.scaled_dot_product_attention: expected a mask or bias of a shape that can be broadcast to [2, 1, 3, 3], found [4, 3]"},
      {"CrossAttention", R"({"k": 4, "k_context": 3})", R"({"input": [2, 3, 4], "key": [2, 3, 4]})",
       "nn.CrossAttention: expected the context of shape [batch, seq, 3], found [2, 3, 4]"},
      {"CrossAttention", R"({"k": 4, "k_context": 3})", R"({"input": [2, 3, 4], "key": [1, 3, 3]})",
       "nn.CrossAttention: expected the context of shape [2, keys, ...], found [1, 3, 3]"},
      {"MultiheadAttention", R"({"embed_dim": 4, "num_heads": 2})", R"({"input": [2, 3]})",
       "nn.MultiheadAttention: expected query of shape [batch, seq, 4], found [2, 3]"},
      {"MultiheadAttention", R"({"embed_dim": 4, "num_heads": 2})", R"({"input": [2, 3, 4], "key": [1, 3, 4]})",
       "nn.MultiheadAttention: expected key and value of shape [2, 3, ...], found [1, 3, 4]"},
      {"MultiheadAttention", R"({"embed_dim": 4, "num_heads": 2})", R"({"input": [2, 3, 4], "key": [4]})",
       "nn.MultiheadAttention: expected key and value of shape [2, 0, ...], found [4]"},
      {"MultiheadAttention", R"({"embed_dim": 4, "num_heads": 2})", R"({"input": [2, 3, 4], "key": [2, 3, 4], "value": [2, 2, 4]})",
       "nn.MultiheadAttention: expected key and value of shape [2, 3, ...], found [2, 2, 4]"},
      {"MultiheadAttention", R"({"embed_dim": 4, "num_heads": 2})", R"({"input": [2, 3, 4], "key": [2, 3, 5]})",
       "nn.Linear: expected the input of shape [..., 4], found [2, 3, 5]"},
      {"MultiheadAttention", R"({"embed_dim": 4, "num_heads": 2})", R"({"input": [2, 3, 4], "key": [2, 3, 4], "value": [2, 3, 5]})",
       "nn.Linear: expected the input of shape [..., 4], found [2, 3, 5]"},
      {"TransformerEncoderLayer", R"({"d_model": 4, "nhead": 2})", R"({"input": [2, 3]})",
       "nn.TransformerEncoderLayer: expected the input of shape [batch, seq, 4], found [2, 3]"},
      {"TransformerEncoder", R"({"d_model": 4, "nhead": 2})", R"({"input": [4]})",
       "nn.TransformerEncoderLayer: expected the input of shape [batch, seq, 4], found [4]"},
      {"TransformerDecoderLayer", R"({"d_model": 4, "nhead": 2})", R"({"input": [2, 3, 3]})",
       "nn.TransformerDecoderLayer: expected the input of shape [batch, seq, 4], found [2, 3, 3]"},
      {"TransformerDecoderLayer", R"({"d_model": 4, "nhead": 2})", R"({"input": [2, 3, 4]})",
       "nn.TransformerDecoderLayer: expected memory (the encoder's output), found none"},
      {"TransformerDecoderLayer", R"({"d_model": 4, "nhead": 2})", R"({"input": [2, 3, 4], "memory": [1, 3, 4]})",
       "nn.MultiheadAttention: expected key and value of shape [2, 3, ...], found [1, 3, 4]"},
      {"Transformer", R"({"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1})", R"({"input": [2, 3, 4]})",
       "nn.Transformer: expected a source and a target, found no source"},
      {"Transformer", R"({"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1})",
       R"({"input": [2, 3, 4], "key": [2, 3, 5]})",
       "nn.TransformerEncoderLayer: expected the input of shape [batch, seq, 4], found [2, 3, 5]"},
      {"TransformerBlock", R"({"k": 4})", R"({"input": [2, 3]})",
       "nn.SelfAttention: expected the input of shape [batch, seq, 4], found [2, 3]"},
      {"SequenceClassifier", R"({"vocab_size": 3, "d_model": 4, "nhead": 2, "num_classes": 2})", R"({"input": [3]})",
       "nn.SequenceClassifier: expected ids of shape [batch, seq], found [3]"},
      {"SequenceClassifier", R"({"vocab_size": 1, "d_model": 4, "nhead": 2, "num_classes": 2})", R"({"input": [1, 3]})",
       "nn.embedding: expected ids that are whole numbers below 1, found 1.000000 at index 0"},
      {"SequenceClassifier", R"({"vocab_size": 3, "d_model": 4, "nhead": 2, "num_classes": 2})",
       R"({"input": [1, 3], "key_padding_mask": [3, 1]})",
       "nn.MultiheadAttention: expected key_padding_mask of shape [1, 3], found [3, 1]"},
      {"LanguageModel", R"({"vocab_size": 3, "d_model": 4, "nhead": 2})", R"({"input": [1, 0]})",
       "nn.LanguageModel: expected ids of shape [batch, seq], found [1, 0]"},
      {"LanguageModel", R"({"vocab_size": 3, "d_model": 4, "nhead": 2, "max_len": 2})", R"({"input": [1, 3]})",
       "nn.PositionalEncoding: expected at most max_len = 2 positions, found 3"},
      {"LanguageModel", R"({"vocab_size": 3, "d_model": 4, "nhead": 2})", R"({"input": [1, 3], "attn_mask": [2, 2]})",
       "nn.scaled_dot_product_attention: expected a mask or bias of a shape that can be broadcast to [1, 2, 3, 3], found [2, 2]"},
      {"EncoderDecoder", R"({"src_vocab_size": 3, "d_model": 4, "nhead": 2})", R"({"input": [3]})",
       "nn.EncoderDecoder: expected target ids of shape [batch, seq], found [3]"},
      {"EncoderDecoder", R"({"src_vocab_size": 3, "d_model": 4, "nhead": 2})", R"({"input": [1, 3]})",
       "nn.EncoderDecoder: expected source ids and target ids, found no source"},
      {"EncoderDecoder", R"({"src_vocab_size": 3, "d_model": 4, "nhead": 2})", R"({"input": [1, 3], "key": [3]})",
       "nn.EncoderDecoder: expected source ids of shape [batch, seq], found [3]"},
      {"EncoderDecoder", R"({"src_vocab_size": 1, "tgt_vocab_size": 3, "d_model": 4, "nhead": 2})",
       R"({"input": [1, 3], "key": [1, 3]})",
       "nn.embedding: expected ids that are whole numbers below 1, found 1.000000 at index 0"},
      {"EncoderDecoder", R"({"src_vocab_size": 3, "tgt_vocab_size": 1, "d_model": 4, "nhead": 2})",
       R"({"input": [1, 3], "key": [1, 3]})",
       "nn.embedding: expected ids that are whole numbers below 1, found 1.000000 at index 0"},
  };
  for (const auto& [type, options, tensors, error] : rows) {
    const auto module = make_module(type, to_options(std::string("nn.") + type, options));
    if (!tensors) {
      EXPECT_EQ(error_of(module), error);
      continue;
    }
    ASSERT_TRUE(module.ok()) << module.error().message;
    EXPECT_EQ(error_of(call_module(*module.value(), to_inputs(tensors), {}, nullptr, nullptr)), error);
  }
  const auto linear = make_module("Linear", to_options("nn.Linear", R"({"in_features": 3, "out_features": 2})")).value();
  EXPECT_EQ(
      error_of(call_module(*linear, to_inputs(R"({"input": [3]})"), to_options("nn.Linear", R"({"causal": 1})"), nullptr, nullptr)),
      "nn.Linear: unknown option 'causal'; known options: is_causal, need_weights, average_attn_weights");
  EXPECT_EQ(error_of(linear->load("weight", Tensor::of({1}, {1}))),
            "nn.Linear.load_state_dict: expected 'weight' of shape [2, 3], found [1]");
  EXPECT_EQ(error_of(linear->load("w", Tensor::of({1}, {1}))), "nn.Linear.load_state_dict: unknown parameter 'w'");
  EXPECT_EQ(error_of((*linear)(Tensor::of({1}, {1}))), "nn.Linear: expected the input of shape [..., 3], found [1]");
  const auto sequential = make_module("Sequential", Options("nn.Sequential"), {linear, linear});
  EXPECT_EQ(error_of(call_module(*sequential.value(), to_inputs(R"({"input": [3]})"), {}, nullptr, nullptr)),
            "nn.Linear: expected the input of shape [..., 3], found [2]");
}

Tensor random_tensor(const Shape& dims, std::uint64_t seed) {
  Generator random(seed);
  Tensor out = std::move(Tensor::zeros(dims)).value();
  for (float& x : out.data) x = static_cast<float>(random.uniform(-2, 2));
  return out;
}

ModulePtr made(const std::string& type, const char* options, std::vector<ModulePtr> parts = {}) {
  auto module = make_module(type, to_options("nn." + type, options), std::move(parts));
  EXPECT_TRUE(module.ok()) << error_of(module);
  return std::move(module).value();
}

TEST(NnModules, OfOneFunctionGiveItsNumbers) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const std::pair<const char*, Activation> rows[] = {
      {"ReLU", Activation::kRelu}, {"GELU", Activation::kGelu},       {"SiLU", Activation::kSilu},
      {"Tanh", Activation::kTanh}, {"Sigmoid", Activation::kSigmoid}, {"Identity", Activation::kNone},
  };
  for (const auto& [type, activation] : rows) EXPECT_EQ((*made(type, "{}"))(x).value().data, activate(x, activation).data) << type;
  EXPECT_EQ((*made("Dropout", R"({"p": 0.9})"))(x).value().data, x.data);
  EXPECT_EQ((*made("Flatten", "{}"))(x).value().dims, (Shape{2, 12}));
  EXPECT_EQ((*made("Flatten", "{}"))(Tensor::of({3}, {1, 2, 3})).value().dims, Shape{3});
  EXPECT_EQ((*made("Flatten", "{}"))(Tensor{{0, 3}, {}}).value().dims, (Shape{0, 0}));
  EXPECT_EQ((*made("BatchNorm1d", R"({"num_features": 3, "eps": 0})"))(random_tensor({2, 3}, 2)).value().data,
            random_tensor({2, 3}, 2).data);  // means 0, variances 1
  const Tensor pooled = pool_sequence(x, "max", nullptr).value();
  EXPECT_EQ((*made("SequencePooling", R"({"mode": "max"})"))(x).value().data, pooled.data);
  Inputs masked;  // true, or -inf, leaves a token out
  masked.emplace_back("input", x);
  masked.emplace_back("key_padding_mask", Tensor::of({2, 3}, {0, 0, -kInfinity, -kInfinity, 0, 0}));
  const Tensor kept = Tensor::of({2, 3}, {1, 1, 0, 0, 1, 1});
  Inputs alone;
  alone.emplace_back("input", x);
  const ModulePtr attention = made("MultiheadAttention", R"({"embed_dim": 4, "num_heads": 2})");
  EXPECT_TRUE(call_module(*attention, alone, {}, nullptr, nullptr).value().weights.data.empty());  // not requested
  const auto mean = call_module(*made("SequencePooling", "{}"), masked, {}, nullptr, nullptr);
  EXPECT_EQ(mean.value().output.data, pool_sequence(x, "mean", &kept).value().data);
}

TEST(NnModules, PositionsOfEveryKind) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const auto plus = [&](const Tensor& table) { return add(x, table).value().data; };
  EXPECT_EQ((*made("PositionalEncoding", R"({"d_model": 4})"))(x).value().data,
            plus(sinusoidal(3, 4, SinusoidalForm::kVaswani, 10000).value()));
  EXPECT_EQ((*made("PositionalEncoding", R"({"d_model": 4, "kind": "notes", "base": 100})"))(x).value().data,
            plus(sinusoidal(3, 4, SinusoidalForm::kNotes, 100).value()));
  EXPECT_EQ((*made("PositionalEncoding", R"({"d_model": 4, "kind": "none"})"))(x).value().data, x.data);
  const ModulePtr learned = made("PositionalEncoding", R"({"d_model": 4, "kind": "learned", "max_len": 3})");
  EXPECT_EQ((*learned)(x).value().data, plus(learned->state()[0].parameter->value()));
  KeyValueCache cache;
  cache.length = 2;
  Arguments later;
  const Tensor row = Tensor::of({1, 1, 4}, {0, 0, 0, 0});
  later.input = &row;
  later.cache = &cache;
  EXPECT_EQ(learned->forward(later).value().output.data,
            std::vector<float>(learned->state()[0].parameter->value().at(8), learned->state()[0].parameter->value().at(12)));
}

TEST(NnModules, ComposeTheirParts) {
  const Tensor x = random_tensor({2, 3}, 3);
  const ModulePtr first = made("Linear", R"({"in_features": 3, "out_features": 4, "seed": 1})"), relu = made("ReLU", "{}"),
                  last = made("Linear", R"({"in_features": 4, "out_features": 2, "seed": 2})");
  const ModulePtr all = made("Sequential", "{}", {first, relu, last});
  const Tensor want = (*last)((*relu)((*first)(x).value()).value()).value();
  EXPECT_EQ((*all)(x).value().data, want.data);
  ASSERT_EQ(all->state().size(), 4U);
  EXPECT_EQ(all->state()[2].name, "2.weight");
  // A changed parameter is used from the next call on.
  ASSERT_TRUE(all->load("2.weight", Tensor::of({2, 4}, std::vector<float>(8))).ok());
  const Tensor bias = last->state()[1].parameter->value();
  EXPECT_EQ((*all)(x).value().data, (std::vector<float>{bias.data[0], bias.data[1], bias.data[0], bias.data[1]}));
  const std::pair<const char*, Activation> rows[] = {{R"({"k": 3, "n_mlp": 2})", Activation::kRelu},
                                                     {R"({"k": 3, "n_mlp": 2, "activation": "gelu"})", Activation::kGelu},
                                                     {R"({"k": 3, "n_mlp": 2, "activation": "gelu_tanh"})", Activation::kGeluTanh},
                                                     {R"({"k": 3, "n_mlp": 2, "activation": "silu"})", Activation::kSilu}};
  for (const auto& [options, activation] : rows) {
    const ModulePtr feed = made("FeedForward", options);
    const auto value = [&](std::size_t i) { return feed->state()[i].parameter->value(); };
    const Tensor bias1 = value(1), bias2 = value(3);
    const Tensor wide = activate(linear(x, value(0), &bias1).value(), activation);
    const Tensor out = linear(wide, value(2), &bias2).value(), got = (*feed)(x).value();
    ASSERT_EQ(got.dims, out.dims);
    for (std::size_t i = 0; i < got.data.size(); ++i) EXPECT_NEAR(got.data[i], out.data[i], 1e-5) << options;
  }
}

TEST(NnModules, ScoresMayStayUnscaled) {
  const Tensor x = random_tensor({1, 4, 3}, 5);
  const ModulePtr attention = made("SelfAttention", R"({"k": 3, "scaled": false})");
  const auto value = [&](std::size_t i) { return attention->state()[i].parameter->value(); };
  const auto by = [&](std::size_t i) { return linear(x, value(i), nullptr).value(); };
  const auto want = scaled_dot_product_attention(by(0), by(1), by(2), {}, 1.0f);
  const Tensor got = (*attention)(x).value();
  for (std::size_t i = 0; i < got.data.size(); ++i) EXPECT_NEAR(got.data[i], want.value().output.data[i], 1e-6);
  // Rows of one sequence without a batch give the same.
  EXPECT_EQ((*attention)(Tensor::of({4, 3}, x.data)).value().data, got.data);
}

TEST(NnTracer, CountsWhatTorchinfoCounts) {
  const ModulePtr model = made("Sequential", "{}",
                               {made("Linear", R"({"in_features": 3, "out_features": 4})"), made("ReLU", "{}"),
                                made("BatchNorm1d", R"({"num_features": 4})"), made("MaxPool2d", R"({"kernel_size": [1, 2]})")});
  for (const bool keep : {false, true}) {
    Tracer tracer(keep);
    const auto out = call_module(*model, to_inputs(R"({"input": [2, 3]})"), {}, nullptr, &tracer);
    ASSERT_TRUE(out.ok()) << out.error().message;
    const auto& rows = tracer.rows();
    ASSERT_EQ(rows.size(), 5U);
    const struct {
      const char *name, *type;
      int depth;
      Shape input, output, kernel;
      std::int64_t parameters, mult_adds;
    } want[] = {{"Sequential", "Sequential", 0, {2, 3}, {2, 2}, {}, 24, 0},
                {"0", "Linear", 1, {2, 3}, {2, 4}, {4, 3}, 16, 32},
                {"1", "ReLU", 1, {2, 4}, {2, 4}, {}, 0, 0},
                {"2", "BatchNorm1d", 1, {2, 4}, {2, 4}, {4}, 8, 16},
                {"3", "MaxPool2d", 1, {2, 4}, {2, 2}, {1, 2}, 0, 0}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].name, want[i].name);
      EXPECT_EQ(rows[i].type, want[i].type);
      EXPECT_EQ(rows[i].depth, want[i].depth);
      EXPECT_EQ(rows[i].input, want[i].input);
      EXPECT_EQ(rows[i].output, want[i].output);
      EXPECT_EQ(rows[i].kernel, want[i].kernel);
      EXPECT_EQ(rows[i].parameters, want[i].parameters);
      EXPECT_EQ(rows[i].own_parameters, i == 0 ? 0 : want[i].parameters);
      EXPECT_EQ(rows[i].mult_adds, want[i].mult_adds);
      EXPECT_EQ(rows[i].macs, i < 2 ? 2 * 3 * 4 : 0);
      EXPECT_EQ(rows[i].is_leaf, i != 0);
      EXPECT_EQ(rows[i].outputs.output.dims, keep ? want[i].output : Shape{});
    }
  }
  // Weights of attention count for each token; tied ones and those of a module without output once or not at all.
  Tracer tracer(false);
  const ModulePtr attention = made("SelfAttention", R"({"k": 2, "max_distance": 1, "relative": "bias"})");
  ASSERT_TRUE(call_module(*attention, to_inputs(R"({"input": [2, 3, 2]})"), {}, nullptr, &tracer).ok());
  EXPECT_EQ(tracer.rows()[0].parameters, 3 * 4 + 3);
  EXPECT_EQ(tracer.rows()[0].own_parameters, 3);
  EXPECT_EQ(tracer.rows()[1].mult_adds, 2 * 4);
  EXPECT_EQ(tracer.rows()[1].macs, 2 * 3 * 4);
  EXPECT_EQ(tracer.rows()[0].macs, 3 * 2 * 3 * 4 + 2 * 3 * 3 * (2 + 2));  // q, k, v; scores and the sum over values
}

TEST(NnCache, KeepsToItsBatch) {
  const ModulePtr attention = made("SelfAttention", R"({"k": 4, "heads": 2, "causal": true})");
  const auto cross = made("CrossAttention", R"({"k": 4, "heads": 2})");
  KeyValueCache cache;
  // More tokens than the first room, in steps of several lengths, are those of one call.
  const Tensor x = random_tensor({1, 40, 4}, 7);
  const std::vector<float> whole = (*attention)(x).value().data;
  std::vector<float> steps;
  for (std::int64_t at = 0, length = 1; at < 40; at += length, length = std::min<std::int64_t>(7, 40 - at)) {
    Inputs inputs;
    inputs.emplace_back("input", Tensor::of({1, length, 4}, {x.at(at * 4), x.at((at + length) * 4)}));
    const auto out = call_module(*attention, inputs, {}, &cache, nullptr);
    ASSERT_TRUE(out.ok()) << out.error().message;
    steps.insert(steps.end(), out.value().output.data.begin(), out.value().output.data.end());
  }
  EXPECT_EQ(steps, whole);
  EXPECT_EQ(cache.length, 40);
  EXPECT_EQ(error_of(call_module(*attention, to_inputs(R"({"input": [2, 1, 4]})"), {}, &cache, nullptr)),
            "nn: expected a batch of 1 as in the cache, found 2");
  ASSERT_TRUE(call_module(*cross, to_inputs(R"({"input": [1, 1, 4], "key": [1, 5, 4]})"), {}, &cache, nullptr).ok());
  EXPECT_EQ(error_of(call_module(*cross, to_inputs(R"({"input": [2, 1, 4], "key": [2, 5, 4]})"), {}, &cache, nullptr)),
            "nn: expected a batch of 1 as in the cache, found 2");
  for (const std::int64_t example : {-1, 1}) {
    EXPECT_EQ(error_of(cache.reorder({0, example})),
              "nn: expected examples below 1 of the cache, found " + std::to_string(example));
  }
}

TEST(NnGenerate, RejectsInvalidRequests) {
  const ModulePtr model =
      made("LanguageModel", R"({"vocab_size": 5, "d_model": 4, "nhead": 1, "max_len": 6, "tie_weights": false})");
  const ModulePtr both = made("EncoderDecoder", R"({"src_vocab_size": 5, "d_model": 4, "nhead": 1, "max_len": 6})");
  const Tensor source = Tensor::of({1, 2}, {1, 2}), two = Tensor::of({2, 1}, {1, 2}), flat = Tensor::of({2}, {1, 2}),
               wrong = Tensor::of({1, 1}, {5});
  const struct {
    const ModulePtr& model;
    std::vector<std::int32_t> prompt;
    const Tensor* source;
    const char* options;
    const char* error;
  } rows[] = {
      {model, {}, nullptr, "{}", "nn.generate: expected a prompt of at least one token, found none"},
      {model, {1}, &source, "{}", "nn.generate: expected no source for this model, found one"},
      {both, {1}, nullptr, "{}", "nn.generate: expected a source, found none"},
      {both, {1}, &two, "{}", "nn.generate: expected source of shape [1, seq], found [2, 1]"},
      {both, {1}, &flat, "{}", "nn.generate: expected source of shape [1, seq], found [2]"},
      {both,
       {1},
       &wrong,
       R"({"max_new_tokens": 2})",
       "nn.embedding: expected ids that are whole numbers below 5, found 5.000000 at index 0"},
      {model,
       {1, 2},
       nullptr,
       R"({"max_new_tokens": 6})",
       "nn.generate: expected a prompt and max_new_tokens of at most max_len = 6 tokens, found 8"},
      {model,
       {5},
       nullptr,
       R"({"max_new_tokens": 2})",
       "nn.embedding: expected ids that are whole numbers below 5, found 5.000000 at index 0"},
      {both,
       {5},
       &source,
       R"({"max_new_tokens": 2})",
       "nn.embedding: expected ids that are whole numbers below 5, found 5.000000 at index 0"},
      {model,
       {1},
       nullptr,
       R"({"max_new_tokens": 2, "num_beams": 65})",
       "generate: option 'num_beams': expected a whole number from 1 to 64, found 65"},
      {model, {1}, nullptr, R"({"max_new_tokens": 0})", "nn: option 'max_new_tokens': expected a whole number from 1 on, found 0"},
  };
  for (const auto& [module, prompt, from, asked, error] : rows) {
    Options options = to_options("nn", asked);
    const auto read = read_generate_options(options);
    EXPECT_EQ(error_of(read.ok() ? generate(*module->generative(), prompt, from, read.value()) : read.error()), error);
  }
  EXPECT_EQ(error_of(model->generative()->encode(source, nullptr)), "nn.LanguageModel: expected no source, as there is no encoder");
  EXPECT_EQ(made("ReLU", "{}")->generative(), nullptr);
  ASSERT_TRUE(model->load("head.weight", Tensor::of({5, 4}, std::vector<float>(20, kInfinity))).ok());
  EXPECT_NE(error_of(generate(*model->generative(), {1}, nullptr, {{.max_new_tokens = 1}})).find("logits are not finite"),
            std::string::npos);
}

// Greedy generation takes the likeliest token of each forward; with and without a cache, and by beams, which see all sources.
TEST(NnGenerate, FollowsTheForwardsOfAnEncoderDecoder) {
  const ModulePtr model =
      made("EncoderDecoder",
           R"({"src_vocab_size": 7, "tgt_vocab_size": 9, "d_model": 8, "nhead": 2, "dim_feedforward": 16, "seed": 3})");
  const Tensor source = Tensor::of({1, 4}, {6, 1, 3, 2});
  std::vector<std::int32_t> want{1};
  for (int i = 0; i < 8; ++i) {
    Inputs inputs;
    inputs.emplace_back("input", Tensor::of({1, static_cast<std::int64_t>(want.size())}, {want.begin(), want.end()}));
    inputs.emplace_back("key", source);
    const auto out = call_module(*model, inputs, {}, nullptr, nullptr);
    ASSERT_TRUE(out.ok()) << out.error().message;
    const auto last = out.value().output.data.end() - 9;
    want.push_back(static_cast<std::int32_t>(std::max_element(last, last + 9) - last));
  }
  std::vector<std::int32_t> beams;
  for (const bool use_cache : {true, false}) {
    GenerateOptions options;
    options.max_new_tokens = 8;
    options.use_cache = use_cache;
    EXPECT_EQ(generate(*model->generative(), {1}, &source, options).value(), want);
    options.num_beams = 3;
    const auto found = generate(*model->generative(), {1}, &source, options).value();
    EXPECT_TRUE(beams.empty() || beams == found);
    beams = found;
  }
  // Ids below 0 end nothing; forced ones come.
  Options asked =
      to_options("nn", R"({"max_new_tokens": 3, "eos_token_id": [-1], "forced_bos_token_id": 4, "forced_eos_token_id": 5,
    "early_stopping": true})");
  const auto ids = generate(*model->generative(), {1}, &source, read_generate_options(asked).value()).value();
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_EQ(ids[1], 4);
  EXPECT_EQ(ids[3], 5);
}

}  // namespace
}  // namespace wattn::nn
