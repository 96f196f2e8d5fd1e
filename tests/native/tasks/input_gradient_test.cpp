// input_gradient() over every architecture, against differences of forward(). tests/web/insight.test.ts compares it with torch.
#include "tasks/input_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/heads_backward.h"
#include "native/support/goldens.h"
#include "native/support/models.h"
#include "native/support/transformers.h"
#include "tasks/forward.h"

namespace wattn {
namespace {

using test::golden;

std::unique_ptr<Model> load(const std::string& folder, HeadKind head = HeadKind::kNone) {
  return test::load_with_words(golden(folder), {.head = head});
}

// A sum of outputs with these factors, which is linear in them.
struct Sum {
  std::vector<float> hidden{}, logits{};
  std::int64_t token = 0;

  double of(const ForwardOutputs& out, bool per_token) const {
    double sum = 0;
    for (std::size_t k = 0; k < hidden.size(); ++k) sum += static_cast<double>(hidden[k]) * out.last_hidden_state[k];
    const std::size_t row = per_token ? static_cast<std::size_t>(token) * logits.size() : 0;
    for (std::size_t k = 0; k < logits.size(); ++k) sum += static_cast<double>(logits[k]) * out.logits[row + k];
    return sum;
  }
};

std::vector<float> factors(std::size_t size, int seed) {
  std::vector<float> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1.7 + seed));
  return out;
}

void compare(Model& model, const Sum& sum, bool per_token) {
  const std::vector<std::int32_t> ids{2, 4, 9, 7, 11, 6};
  Batch batch;
  batch.add_sequence(ids, std::vector<std::int32_t>(ids.size(), 0));
  ForwardRequest request{.output_hidden_states = true};
  const auto before = forward(model, batch, request);
  ASSERT_TRUE(before.ok()) << before.error().message;
  const std::vector<float>& own = before.value().hidden_states.front();
  const OutputGradient given{.hidden = sum.hidden, .logits = sum.logits, .token = sum.token};
  EXPECT_EQ(input_gradient(model, batch, {}, given).value(), input_gradient(model, batch, own, given).value()) << "its own, given";
  // Elsewhere than at its own, so that those that are given count.
  std::vector<float> at = own;
  for (std::size_t k = 0; k < at.size(); ++k) at[k] *= k % 3 == 0 ? 1.25f : 1.0f;
  const auto found = input_gradient(model, batch, at, given);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found.value().size(), at.size());
  const std::vector<float> way = factors(at.size(), 3);
  double expected = 0, length = 0, size = 0;
  for (std::size_t k = 0; k < way.size(); ++k) {
    expected += static_cast<double>(way[k]) * found.value()[k];
    length += static_cast<double>(found.value()[k]) * found.value()[k];
    size += static_cast<double>(at[k]) * at[k];
  }
  ASSERT_GT(length, 0);
  const double step = 2e-3 * std::sqrt(size / static_cast<double>(at.size()));
  const auto moved = [&](double by) {
    std::vector<float> values = at;
    for (std::size_t k = 0; k < way.size(); ++k) values[k] += static_cast<float>(by * way[k]);
    request.patches = {{"embeddings.output", values}};
    return sum.of(forward(model, batch, request).value(), per_token);
  };
  const double slope = (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step);
  // Rounding in float32 divided by the step.
  const double noise = 2e-6 * std::abs(moved(0)) / step;
  EXPECT_NEAR(expected, slope, 2e-2 * std::sqrt(length) + noise);
}

TEST(InputGradient, EqualsDifferencesInEveryArchitecture) {
  int count = 0;
  for (const std::string group : {"architectures/", "variants/encoders/", "decoders/", "variants/decoders/"}) {
    for (const std::string& name : test::case_names(group)) {
      // In groups, or without a derivative.
      if (name == "squeezebert" || name == "convbert-groups" || name.starts_with("qwen3-5")) continue;
      if (name == "ernie" || name == "mobilebert") continue;  // ReLU: the points of a difference lie on both sides of its kinks
      SCOPED_TRACE(group + name);
      const auto model = load(group + name);
      const auto hidden = static_cast<std::size_t>(model->transformer().config().hidden_size);
      compare(*model, {.hidden = factors(6 * hidden, 1)}, false);
      ++count;
    }
  }
  EXPECT_GT(count, 60);
}

TEST(InputGradient, GoesThroughTheHeadOfALanguageModel) {
  for (const std::string folder : {"decoders/gpt2", "decoders/llama", "decoders/gemma2", "variants/decoders/phi"}) {
    SCOPED_TRACE(folder);
    const auto model = load(folder, HeadKind::kCausalLm);
    const auto vocab = static_cast<std::size_t>(model->generator().config().vocab_size);
    for (const std::int64_t token : {0, 3, 5}) compare(*model, {.logits = factors(vocab, 2), .token = token}, true);
  }
}

TEST(InputGradient, GoesThroughTheHeadOfTextsWhateverItReads) {
  for (const HeadInput input : {HeadInput::kFirst, HeadInput::kMean, HeadInput::kEach, HeadInput::kLast}) {
    SCOPED_TRACE(static_cast<int>(input));
    const auto model = load("bert-tiny/model");
    const std::int64_t hidden = model->transformer().config().hidden_size;
    const HeadLayers layers{.dense = "dense", .activation = Activation::kTanh, .output = "output", .input = input};
    auto head = Head::with_layers(layers, {.hidden = hidden, .width = hidden, .labels = 3}, model->kernels());
    ASSERT_TRUE(head.ok());
    init_head(head.value(), 7);
    model->set_head(std::move(head).value(), HeadKind::kSequence);
    compare(*model, {.logits = {1.0f, -0.5f, 2.0f}}, false);
  }
}

TEST(InputGradient, RefusesWhatDoesNotFit) {
  const auto model = load("bert-tiny/model");
  Batch batch;
  batch.add_sequence(std::vector<std::int32_t>{2, 5, 3}, std::vector<std::int32_t>(3, 0));
  const std::vector<float> some(31);
  const auto message = [&](Model& of, const Batch& text, std::span<const float> embeddings, const OutputGradient& given) {
    const auto found = input_gradient(of, text, embeddings, given);
    return found.ok() ? std::string() : found.error().message;
  };
  EXPECT_EQ(message(*model, batch, some, {}), "gradient: expected 96 numbers (a vector for each token), found another count");
  EXPECT_EQ(message(*model, batch, {}, {.hidden = some}),
            "gradient: expected 96 numbers (a vector for each token), found another count");
  EXPECT_EQ(message(*model, batch, {}, {.logits = some}), "gradient: expected 0 logits for one of 3 tokens, found 31 for token 0");
  EXPECT_EQ(message(*model, {}, {}, {}), "gradient: expected one text of 1 to 64 tokens, found 0");
  batch.input_ids[1] = 1 << 30;
  EXPECT_NE(message(*model, batch, {}, {}).find("input_ids"), std::string::npos);
  const auto groups = load("variants/encoders/squeezebert");
  batch.input_ids[1] = 5;
  EXPECT_EQ(input_gradient(*groups, batch, {}, {}).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace wattn
