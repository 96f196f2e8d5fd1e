// Damaged or mislabelled decoders: a clear error, never a crash.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "native/support/generation.h"
#include "tasks/forward.h"
#include "tasks/generate.h"

namespace wattn {
namespace {

const std::string kLlama = test::golden("decoders/llama");

Result<std::unique_ptr<Model>> load(const std::vector<NamedFile>& files, std::string_view weights, LoadOptions options = {}) {
  options.head = HeadKind::kCausalLm;
  return test::load_with(files, [&](const std::string&) { return weights; }, options);
}

// A model's files with a change in config.json.
std::vector<NamedFile> changed(const std::string& folder, const std::string& from, const std::string& to) {
  auto files = test::small_files(folder);
  for (NamedFile& file : files) {
    if (file.name != "config.json") continue;
    const std::size_t at = file.bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) file.bytes.replace(at, from.size(), to);
  }
  return files;
}

std::string refusal(const std::string& name, const std::string& from, const std::string& to) {
  const auto loader = ModelLoader::begin(changed(test::golden("decoders/" + name), from, to), {.head = HeadKind::kCausalLm});
  return loader.ok() ? "none" : loader.error().message;
}

TEST(HostileDecoders, ConfigsThatChangeTheArithmeticAreRejectedByName) {
  const struct {
    const char *model, *from, *to, *named;
  } cases[] = {
      {"llama", "\"num_key_value_heads\":2", "\"num_key_value_heads\":3", "num_key_value_heads"},
      {"llama", "\"num_attention_heads\":4", "\"num_attention_heads\":0", "num_attention_heads"},
      {"llama", "\"head_dim\":6", "\"head_dim\":5", "even number"},
      {"llama", "\"head_dim\":6", "\"head_dim\":-6", "head_dim"},
      {"llama", "\"hidden_size\":24", "\"hidden_size\":99999999", "hidden_size"},
      {"llama", "\"rope_type\":\"llama3\"", "\"rope_type\":\"mrope\"", "\"mrope\""},
      {"llama", "\"low_freq_factor\":1.0", "\"low_freq_factor\":null", "low_freq_factor"},
      {"llama", "\"low_freq_factor\":1.0", "\"low_freq_factor\":9.0", "high_freq_factor"},
      {"llama", "\"model_type\":\"llama\"", "\"model_type\":\"falcon\"", "\"falcon\""},
      {"llama", "\"hidden_act\":\"silu\"", "\"hidden_act\":\"xielu\"", "\"xielu\""},
      {"llama", "\"mlp_bias\":true", "\"mlp_bias\":true,\"attention_multiplier\":2", "attention_multiplier"},
      {"llama", "\"mlp_bias\":true", "\"mlp_bias\":true,\"quantization_config\":{\"bits\":4}", "quantization_config"},
      {"llama", "\"vocab_size\":59", "\"vocab_size\":\"many\"", "vocab_size"},
      {"mistral", "\"sliding_window\":5", "\"sliding_window\":0", "sliding_window"},
      {"gpt2", "\"scale_attn_by_inverse_layer_idx\":false", "\"scale_attn_by_inverse_layer_idx\":1", "scale_attn_by_inverse"},
      {"gpt2", "\"n_head\":4", "\"n_head\":7", "n_head"},
      {"gpt2", "\"add_cross_attention\":false", "\"add_cross_attention\":true", "add_cross_attention"},
  };
  for (const auto& [model, from, to, named] : cases) {
    const std::string message = refusal(model, from, to);
    EXPECT_NE(message.find(named), std::string::npos) << to << ": " << message;
  }
  EXPECT_EQ(refusal("llama", "\"vocab_size\":59", "\"vocab_size\":59"), "none");
}

TEST(HostileDecoders, TruncatedOrMismatchedWeightsAreRejected) {
  const auto files = test::small_files(kLlama);
  const std::string weights = test::read_file(kLlama + "/model.safetensors");
  for (std::size_t size = 0; size < weights.size(); size += 1 + size / 16) {
    EXPECT_FALSE(load(files, std::string_view(weights).substr(0, size)).ok()) << size;
  }
  ASSERT_TRUE(load(files, weights).ok());
  const auto wider = load(changed(kLlama, "\"intermediate_size\":40", "\"intermediate_size\":48"), weights);
  ASSERT_FALSE(wider.ok());
  EXPECT_NE(wider.error().message.find("mlp"), std::string::npos) << wider.error().message;
  const auto without = load(changed(kLlama, "\"mlp_bias\":true", "\"mlp_bias\":false"), weights);
  EXPECT_FALSE(without.ok());  // an unknown tensor
  for (const std::int64_t context : {std::int64_t{-1}, std::int64_t{97}, std::int64_t{1} << 40}) {
    const auto loaded = load(files, weights, {.context_length = context});
    ASSERT_FALSE(loaded.ok());
    EXPECT_NE(loaded.error().message.find("context_length"), std::string::npos);
  }
}

// The file's bytes with all weights at its end set to this number.
std::string with_end(float number) {
  std::string weights = test::read_file(kLlama + "/model.safetensors");
  for (std::size_t at = weights.size() - 4; at > weights.size() - 4000; at -= 4) std::memcpy(weights.data() + at, &number, 4);
  return weights;
}

TEST(HostileDecoders, WeightsThatAreNotFiniteAreRejected) {
  const auto model = load(test::small_files(kLlama), with_end(std::numeric_limits<float>::quiet_NaN()));
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("finite numbers"), std::string::npos) << model.error().message;
}

TEST(HostileDecoders, OverflowIsFoundAtTheFirstToken) {
  const auto files = test::small_files(kLlama);
  const auto model = load(files, with_end(std::numeric_limits<float>::max()));
  ASSERT_TRUE(model.ok()) << model.error().message;
  for (const std::int64_t beams : {1, 3}) {
    GenerateRequest request;
    request.options.num_beams = beams;
    const auto stepped = std::move(Generation::begin(*model.value(), {{1, 7, 19}}, request)).value()->step();
    ASSERT_FALSE(stepped.ok());
    EXPECT_NE(stepped.error().message.find("not finite"), std::string::npos) << stepped.error().message;
  }
  EXPECT_TRUE(test::forward_ids(*model.value(), std::vector<std::int32_t>{1, 7}, {.logit_lens = 5}).ok());
}

TEST(HostileDecoders, TruncatedOrInvalidGgufHeadersAreErrors) {
  const std::string kWeights = std::string(WATTN_TEST_DATA) + "/../../shared/data/weights/";
  if (!test::has_file(kWeights + "vespa-tinyllm.gguf")) GTEST_SKIP() << "no trained Llama in GGUF at " << kWeights;
  const std::string bytes = test::read_file(kWeights + "vespa-tinyllm.gguf");
  for (std::size_t size = 0; size < 30000; size += 1 + size / 8) {
    bool is_cut_off = false;
    const auto files = gguf_files(std::string_view(bytes).substr(0, size), is_cut_off);
    EXPECT_TRUE(!files.ok() || is_cut_off || !files.value().empty());
    EXPECT_FALSE(ModelLoader::begin({{"m.gguf", bytes.substr(0, size)}}, {.head = HeadKind::kCausalLm}).ok() && size < 8000);
  }
  std::string odd = bytes.substr(0, 60000);
  const std::size_t at = odd.find("llama", odd.find("general.architecture"));
  odd.replace(at, 5, "xlama");
  const auto loader = ModelLoader::begin({{"m.gguf", odd}}, {.head = HeadKind::kCausalLm});
  ASSERT_FALSE(loader.ok());
  EXPECT_NE(loader.error().message.find("xlama"), std::string::npos) << loader.error().message;
}

}  // namespace
}  // namespace wattn
