// If any arena cannot be allocated, loading and every task end with an OutOfMemoryError, and work once memory is
// available.
#ifndef __EMSCRIPTEN__  // whose libc has its aligned_alloc beside malloc
#include "native/support/memory.h"

#include "native/support/generation.h"
#include "tasks/embed.h"
#include "tasks/predict.h"

namespace wattn {
namespace {

using test::arenas_needed;
using test::golden;
using test::Ids;
using test::load_model;
using test::small_files;

const std::u16string_view kTexts[] = {u"the river", u"a small boat"};

// The tiny BERT with the Dense module of tests/goldens/sentence.
Result<std::unique_ptr<Model>> load_with_dense() {
  std::vector<NamedFile> files = small_files(golden("bert-tiny/model"));
  for (NamedFile& file : files) {
    if (file.name == "modules.json") file.bytes = test::read_file(golden("sentence/model/modules.json"));
  }
  files.push_back({"2_Dense/config.json", test::read_file(golden("sentence/model/2_Dense/config.json"))});
  return test::load_with(files, [](const std::string& name) {
    return test::read_file(golden((name[0] == '2' ? "sentence/model/" : "bert-tiny/model/") + name));
  });
}

TEST(Memory, EndsEmbeddingWithAnError) {
  EXPECT_GT(arenas_needed([] { return load_with_dense(); }, "loading"), 1);
  const auto run = [](const EmbedOptions& options) {
    return [options]() -> Result<void> {
      const auto model = load_model(golden("bert-tiny/model"));
      if (!model.ok()) return model.error();
      const auto done = embed(*model.value(), kTexts, options);
      return done.ok() ? Result<void>() : done.error();
    };
  };
  EXPECT_GT(arenas_needed(run({}), "embed"), 1);
  EXPECT_GT(arenas_needed(run({.max_length = 3, .overflow = Overflow::kWindows}), "embed in windows"), 1);
}

TEST(Memory, EndsGenerationWithAnError) {
  for (const auto& [folder, head] : {std::pair{"decoders/llama", HeadKind::kCausalLm}, {"seq2seq/bart", HeadKind::kSeq2SeqLm}}) {
    const auto run = [&, folder = folder, head = head]() -> Result<void> {
      const auto model = load_model(golden(folder), {.head = head});
      if (!model.ok()) return model.error();
      GenerateRequest request{.max_new_tokens = 3, .decoder_start_token_id = 1};
      request.options.num_beams = 2;
      const auto begun = Generation::begin(*model.value(), {{1, 5, 7}}, request);
      if (!begun.ok()) return begun.error();
      const auto stepped = begun.value()->step();
      return stepped.ok() ? Result<void>() : stepped.error();
    };
    EXPECT_GT(arenas_needed(run, folder), 1);
  }
}

TEST(Memory, EndsForwardsAndPredictionsWithAnError) {
  const struct {
    const char* folder;
    LoadOptions options;
  } rows[] = {{"bert-tiny/model", {}},
              {"decoders/llama", {.head = HeadKind::kCausalLm}},
              {"seq2seq/t5", {.head = HeadKind::kSeq2SeqLm}},
              {"decoder-heads/bart-sequence", {.head = HeadKind::kSequence}},
              {"decoder-heads/llama-token", {.head = HeadKind::kToken}}};
  for (const auto& [folder, options] : rows) {
    const auto forward = [&, folder = folder, options = options]() -> Result<void> {
      const auto model = load_model(golden(folder), options);
      if (!model.ok()) return model.error();
      const auto done = test::forward_ids(*model.value(), {1, 5, 7, 2}, {}, model.value()->decoder() ? Ids{1, 5, 2} : Ids{});
      return done.ok() ? Result<void>() : done.error();
    };
    EXPECT_GT(arenas_needed(forward, folder), 1);
    const auto predicted = [&, folder = folder, options = options]() -> Result<void> {
      const auto model = load_model(golden(folder), options);
      if (!model.ok()) return model.error();
      const auto done = predict(*model.value(), kTexts, {}, {});
      return done.ok() ? Result<void>() : done.error();
    };
    if (options.head == HeadKind::kSequence || options.head == HeadKind::kToken) {
      EXPECT_GT(arenas_needed(predicted, folder), 1);
    }
  }
}

}  // namespace
}  // namespace wattn
#endif
