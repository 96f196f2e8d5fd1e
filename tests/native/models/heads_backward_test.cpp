// The gradients of the heads of each family against torch's in double precision (tests/goldens/heads/gradients.json).
#include "models/heads_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "native/support/goldens.h"
#include "native/support/heads.h"
#include "native/support/team.h"

namespace wattn {
namespace {

using test::HeadCase;
using Floats = std::vector<float>;

struct Gradients {
  Floats rows, words, weights;
  bool operator==(const Gradients&) const = default;
};

Head zeros_like(const Head& head) {
  HeadShape shape = head.shape();
  shape.type = WeightType::kF32;
  return std::move(Head::with_layers(head.layers(), shape, exact_kernels())).value();
}

// From d_logits of what the case's logits are: the mean's, where it is the mean of all rows.
Gradients run(const HeadCase& one, ThreadTeam& team, const Floats& d_out, const Head* gradients, bool wants_rows = true,
              const HeadDropout& dropout = {}) {
  const ThreadTeam::Awake awake(team);
  const Kernels& kernels = exact_kernels();
  const HeadReading reading{one.input()};
  const Batch batch = one.batch();
  Floats rows, d_logits = d_out;
  std::vector<std::int32_t> counts;
  head_rows(kernels, reading, batch, one.rows.data(), HeadCase::kHidden, rows, counts);
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / HeadCase::kHidden, labels = one.head.labels();
  if (one.averages()) {
    d_logits.resize(static_cast<std::size_t>(count * labels));
    average_logits_backward(kernels, counts, labels, d_out.data(), d_logits.data());
  }
  Gradients out{Floats(one.rows.size()), Floats(static_cast<std::size_t>(one.words.table.rows * one.words.table.hidden)), {}};
  Floats d_rows(rows.size(), NAN);
  Arena arena = Arena::with_bytes(head_backward_bytes(one.head, one.words.table, count, team.threads()), "test").value();
  head_backward({kernels, team}, one.head, one.words.table,
                {.rows = rows.data(),
                 .count = count,
                 .d_logits = d_logits.data(),
                 .d_rows = wants_rows ? d_rows.data() : nullptr,
                 .gradients = gradients,
                 .dropout = dropout,
                 .d_words = one.head.layers().tied && gradients ? out.words.data() : nullptr},
                arena);
  if (wants_rows) {
    EXPECT_EQ(head_rows_backward(kernels, reading, batch, d_rows.data(), HeadCase::kHidden, out.rows.data()), count);
  }
  if (gradients) out.weights.assign(gradients->weights_f32().begin(), gradients->weights_f32().end());
  return out;
}

void expect_near_largest(std::span<const float> got, const Floats& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 0;
  for (const float x : expected) largest = std::max(largest, std::abs(static_cast<double>(x)));
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5 * largest) << what << ", " << i;
}

template <class Check>
void for_each_case(const Check& check) {
  const Json heads = test::read_json("heads/heads.json"), gradients = test::read_json("heads/gradients.json");
  ASSERT_EQ(heads.root().size(), gradients.root().size());
  for (std::size_t i = 0; i < heads.root().size(); ++i) {
    SCOPED_TRACE(heads.root()[i]["config"]["architectures"].to_text() + " " + std::to_string(i));
    const HeadCase one(heads.root()[i], exact_kernels());
    if constexpr (std::is_invocable_v<Check, const HeadCase&, JsonRef, JsonRef>) {
      check(one, gradients.root()[i], heads.root()[i]);
    } else {
      check(one, gradients.root()[i]);
    }
  }
}

TEST(HeadsBackward, GivesTorchsGradients) {
  for_each_case([](const HeadCase& one, JsonRef golden) {
    ThreadTeam alone;
    const Head gradients = zeros_like(one.head), expected = zeros_like(one.head);
    const Gradients got = run(one, alone, test::to_floats(golden["d_logits"]), &gradients);
    expect_near_largest(got.rows, test::to_floats(golden["rows"]), "rows");
    if (one.head.layers().tied) expect_near_largest(got.words, test::to_floats(golden["words"]), "words");
    test::fill(expected, golden["tensors"], [](JsonRef tensor) { return test::to_floats(tensor); });
    const Floats all(expected.weights_f32().begin(), expected.weights_f32().end());
    expect_near_largest(got.weights, all, "weights");
  });
}

// Frozen heads give the same rows, and weights without rows are the same.
TEST(HeadsBackward, LeavesOutWhatIsNotWanted) {
  for_each_case([](const HeadCase& one, JsonRef golden) {
    ThreadTeam alone;
    const Floats d_logits = test::to_floats(golden["d_logits"]);
    const Head gradients = zeros_like(one.head), without_rows = zeros_like(one.head);
    const Gradients all = run(one, alone, d_logits, &gradients);
    EXPECT_EQ(run(one, alone, d_logits, nullptr).rows, all.rows);
    const Gradients weights = run(one, alone, d_logits, &without_rows, false);
    EXPECT_EQ(weights.weights, all.weights);
    EXPECT_EQ(weights.words, all.words);
  });
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
TEST(HeadsBackward, HasTheSameBitsWithThreads) {
  ThreadTeam alone;
  test::TeamOfFour four;
  for_each_case([&](const HeadCase& one, JsonRef golden) {
    const Floats d_logits = test::to_floats(golden["d_logits"]);
    const Head first = zeros_like(one.head), second = zeros_like(one.head);
    EXPECT_EQ(run(one, alone, d_logits, &first), run(one, four.team, d_logits, &second));
  });
}
#endif

// A table of words in another type gives the gradients of its widened rows.
TEST(HeadsBackward, ReadsWordsOfEveryType) {
  const Json heads = test::read_json("heads/heads.json"), gradients = test::read_json("heads/gradients.json");
  for (std::size_t i = 0; i < heads.root().size(); ++i) {
    HeadCase one(heads.root()[i], exact_kernels());
    if (!one.head.layers().tied) continue;
    ThreadTeam alone;
    const Floats d_logits = test::to_floats(gradients.root()[i]["d_logits"]);
    HeadCase narrow(heads.root()[i], exact_kernels(), WeightType::kQ8);
    const std::int64_t width = one.words.table.hidden;
    for (std::int64_t row = 0; row < one.words.table.rows; ++row) {
      Floats widened(static_cast<std::size_t>(width));
      const auto id = static_cast<std::int32_t>(row);
      add_embedding_rows(narrow.words.table, {&id, 1}, widened.data());
      set_row(one.words.table, row, widened.data());
    }
    const Head first = zeros_like(one.head), second = zeros_like(one.head);
    EXPECT_EQ(run(narrow, alone, d_logits, &first), run(one, alone, d_logits, &second));
    return;
  }
  FAIL() << "no tied head";
}

// The sum of d_logits times the logits.
double loss(const HeadCase& one, const Floats& d_logits, const HeadDropout& dropout) {
  ThreadTeam alone;
  Floats rows;
  std::vector<std::int32_t> counts;
  head_rows(exact_kernels(), {one.input()}, one.batch(), one.rows.data(), HeadCase::kHidden, rows, counts);
  Floats logits(static_cast<std::size_t>(counts[0] * one.head.labels())), plain(logits.size());
  const Compute compute{exact_kernels(), alone};
  EXPECT_TRUE(training_run(compute, one.head, one.words.table, rows.data(), counts[0], dropout, logits.data()).ok());
  if (dropout.rows.rate == 0 && dropout.output.rate == 0) {
    EXPECT_TRUE(one.head.run(compute, one.words.table, rows.data(), counts[0], plain.data()).ok());
    EXPECT_EQ(logits, plain);
  }
  if (one.averages()) average_logits(exact_kernels(), 0, one.head.labels(), counts, logits);
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) sum += static_cast<double>(logits[i]) * d_logits[i];
  return sum;
}

// Along the gradient, the loss changes by its length: by differences in f32, to three digits.
TEST(HeadsBackward, OfDropoutIsTheDerivative) {
  std::int64_t dropped = 0;
  for_each_case([&](const HeadCase& one, JsonRef golden, JsonRef json) {
    ThreadTeam alone;
    const Floats d_logits = test::to_floats(golden["d_logits"]);
    for (const HeadDropout& dropout : {HeadDropout{}, head_dropout(one.head, 0.4f, 3, 1)}) {
      const Head gradients = zeros_like(one.head);
      const Gradients got = run(one, alone, d_logits, &gradients, true, dropout);
      double squares = 0;
      for (const Floats* part : {&got.rows, &got.weights}) {
        for (const float x : *part) squares += static_cast<double>(x) * x;
      }
      const double step = 0.01 / std::sqrt(squares + 1e-9);
      HeadCase moved(json, exact_kernels());
      const auto loss_at = [&](double by) {
        for (std::size_t i = 0; i < got.rows.size(); ++i) moved.rows[i] = static_cast<float>(one.rows[i] + by * got.rows[i]);
        for (std::size_t i = 0; i < got.weights.size(); ++i) {
          moved.head.weights_f32()[i] = static_cast<float>(one.head.weights_f32()[i] + by * got.weights[i]);
        }
        return loss(moved, d_logits, dropout);
      };
      const double found = (loss_at(step) - loss_at(-step)) / (2 * step);
      EXPECT_NEAR(found, squares, 2e-3 * squares);
      dropped += dropout.rows.rate + dropout.output.rate > 0 && loss(one, d_logits, dropout) != loss(one, d_logits, {});
    }
  });
  EXPECT_GT(dropped, 25);
}

TEST(HeadsBackward, ReadsTheRowsThatTheHeadReads) {
  Batch batch;
  for (const auto& ids : std::vector<test::Ids>{{5, 6, 0, 0}, {}, {0, 0}, {7}})
    batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
  const Floats hidden{1, 2, 3, 4, 5, 6, 7};
  struct Row {
    HeadReading reading;
    Floats rows;
    std::vector<std::int32_t> counts;
    Floats back;  // of the numbers 1, 2, ...
  };
  const Row rows[] = {
      {{HeadInput::kFirst}, {1, 5, 7}, {1, 0, 1, 1}, {1, 0, 0, 0, 2, 0, 3}},
      {{HeadInput::kLast, 0}, {2, 5, 7}, {1, 0, 1, 1}, {0, 1, 0, 0, 2, 0, 3}},
      {{HeadInput::kLast}, {4, 6, 7}, {1, 0, 1, 1}, {0, 0, 0, 1, 0, 2, 3}},
      {{HeadInput::kMean}, {2.5f, 5.5f, 7}, {1, 0, 1, 1}, {0.25f, 0.25f, 0.25f, 0.25f, 1, 1, 3}},
      {{HeadInput::kEach}, hidden, {4, 0, 2, 1}, hidden},
      {{HeadInput::kEach, -1, 0}, {3, 4, 5, 6}, {2, 0, 2, 0}, {0, 0, 1, 2, 3, 4, 0}},
  };
  for (const Row& row : rows) {
    Floats got, back(hidden.size());
    std::vector<std::int32_t> counts;
    head_rows(exact_kernels(), row.reading, batch, hidden.data(), 1, got, counts);
    EXPECT_EQ(got, row.rows);
    EXPECT_EQ(counts, row.counts);
    const Floats d{1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(head_rows_backward(exact_kernels(), row.reading, batch, d.data(), 1, back.data()),
              static_cast<std::int64_t>(got.size()));
    EXPECT_EQ(back, row.back);
  }
}

TEST(HeadsBackward, OfMeansOfLogits) {
  std::vector<std::int32_t> counts{2, 0, 1};
  Floats logits{9, 1, 2, 3, 4, 5, 6};  // after one of another batch
  Floats d_logits(6, NAN);
  const Floats d_mean{1, 2, 3, 4};
  average_logits_backward(exact_kernels(), counts, 2, d_mean.data(), d_logits.data());
  EXPECT_EQ(d_logits, (Floats{0.5f, 1, 0.5f, 1, 3, 4}));
  average_logits(exact_kernels(), 1, 2, counts, logits);
  EXPECT_EQ(logits, (Floats{9, 2, 3, 5, 6}));
  EXPECT_EQ(counts, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST(HeadsBackward, BeginsAsTransformersDo) {
  const HeadLayers layers{.dense = "dense", .norm = "norm", .output = "output"};
  const auto make = [&](std::uint64_t seed) {
    Head head = std::move(Head::with_layers(layers, {.hidden = 60, .width = 60, .labels = 50}, exact_kernels())).value();
    init_head(head, seed);
    return head;
  };
  const Head head = make(3), again = make(3), other = make(4);
  const auto weights = [](const Head& of) { return Floats(of.weights_f32().begin(), of.weights_f32().end()); };
  EXPECT_EQ(weights(head), weights(again));
  EXPECT_NE(weights(head), weights(other));
  double sum = 0, squares = 0;
  Floats row(60);
  for (std::int64_t j = 0; j < 50; ++j) {
    get_weight_row(head.output(), j, row.data());
    for (const float x : row) sum += x, squares += static_cast<double>(x) * x;
    EXPECT_EQ(head.output().bias[j], 0.0f);
  }
  EXPECT_NEAR(sum / 3000, 0, 0.002);
  EXPECT_NEAR(std::sqrt(squares / 3000), 0.02, 0.001);
  EXPECT_EQ(head.norm().gamma[59], 1.0f);
  EXPECT_EQ(head.norm().beta[59], 0.0f);
}

}  // namespace
}  // namespace wattn
