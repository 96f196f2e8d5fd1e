// A run without taps uses only the arena: no heap call in encoders or in decoders' steps.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "native/support/generation.h"
#include "tasks/generate.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// Counts every allocation of this program.
void* operator new(std::size_t bytes) {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return operator new(bytes); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace wattn {
namespace {

using Ids = std::vector<std::int32_t>;

// Heap calls made by run().
template <class Run>
std::size_t heap_calls(const Run& run) {
  const std::size_t before = allocations;
  run();
  return allocations - before;
}

TEST(Model, AllocatesNothingInsideARun) {
  const auto model = test::load_model(test::golden("bert-tiny/model"));
  Batch batch;
  for (std::size_t length = 1; length < 40; length += 3) batch.add_sequence(Ids(length, 7), Ids(length, 0));
  ASSERT_TRUE(model.value()->run(batch, nullptr).ok());  // allocates the arena
  EXPECT_EQ(heap_calls([&] { EXPECT_TRUE(model.value()->run(batch, nullptr).ok()); }), 0U);
}

// A prompt of several tokens, then steps of two sequences, for every kind of decoder and of weights.
TEST(Slots, AllocateNothingInPromptsAndSteps) {
  for (const char* name : {"decoders/gpt2", "decoders/llama", "decoders/mistral", "decoders/qwen3", "seq2seq/t5", "seq2seq/flan-t5",
                           "seq2seq/bart", "seq2seq/marian"}) {
    for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kQ16, WeightType::kQ8}) {
      const bool reads_source = std::string_view(name).starts_with("seq2seq");
      const HeadKind head = reads_source ? HeadKind::kSeq2SeqLm : HeadKind::kCausalLm;
      auto loaded = test::load_model(test::golden(name), {.dtype = type, .head = head});
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      Slots& slots = loaded.value()->slots();
      ASSERT_TRUE(
          slots.reserve({.slots = 2, .length = 24, .sources = reads_source ? 1 : 0, .source_length = reads_source ? 9 : 0}).ok());
      const Ids ids{1, 5, 6, 7, 8, 9, 10, 11, 12};
      ASSERT_TRUE(!reads_source || slots.read_source(0, ids, nullptr, nullptr).ok());
      Batch batch;  // kept by the caller from step to step
      const std::vector<std::int64_t> rows{0, 1};
      const auto add = [&](std::int32_t slot, std::int32_t position, std::size_t count) {
        batch.add_to_slot(slot, position, std::span<const std::int32_t>(ids).first(count));
        if (reads_source) batch.sources.push_back(0);
      };
      for (std::int32_t position : {0, 9, 10, 11, 12}) {
        batch.clear();
        for (const std::int32_t slot : {0, 1}) add(slot, position, position == 0 ? 9 : 1);
        EXPECT_EQ(heap_calls([&] {
                    const auto hidden = slots.run(batch, nullptr);
                    EXPECT_TRUE(hidden.ok());
                    slots.logits(hidden.value(), rows);
                  }),
                  0U)
            << name << ", position " << position;
      }
    }
  }
}

TEST(Generation, AllocatesNothingInGreedySteps) {
  for (const char* name : {"decoders/llama", "seq2seq/bart"}) {
    const bool reads_source = std::string_view(name).starts_with("seq2seq");
    auto loaded = test::load_model(test::golden(name), {.head = reads_source ? HeadKind::kSeq2SeqLm : HeadKind::kCausalLm});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    GenerateRequest request;
    request.max_new_tokens = 20;
    if (reads_source) request.decoder_start_token_id = 1;
    auto generation = Generation::begin(*loaded.value(), {{1, 7, 19}, {1, 4}}, request);
    ASSERT_TRUE(generation.ok()) << generation.error().message;
    // Two steps read sources, one the prompts; the first steps after that make room.
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(generation.value()->step().ok());
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(heap_calls([&] { EXPECT_TRUE(generation.value()->step().ok()); }), 0U) << name << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace wattn
