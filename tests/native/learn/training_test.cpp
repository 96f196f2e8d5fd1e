// Forward, loss, backward, clipping and AdamW together, over all weights and by LoRA, against the losses of torch
// (tests/goldens/training).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "learn/lora.h"
#include "learn/optim.h"
#include "native/support/goldens.h"
#include "native/support/transformers.h"
#include "ops/losses.h"
#include "ops/pooling.h"
#include "pass/training.h"

namespace wattn {
namespace {

using Floats = std::vector<float>;

constexpr PoolingMode kMean[] = {PoolingMode::kMean};

// Training so that the means of the sequences' vectors become the targets.
struct Training {
  Json json;
  Transformer model = std::move(test::load_transformer(test::golden("bert-tiny/model/"), exact_kernels())).value();
  Transformer gradients =
      std::move(Transformer::with_config(model.config(), model.positions(), exact_kernels(), WeightType::kF32)).value();
  ThreadTeam team;
  Batch batch;
  Floats targets;

  explicit Training(const std::string& name) : json(test::read_json("training/" + name + ".json")) {
    for (std::size_t i = 0; i < json.root()["input_ids"].size(); ++i) {
      const auto ids = test::to_ids(json.root()["input_ids"][i]);
      batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
      append(json.root()["targets"][i], targets);
    }
  }
  static void append(JsonRef row, Floats& out) {
    for (std::size_t j = 0; j < row.size(); ++j) out.push_back(static_cast<float>(row[j].as_number().value()));
  }

  // The loss; sets the gradients.
  double run(const BackwardScope& scope, const TapeOptions& options = {}) {
    const std::int64_t hidden = model.config().hidden_size, tokens = batch.tokens();
    Floats tape(static_cast<std::size_t>(tape_size(model.training_plan(), tokens))),
        states(static_cast<std::size_t>(tokens * hidden));
    Floats vectors(targets.size()), d_vectors(targets.size()), d_states(states.size());
    Arena arena =
        Arena::with_bytes(backward_bytes(model.training_plan(), {tokens, batch.longest()}, options, scope), "test").value();
    training_forward(model.training_plan(), model.compute(team), batch, tape.data(), states.data(), arena, options);
    const auto at = [&](std::int64_t i) { return batch.seq_start[static_cast<std::size_t>(i)] * hidden; };
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      pool(model.kernels(), kMean, states.data() + at(i), batch.length(i), hidden, 0, vectors.data() + i * hidden);
    }
    const double loss = mse_loss({vectors.data(), batch.batch(), hidden}, targets.data(), Reduction::kMean, d_vectors.data());
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      pool_backward(model.kernels(), kMean, states.data() + at(i), batch.length(i), hidden, 0, d_vectors.data() + i * hidden,
                    d_states.data() + at(i));
    }
    const std::span<float> d_weights = gradients.weights_f32();
    std::fill(d_weights.begin(), d_weights.end(), 0.0f);
    arena.reset();
    backward(model.training_plan(), model.compute(team), batch, tape.data(), d_states.data(), arena, &gradients.training_plan(),
             scope, options);
    return loss;
  }

  // step(number, from 1) gives the loss before it.
  template <class Step>
  void expect_losses(const Step& step) {
    const JsonRef single = json.root()["losses"], exact = json.root()["losses_in_double"];
    for (std::size_t i = 0; i < single.size(); ++i) {
      const double loss = step(static_cast<std::int64_t>(i) + 1), expected = exact[i].as_number().value();
      // Torch's own float32 goes astray as its steps accumulate; ours may go four times as far, or 1e-5, and 1e-4 after 20 steps.
      const double torch = std::abs(single[i].as_number().value() - expected);
      EXPECT_NEAR(loss, expected, std::max(4 * torch, (i < 20 ? 1e-5 : 1e-4) * expected)) << "step " << i;
    }
    EXPECT_LT(exact[single.size() - 1].as_number().value(), 0.5 * exact[0].as_number().value());
  }
};

TEST(Training, FollowsTorchsLosses) {
  Training training("bert");
  Floats first(training.model.weights_f32().size()), second = first;
  training.expect_losses([&](std::int64_t number) {
    const double loss = training.run({});
    const std::span<float> d_weights = training.gradients.weights_f32();
    const std::span<float> all[] = {d_weights};
    clip_grad_norm(all, 1.0);
    adam_step({.lr = 2e-3f, .decoupled = true}, number, training.model.weights_f32(), d_weights.data(), first.data(),
              second.data());
    return loss;
  });
}

class LoraTraining : public testing::TestWithParam<bool> {};

TEST_P(LoraTraining, FollowsTorchsLosses) {
  const bool use_dora = GetParam();
  Training training(use_dora ? "bert-dora" : "bert-lora");
  const TransformerConfig& config = training.model.config();
  Generator generator(1);
  LoraSet lora;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (const std::int64_t first : {std::int64_t{0}, config.query_width() + config.kv_width()}) {  // query and value
      lora.add({training.model.layer_at(layer).qkv, first, config.query_width()}, {.r = 4, .lora_alpha = 6, .use_dora = use_dora},
               generator);
    }
  }
  ASSERT_TRUE(lora.begin().ok());
  std::vector<Floats> d, first, second;  // A, B and the magnitudes of each matrix
  for (LoraMatrix& matrix : lora.matrices()) {
    Floats start;
    const JsonRef rows = training.json.root()["a"][d.size() / 3];
    for (std::size_t k = 0; k < rows.size(); ++k) Training::append(rows[k], start);
    const std::span<float> a = matrix.a();
    ASSERT_EQ(start.size(), a.size());
    const float bound = 1 / std::sqrt(static_cast<float>(config.hidden_size));
    EXPECT_TRUE(std::all_of(a.begin(), a.end(), [&](float x) { return std::abs(x) <= bound; }));
    std::copy(start.begin(), start.end(), a.begin());
    for (const std::size_t size : {matrix.a().size(), matrix.b().size(), matrix.magnitude().size()}) d.emplace_back(size);
  }
  const Floats before(training.model.weights_f32().begin(), training.model.weights_f32().end());
  first = second = d;
  training.expect_losses([&](std::int64_t number) {
    lora.merge();
    lora.clear_gradients();
    const double loss = training.run({.embeddings = false, .layers = false}, {.lora = lora.factors()});
    std::vector<std::span<float>> all(d.begin(), d.end());
    for (std::size_t i = 0; i < d.size() / 3; ++i) lora.read_gradients(i, d[3 * i], d[3 * i + 1], d[3 * i + 2]);
    clip_grad_norm(all, 1.0);
    for (std::size_t i = 0; i < d.size(); ++i) {
      LoraMatrix& matrix = lora.matrices()[i / 3];
      const std::span<float> parameter = i % 3 == 0 ? matrix.a() : i % 3 == 1 ? matrix.b() : matrix.magnitude();
      adam_step({.lr = 2e-2f, .decoupled = true}, number, parameter, d[i].data(), first[i].data(), second[i].data());
    }
    return loss;
  });
  for (const LoraMatrix& matrix : lora.matrices()) matrix.unmerge();
  EXPECT_TRUE(std::equal(before.begin(), before.end(), training.model.weights_f32().begin()));
}
INSTANTIATE_TEST_SUITE_P(, LoraTraining, testing::Bool(), [](const auto& test) { return test.param ? "ByDora" : "ByLora"; });

}  // namespace
}  // namespace wattn
