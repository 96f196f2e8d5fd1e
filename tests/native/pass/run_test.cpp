#include "pass/run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "native/support/plans.h"
#include "native/support/transformers.h"
#include "pass/training.h"

namespace wattn {
namespace {

// Which keeps what its derivative reads, and runs steps that are not fused.
TEST(Pass, HasTheBitsOfTheTrainingPass) {
  ThreadTeam alone;
  int compared = 0;
  for (const char* group :
       {"architectures/", "hub_layouts/", "variants/encoders/", "eurobert/", "decoders/", "variants/decoders/"}) {
    for (const std::string& name : test::case_names(group)) {
      const auto model = test::load_transformer(test::golden(group + name + "/"), exact_kernels());
      ASSERT_TRUE(model.ok()) << group << name << ": " << model.error().message;
      if (model.value().config().is_static()) continue;
      Batch batch;
      for (const std::size_t count : {std::size_t{11}, std::size_t{1}, std::size_t{6}}) {
        std::vector<std::int32_t> ids(count);
        for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<std::int32_t>(5 + i * i % 50);
        batch.add_sequence(ids, std::vector<std::int32_t>(count, 0));
      }
      const std::vector<float> hidden = test::run(model.value(), alone, batch);
      std::vector<float> trained(hidden.size()),
          tape(static_cast<std::size_t>(tape_size(model.value().training_plan(), batch.tokens())));
      Arena arena =
          std::move(Arena::with_bytes(backward_bytes(model.value().training_plan(), {batch.tokens(), 11}), "test").value());
      training_forward(model.value().training_plan(), model.value().compute(alone), batch, tape.data(), trained.data(), arena);
      EXPECT_EQ(std::memcmp(hidden.data(), trained.data(), hidden.size() * sizeof(float)), 0) << group << name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 50);
}

}  // namespace
}  // namespace wattn
