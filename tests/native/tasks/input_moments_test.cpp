// InputMoments against the taps of the same pass.
#include "tasks/input_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "native/support/goldens.h"
#include "native/support/models.h"

namespace wattn {
namespace {

using test::golden;

const std::vector<std::vector<std::int32_t>> kTexts{{2, 4, 9, 7, 11, 6, 3}, {2, 8, 3}};

Batch batch_of(std::size_t first, std::size_t count) {
  Batch batch;
  for (std::size_t i = first; i < first + count; ++i) batch.add_sequence(kTexts[i], std::vector<std::int32_t>(kTexts[i].size(), 0));
  return batch;
}

struct Seen : Taps {
  std::map<std::string, std::vector<float>> rows;

  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    const auto size = static_cast<std::size_t>(num_elements({tensor.shape.begin(), tensor.shape.end()}).value());
    rows.emplace(to_string(point), std::vector<float>(tensor.data, tensor.data + size));
  }
};

std::vector<double> sums_of(const std::vector<float>& rows, std::size_t width) {
  std::vector<double> out(width * width);
  for (std::size_t t = 0; t < rows.size(); t += width) {
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = 0; j < width; ++j) out[i * width + j] += static_cast<double>(rows[t + i]) * rows[t + j];
    }
  }
  return out;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0);
  // A sum of ten products in float32.
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6 * largest) << i;
}

TEST(InputMoments, AreSumsOverWhatEachLayerReads) {
  const std::unique_ptr<Model> model = test::load_with_words(golden("bert-tiny/model"));
  Seen seen;
  const auto plain = model->run(batch_of(0, 2), &seen);
  ASSERT_TRUE(plain.ok());
  const std::vector<float> before(plain.value(), plain.value() + 10 * 32);

  const std::vector<std::pair<std::string, std::string>> reads{
      {"encoder.layer.0.attention.self.query", "embeddings.output"},
      {"encoder.layer.0.attention.self.value", "embeddings.output"},
      {"encoder.layer.1.attention.self.key", "layer.0.output"},
      {"encoder.layer.0.attention.output.dense", "layer.0.attention.context"},
      {"encoder.layer.0.intermediate.dense", "layer.0.attention.output"},
      {"encoder.layer.1.output.dense", "layer.1.intermediate"},
  };
  std::vector<std::string> names{"embeddings.word_embeddings.weight", "encoder.layer.0.attention.self.query.bias", "none.weight"};
  for (const auto& [layer, tap] : reads) names.push_back("bert." + layer + ".weight");
  InputMoments moments(*model, names);
  EXPECT_EQ(moments.layers(), (std::vector<std::int32_t>{-1, -1, -1, 0, 0, 1, 2, 3, 4}));
  ASSERT_TRUE(model->run(batch_of(0, 1), nullptr).ok());
  ASSERT_TRUE(model->run(batch_of(1, 1), nullptr).ok());
  for (std::size_t i = 1; i < reads.size(); ++i) {
    const auto& [layer, tap] = reads[i];
    const std::vector<float>& rows = seen.rows.at(tap);
    const auto found = moments.take(moments.layers()[i + 3]);
    EXPECT_EQ(found.tokens, 10) << layer;
    expect_near(found.sums, sums_of(rows, rows.size() / 10));
  }
  EXPECT_EQ(moments.take(0).tokens, 0) << "they begin anew";

  const auto again = model->run(batch_of(0, 2), nullptr);
  EXPECT_EQ(std::vector<float>(again.value(), again.value() + 10 * 32), before) << "watching changes nothing";
}

TEST(InputMoments, EndWithTheirObject) {
  const std::unique_ptr<Model> model = test::load_with_words(golden("bert-tiny/model"));
  {
    const InputMoments moments(*model, std::vector<std::string>{"encoder.layer.0.output.dense.weight"});
  }
  EXPECT_TRUE(model->run(batch_of(0, 2), nullptr).ok());
}

TEST(InputMoments, KnowBothStacksAndLeaveOutMatricesTheOtherWayRound) {
  const std::unique_ptr<Model> t5 = test::load_with_words(golden("seq2seq/t5"), {.head = HeadKind::kSeq2SeqLm});
  const std::vector<std::string> names{"encoder.block.0.layer.1.DenseReluDense.wi.weight",
                                       "decoder.block.0.layer.1.EncDecAttention.k.weight"};
  EXPECT_EQ(InputMoments(*t5, names).layers(), (std::vector<std::int32_t>{0, 1}));
  const std::unique_ptr<Model> gpt2 = test::load_with_words(golden("decoders/gpt2"));
  EXPECT_EQ(InputMoments(*gpt2, std::vector<std::string>{"transformer.h.0.mlp.c_fc.weight"}).layers(),
            std::vector<std::int32_t>{-1});
}

}  // namespace
}  // namespace wattn
