#include "pass/memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "native/support/plans.h"
#include "native/support/transformers.h"
#include "pass/run.h"

namespace wattn {
namespace {

// Every use of a section.
std::vector<SectionUse> uses_of(const Plan& plan) {
  std::vector<SectionUse> out{plan.embeddings, plan.final_norm, plan.head};
  for (const Layer& layer : plan.layers) out.insert(out.end(), {layer.steps, layer.source});
  std::erase_if(out, [](const SectionUse& use) { return use.section < 0; });
  return out;
}

// Where a value is needed: from the step that writes it to the last one that reads it or what follows it in its memory.
struct Interval {
  int first, last;
  std::uint64_t begin, end;
};
std::vector<Interval> intervals_of(const Plan& plan, const SectionUse& use, const Layout& layout) {
  const Section& section = plan.sections[static_cast<std::size_t>(use.section)];
  std::vector<Interval> out;
  const auto root_of = [&](PlanId id) { return layout.home[static_cast<std::size_t>(id)]; };
  for (int v = 0; v < section.num_values; ++v) {
    const Layout::Home& home = layout.homes[static_cast<std::size_t>(v)];
    if (root_of(static_cast<PlanId>(v)) != v || home.bytes == 0) continue;
    Interval one{-1, -1, home.offset, home.offset + home.bytes};
    for (int s = 0; s < section.num_steps; ++s) {
      const Step& step = plan.steps[static_cast<std::size_t>(section.first_step + s)];
      for (const PlanId id : {step.x, step.other, step.out}) {
        if (id < 0 || root_of(id) != v) continue;
        if (one.first < 0) one.first = s;
        one.last = s;
      }
    }
    out.push_back(one);
  }
  for (int s = 0; s < section.num_steps; ++s) {
    const Layout::Scratch& scratch = layout.scratch[static_cast<std::size_t>(s)];
    if (scratch.bytes > 0) out.push_back({s, s, scratch.offset, scratch.offset + scratch.bytes});
  }
  return out;
}

constexpr PassSizes kSizes[] = {{.tokens = 1, .buckets = 1, .keys = 1, .own_keys = 1},
                                {.tokens = 8, .buckets = 15, .keys = 8, .own_keys = 8},
                                {.tokens = 9, .buckets = 15, .keys = 8, .own_keys = 8, .threads = 2},
                                {.tokens = 37, .buckets = 16, .keys = 30, .own_keys = 30, .threads = 2},
                                {.tokens = 512, .buckets = 16, .keys = 64, .own_keys = 30, .threads = 3}};

TEST(Layout, NothingOverlapsWhileItIsNeeded) {
  for (const auto& [name, config] : test::golden_stacks()) {
    const auto transformer = test::empty_transformer(config);
    const Plan& plan = transformer.value().plan();
    for (const SectionUse& use : uses_of(plan)) {
      for (const PassSizes& sizes : kSizes) {
        const Layout layout = lay_out(plan, use, {.sizes = sizes});
        const auto all = intervals_of(plan, use, layout);
        for (std::size_t i = 0; i < all.size(); ++i) {
          EXPECT_LE(all[i].end, layout.bytes) << name;
          for (std::size_t j = 0; j < i; ++j) {
            const bool at_once = all[i].first <= all[j].last && all[j].first <= all[i].last;
            EXPECT_FALSE(at_once && all[i].begin < all[j].end && all[j].begin < all[i].end) << name << " " << i << " " << j;
          }
        }
      }
    }
  }
}

// What is measured for limits has to be enough for all sizes within them.
TEST(Layout, GrowsWithEverySize) {
  for (const auto& [name, config] : test::golden_stacks()) {
    const auto transformer = test::empty_transformer(config);
    const Plan& plan = transformer.value().plan();
    for (const SectionUse& use : uses_of(plan)) {
      std::uint64_t before = 0;
      for (const PassSizes& sizes : kSizes) {
        const Layout layout = lay_out(plan, use, {.sizes = sizes});
        EXPECT_GE(layout.bytes, before) << name << ", " << sizes.tokens << " tokens";
        before = layout.bytes;
      }
    }
  }
}

// A layer's result by one layout.
std::vector<float> run_layer(const Transformer& model, const Batch& batch, const Layout& layout, std::vector<float> x) {
  ThreadTeam alone;
  const Compute compute = model.compute(alone);
  const PassSizes sizes{.tokens = batch.tokens(), .keys = batch.longest(), .own_keys = batch.longest()};
  Arena arena = std::move(Arena::with_zeros(layout.bytes, "test").value());
  run_section(model.plan(), model.plan().layers.front().steps, {.compute = &compute, .batch = &batch, .sizes = sizes}, layout,
              {.stream = x.data(), .arena = arena.take<std::byte>(static_cast<std::int64_t>(layout.bytes))}, 0);
  return x;
}

// Each pair of values that are needed at once, put into one place.
TEST(Layout, AnOverlapPutInOnPurposeGivesNaN) {
#ifdef NDEBUG
  GTEST_SKIP() << "memory is poisoned in debug builds alone";
#endif
  for (const char* name : {"bert-tiny/model/", "decoders/llama/", "architectures/modernbert/"}) {
    const auto model = test::load_transformer(test::golden(name), exact_kernels());
    ASSERT_TRUE(model.ok()) << model.error().message;
    Batch batch;
    batch.add_sequence(std::vector<std::int32_t>(7, 5), std::vector<std::int32_t>(7, 0));
    const Plan& plan = model.value().plan();
    const SectionUse& use = plan.layers.front().steps;
    const PassSizes sizes{.tokens = 7, .keys = 7, .own_keys = 7};
    const Layout good = lay_out(plan, use, {.sizes = sizes});
    std::vector<float> x(static_cast<std::size_t>(7 * model.value().config().hidden_size));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6;
    for (const float out : run_layer(model.value(), batch, good, x)) EXPECT_TRUE(std::isfinite(out));
    int pairs = 0;
    for (std::size_t i = 0; i < kMostValues; ++i) {
      for (std::size_t j = 0; j < kMostValues; ++j) {
        const Layout::Home &one = good.homes[i], &other = good.homes[j];
        if (one.bytes == 0 || other.bytes == 0 || !(one.first < other.first && other.first < one.last + 1)) continue;
        Layout bad = good;
        bad.homes[j].offset = one.offset;
        bad.bytes = good.bytes + other.bytes;
        const std::vector<float> out = run_layer(model.value(), batch, bad, x);
        EXPECT_TRUE(std::any_of(out.begin(), out.end(), [](float value) { return std::isnan(value); }))
            << name << " " << i << " " << j;
        ++pairs;
      }
    }
    EXPECT_GE(pairs, 3) << name;
  }
}

TEST(Fusions, ChangeNoBit) {
  for (const char* group : {"architectures/", "hub_layouts/", "variants/encoders/", "eurobert/"}) {
    for (const std::string& name : test::case_names(group)) {
      auto model = test::load_transformer(test::golden(group + name + "/"), exact_kernels(), WeightType::kQ8);
      ASSERT_TRUE(model.ok()) << model.error().message;
      const TransformerConfig& config = model.value().config();
      ThreadTeam alone;
      Batch batch;
      for (const std::size_t count : {std::size_t{9}, std::size_t{1}, std::size_t{14}}) {
        std::vector<std::int32_t> ids(count);
        for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<std::int32_t>(5 + i * i % 50);
        batch.add_sequence(ids, std::vector<std::int32_t>(count, 0));
      }
      const PassSizes limits{.tokens = batch.tokens(), .keys = 14, .own_keys = 14};
      const auto run = [&](const Plan& plan) {
        Arena arena = std::move(Arena::with_bytes(forward_bytes(plan, limits), "test").value());
        std::vector<float> hidden(static_cast<std::size_t>(batch.tokens() * config.hidden_size));
        forward(plan, model.value().compute(alone), batch, {}, arena, hidden.data(), nullptr);
        return hidden;
      };
      const std::vector<float> fused = run(model.value().plan());
      for (const Fusions& some : {Fusions{false, true}, Fusions{true, false}, Fusions{false, false}}) {
        const Plan plan = model.value().plan_with(some);
        EXPECT_EQ(std::memcmp(fused.data(), run(plan).data(), fused.size() * sizeof(float)), 0) << group << name;
      }
    }
  }
}

}  // namespace
}  // namespace wattn
