// Losses over vectors and their gradients against sentence-transformers in double precision (tests/goldens/sentence_losses).
#include "ops/sentence_losses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "native/support/goldens.h"

namespace wattn {
namespace {

double loss_of(JsonRef one, const std::vector<float>& vectors, float* dx) {
  const LossInput x{vectors.data(), one["rows"].as_int().value(), one["cols"].as_int().value()};
  const auto name = one["loss"].as_string().value();
  const auto number = [&](const char* key) { return one[key].as_number().value(); };
  const auto scores = test::to_floats(one["scores"]);
  const auto labels = test::to_ids(one["labels"]);
  if (name == "MultipleNegativesRankingLoss") {
    return multiple_negatives_ranking_loss(x, one["anchors"].as_int().value(), number("scale"), dx);
  }
  if (name == "CoSENTLoss") return cosent_loss(x, scores, number("scale"), dx);
  if (name == "CosineSimilarityLoss") return cosine_similarity_loss(x, scores, dx);
  if (name == "ContrastiveLoss") return contrastive_loss(x, scores, number("margin"), dx);
  if (name == "BatchAllTripletLoss") return batch_all_triplet_loss(x, labels, number("margin"), dx);
  EXPECT_EQ(name, "SupConLoss");
  return sup_con_loss(x, labels, number("temperature"), dx);
}

// Both are in double precision; a gradient is rounded once, to 2^-24 of its size.
TEST(SentenceLosses, EqualSentenceTransformers) {
  const Json json = test::read_json("sentence_losses/cases.json");
  ASSERT_EQ(json.root().size(), 8U);
  for (std::size_t i = 0; i < json.root().size(); ++i) {
    const JsonRef one = json.root()[i];
    SCOPED_TRACE(std::string(one["loss"].as_string().value()));
    const auto x = test::to_floats(one["x"]);
    std::vector<float> gradient(x.size(), NAN);
    const double value = one["value"].as_number().value();
    EXPECT_NEAR(loss_of(one, x, gradient.data()), value, 1e-12 * std::max(1.0, std::abs(value)));
    EXPECT_EQ(loss_of(one, x, nullptr), loss_of(one, x, gradient.data()));
    double largest = 0;
    for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, std::abs(one["gradient"][k].as_number().value()));
    ASSERT_GT(largest, 1e-4);
    for (std::size_t k = 0; k < x.size(); ++k) {
      EXPECT_NEAR(gradient[k], one["gradient"][k].as_number().value(), 0x1p-23 * largest) << k;
    }
  }
}

TEST(SentenceLosses, OfRowsWithoutAPartnerIsZero) {
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> dx(4, NAN);
  EXPECT_EQ(sup_con_loss({x.data(), 2, 2}, std::vector<std::int32_t>{0, 1}, 0.1, dx.data()), 0);
  EXPECT_EQ(dx, std::vector<float>(4));
  EXPECT_EQ(batch_all_triplet_loss({x.data(), 2, 2}, std::vector<std::int32_t>{0, 0}, 5, dx.data()), 0);
  EXPECT_EQ(dx, std::vector<float>(4));
}

// Equal vectors have no direction away from each other.
TEST(SentenceLosses, OfEqualVectorsIsFinite) {
  const std::vector<float> x = {1, 2, 1, 2, 1, 2, 0, 0};
  std::vector<float> dx(8, NAN);
  EXPECT_EQ(batch_all_triplet_loss({x.data(), 3, 2}, std::vector<std::int32_t>{0, 0, 1}, 5, dx.data()), 5);
  EXPECT_TRUE(std::isfinite(sup_con_loss({x.data(), 4, 2}, std::vector<std::int32_t>{0, 0, 1, 1}, 0.1, dx.data())));
  for (const float d : dx) EXPECT_TRUE(std::isfinite(d));
}

}  // namespace
}  // namespace wattn
