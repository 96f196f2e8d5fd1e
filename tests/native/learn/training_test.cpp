// Forward, loss, backward, clipping and AdamW together, against the losses of torch (tests/goldens/training).
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "learn/optim.h"
#include "models/transformer_backward.h"
#include "native/support/goldens.h"
#include "native/support/transformers.h"
#include "ops/losses.h"
#include "ops/pooling.h"

namespace wattn {
namespace {

using Floats = std::vector<float>;

constexpr PoolingMode kMean[] = {PoolingMode::kMean};

// Trains all weights so that the means of the sequences' vectors become the targets.
struct Training {
  Transformer model = std::move(test::load_transformer(test::golden("bert-tiny/model/"), exact_kernels())).value();
  Transformer gradients =
      std::move(Transformer::with_config(model.config(), model.positions(), exact_kernels(), WeightType::kF32)).value();
  ThreadTeam team;
  Batch batch;
  Floats targets, first = Floats(model.weights_f32().size()), second = first;

  double step(std::int64_t number) {
    const std::int64_t hidden = model.config().hidden_size, tokens = batch.tokens();
    Floats tape(static_cast<std::size_t>(tape_size(model.config(), tokens))), states(static_cast<std::size_t>(tokens * hidden));
    Floats vectors(targets.size()), d_vectors(targets.size()), d_states(states.size());
    Arena arena = Arena::with_bytes(model.forward_bytes(tokens, tokens, true, 1), "test").value();
    model.forward(team, batch, {}, arena, states.data(), nullptr, tape.data());
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
    Arena backward_arena = Arena::with_bytes(backward_bytes(model, tokens, tokens, 1), "test").value();
    backward(model, team, batch, tape.data(), d_states.data(), backward_arena, gradients);
    const std::span<float> all[] = {d_weights};
    clip_grad_norm(all, 1.0);
    adam_step({.lr = 2e-3f, .decoupled = true}, number, model.weights_f32(), d_weights.data(), first.data(), second.data());
    return loss;
  }
};

TEST(Training, FollowsTorchsLosses) {
  const Json json = test::read_json("training/bert.json");
  Training training;
  for (std::size_t i = 0; i < json.root()["input_ids"].size(); ++i) {
    const auto ids = test::to_ids(json.root()["input_ids"][i]);
    training.batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
    const JsonRef row = json.root()["targets"][i];
    for (std::size_t j = 0; j < row.size(); ++j) training.targets.push_back(static_cast<float>(row[j].as_number().value()));
  }
  const JsonRef single = json.root()["losses"], exact = json.root()["losses_in_double"];
  for (std::size_t i = 0; i < single.size(); ++i) {
    const double loss = training.step(static_cast<std::int64_t>(i) + 1), expected = exact[i].as_number().value();
    // Torch's own float32 goes astray as its steps accumulate; ours may go four times as far, or 1e-5.
    const double torch = std::abs(single[i].as_number().value() - expected);
    EXPECT_NEAR(loss, expected, std::max(4 * torch, 1e-5 * expected)) << "step " << i;
  }
  EXPECT_LT(exact[single.size() - 1].as_number().value(), 0.5 * exact[0].as_number().value());
}

}  // namespace
}  // namespace wattn
