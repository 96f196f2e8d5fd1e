#include "pass/differentiate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "native/support/transformers.h"

namespace wattn {
namespace {

constexpr std::int64_t kTokens = 7;

// The first layer of a model backwards, over any values.
class LayerBackward {
 public:
  explicit LayerBackward(const std::string& name)
      : model_(test::load_transformer(test::golden(name), exact_kernels()).value()),
        gradients_(Transformer::with_config(model_.config(), model_.positions(), exact_kernels(), WeightType::kF32).value()),
        plan_(model_.training_plan()),
        use_(plan_.layers.front().steps),
        result_(result_of(plan_, use_)) {
    batch_.add_sequence(std::vector<std::int32_t>(kTokens, 5), std::vector<std::int32_t>(kTokens, 0));
  }

  // The gradient of what the layer reads, then those of all weights. keeps: all values are kept, or its input and those of its
  // result alone.
  std::vector<float> run(bool keeps, const auto& change) {
    const std::vector<PlanId> kept = values_to_keep(plan_, use_, result_);
    std::vector<PlanId> known = keeps ? kept : values_of_result(plan_, use_, result_, kept);
    known.insert(known.begin(), kStreamValue);
    const Section& section = plan_.sections[static_cast<std::size_t>(use_.section)];
    std::vector<std::vector<float>> data(kMostValues);
    std::vector<float*> at(kMostValues);
    for (const PlanId id : known) {
      std::vector<float>& own = data[static_cast<std::size_t>(id)];
      own.resize(static_cast<std::size_t>(kTokens * plan_.values[static_cast<std::size_t>(section.first_value + id)].width));
      for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(id)) % 13) / 6 - 1;
      at[static_cast<std::size_t>(id)] = own.data();
    }
    std::vector<float> d(data[kStreamValue]);
    ThreadTeam alone;
    const Compute compute{exact_kernels(), alone};
    const Training training;
    const PassInput pass{.compute = &compute,
                         .batch = &batch_,
                         .sizes = {.tokens = kTokens, .keys = kTokens, .own_keys = kTokens},
                         .rows = training_row,
                         .training = &training,
                         .drop = drop_in_training};
    const Wanted wanted{.use = use_, .result = result_, .known = known};
    Derivative derivative = differentiate(plan_, pass, wanted);
    change(derivative.layout);
    Arena arena = std::move(Arena::with_zeros(derivative.layout.bytes, "test").value());
    std::ranges::fill(gradients_.weights_f32(), 0.0f);
    wattn::run(plan_, pass, wanted, derivative, &gradients_.training_plan(),
               {.stream = d.data(),
                .known = at.data(),
                .arena = arena.take<std::byte>(static_cast<std::int64_t>(derivative.layout.bytes))},
               0);
    d.insert(d.end(), gradients_.weights_f32().begin(), gradients_.weights_f32().end());
    return d;
  }

  std::vector<std::int64_t> widths_kept() const {
    std::vector<std::int64_t> out;
    const std::int32_t first = plan_.sections[static_cast<std::size_t>(use_.section)].first_value;
    for (const PlanId id : values_to_keep(plan_, use_, result_))
      out.push_back(plan_.values[static_cast<std::size_t>(first + id)].width);
    return out;
  }
  const TransformerConfig& config() const { return model_.config(); }

 private:
  Transformer model_, gradients_;
  const Plan& plan_;
  SectionUse use_;
  PlanId result_;
  Batch batch_;
};

// Each pair of values or gradients that are needed at once, put into one place.
TEST(Differentiate, AnOverlapPutInOnPurposeChangesGradients) {
#ifdef NDEBUG
  GTEST_SKIP() << "memory is poisoned in debug builds alone";
#endif
  for (const char* name : {"bert-tiny/model/", "decoders/llama/", "decoders/gemma2/", "variants/decoders/phi/"}) {
    LayerBackward layer(name);
    for (const bool keeps : {false, true}) {
      Layout layout;
      const std::vector<float> good = layer.run(keeps, [&](const Layout& found) { layout = found; });
      for (const float x : good) ASSERT_TRUE(std::isfinite(x)) << name;
      int pairs = 0;
      for (std::size_t i = 0; i < kMostValues; ++i) {
        for (std::size_t j = 0; j < kMostValues; ++j) {
          const Layout::Home &one = layout.homes[i], &other = layout.homes[j];
          if (one.bytes == 0 || other.bytes == 0 || !(one.first < other.first && other.first <= one.last)) continue;
          const std::vector<float> bad = layer.run(keeps, [&](Layout& changed) {
            changed.homes[j].offset = one.offset;
            changed.bytes += other.bytes;
          });
          EXPECT_NE(bad, good) << name << " " << keeps << " " << i << " " << j;
          ++pairs;
        }
      }
      EXPECT_GE(pairs, 4) << name;
    }
  }
}

// The results of products that a derivative reads, and sums: BERT's queries, keys and values, what the activation reads, and the
// sums before both norms. A decoder's last sum is what the next layer reads.
TEST(Differentiate, KeepsWhatCannotBeComputedWithoutAProduct) {
  for (const auto& [name, inner] : {std::pair{"bert-tiny/model/", 1}, {"decoders/llama/", 2}}) {
    const LayerBackward layer(name);
    const TransformerConfig& config = layer.config();
    EXPECT_EQ(layer.widths_kept(), (std::vector<std::int64_t>{config.qkv_width(), config.hidden_size,
                                                              inner * config.intermediate_size, config.hidden_size}))
        << name;
  }
}

}  // namespace
}  // namespace wattn
