#include "pass/run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "models/transformer_backward.h"
#include "native/support/plans.h"
#include "native/support/transformers.h"

namespace wattn {
namespace {

// What training computes without a plan (src/tasks/train.cpp refuses the others).
bool trains(const TransformerConfig& config) {
  return !config.is_static() && !config.is_parallel() && config.input_norms && !config.query_key_norm_joined &&
         config.residual_multiplier == 1 && !config.disentangled.own_matrices && !config.t5.each_layer &&
         config.convolution.kernel == 0;
}

// The training pass is written by hand, a layer as C++: two descriptions of one computation.
TEST(Pass, HasTheBitsOfTheTrainingPass) {
  ThreadTeam alone;
  int compared = 0;
  for (const char* group :
       {"architectures/", "hub_layouts/", "variants/encoders/", "eurobert/", "decoders/", "variants/decoders/"}) {
    for (const std::string& name : test::case_names(group)) {
      const auto model = test::load_transformer(test::golden(group + name + "/"), exact_kernels());
      ASSERT_TRUE(model.ok()) << group << name << ": " << model.error().message;
      if (!trains(model.value().config())) continue;
      Batch batch;
      for (const std::size_t count : {std::size_t{11}, std::size_t{1}, std::size_t{6}}) {
        std::vector<std::int32_t> ids(count);
        for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<std::int32_t>(5 + i * i % 50);
        batch.add_sequence(ids, std::vector<std::int32_t>(count, 0));
      }
      const std::vector<float> hidden = test::run(model.value(), alone, batch);
      std::vector<float> trained(hidden.size()), tape(static_cast<std::size_t>(tape_size(model.value().config(), batch.tokens())));
      Arena arena = std::move(Arena::with_bytes(backward_bytes(model.value(), batch.tokens(), 11, 1), "test").value());
      training_forward(model.value(), alone, batch, tape.data(), trained.data(), arena);
      EXPECT_EQ(std::memcmp(hidden.data(), trained.data(), hidden.size() * sizeof(float)), 0) << group << name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
}

}  // namespace
}  // namespace wattn
