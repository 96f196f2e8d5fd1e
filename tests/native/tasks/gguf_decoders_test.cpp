// GGUF files as written by llama.cpp against transformers' generate() with the same weights, token for token
// (tests/goldens/gguf-decoders, made by tools/goldens/gguf_decoders.py).
#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "core/utf.h"
#include "native/support/generation.h"
#include "tasks/embed.h"
#include "tasks/generate.h"

namespace wattn {
namespace {

using test::golden;
using test::read_file;
using Ids = std::vector<std::int32_t>;

const std::string kFolder = golden("gguf-decoders"), kFamilies = golden("gguf-families");

Ids to_ids(JsonRef array) {
  Ids out;
  for (std::size_t i = 0; i < array.size(); ++i) out.push_back(static_cast<std::int32_t>(array[i].as_int().value()));
  return out;
}

std::vector<Ids> generate(Model& model, JsonRef prompts, JsonRef run) {
  GenerateRequest request;
  request.max_new_tokens = run["max_new_tokens"].as_int().value();
  request.options.eos_token_ids = {1};
  request.options.num_beams = run["num_beams"].as_int_or(1).value();
  request.options.repetition_penalty = run["repetition_penalty"].as_number_or(1).value();
  for (std::size_t i = 0; i < run["bad_words_ids"].size(); ++i)
    request.options.bad_words.push_back(to_ids(run["bad_words_ids"][i]));
  request.options.renormalize_logits = run["renormalize_logits"].as_bool_or(false).value();
  if (model.decoder()) request.decoder_start_token_id = 0;
  std::vector<Ids> starts, out;
  for (std::size_t i = 0; i < prompts.size(); ++i) starts.push_back(to_ids(prompts[i]));
  auto generation = Generation::begin(model, starts, request);
  EXPECT_TRUE(generation.ok()) << generation.error().message;
  while (generation.ok()) {
    const auto more = generation.value()->step();
    if (!more.ok() || !more.value()) break;
  }
  if (!generation.ok()) return out;
  for (const auto& results : generation.value()->results()) out.push_back(results.front().tokens);
  return out;
}

Json expected(const std::string& folder = kFolder) {
  return std::move(Json::parse(read_file(folder + "/expected.json"), "expected.json")).value();
}

Result<std::unique_ptr<Model>> load(const std::string& name, const std::string& bytes, HeadKind head) {
  return test::load_with({{name, bytes}}, [&](const std::string&) { return bytes; }, {.head = head});
}

// kind: "decoders" or "seq2seq".
void expect_tokens(const std::string& kind, const std::string& folder = kFolder) {
  const Json all = expected(folder);
  bool shows = false;  // beams with forbidden words have other scores when renormalized
  for (const auto& [name, made] : all.root()[kind].members()) {
    const std::string file = std::string(name) + ".gguf";
    const auto model = load(file, read_file(folder + "/" + file), kind == "seq2seq" ? HeadKind::kSeq2SeqLm : HeadKind::kCausalLm);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    const bool reads = kind == "seq2seq";
    const JsonRef runs = reads ? made["tokens"] : made;
    shows = shows || runs["plain"].to_text() != runs["renormalized"].to_text();
    for (const auto& [run, tokens] : runs.members()) {
      const auto got = generate(*model.value(), reads ? made["sources"] : all.root()["prompts"], all.root()["runs"][run]);
      ASSERT_EQ(got.size(), tokens.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], to_ids(tokens[i])) << name << " " << run << " " << i;
    }
  }
  EXPECT_TRUE(shows);
}

TEST(GgufDecoders, GiveTheTokensOfTransformersFromEveryBlockTypeAndScaledFrequencies) { expect_tokens("decoders"); }

// Each family's file by gguf-py, and those with the block types of small models' Q4_K_M.
TEST(GgufDecoders, GiveTheTokensOfTransformersInEveryFamily) { expect_tokens("decoders", kFamilies); }

// With value heads in llama.cpp's order, also of quantized columns, and with layers that only predict later tokens.
TEST(GgufDecoders, GiveTheTokensOfTransformersFromAGatedDeltaNet) { expect_tokens("decoders", golden("gguf-gated-delta")); }

TEST(GgufEncoders, GiveTheIdsAndVectorsOfTransformers) {
  const Json all = expected(kFamilies);
  std::size_t count = 0;
  for (const auto& [name, made] : all.root()["encoders"].members()) {
    const std::string file = std::string(name) + ".gguf";
    const auto model = load(file, read_file(kFamilies + "/" + file), HeadKind::kNone);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    const Tokenizer& tokenizer = model.value()->tokenizer();
    for (std::size_t i = 0; i < made["texts"].size(); ++i) {
      const std::u16string text = to_utf16(made["texts"][i].as_string().value());
      EXPECT_EQ(tokenizer.encode(text, {}).value().ids, to_ids(made["ids"][i])) << name << " " << i;
      const auto found = embed(*model.value(), std::vector<std::u16string_view>{text}, {});
      ASSERT_TRUE(found.ok()) << name << ": " << found.error().message;
      const JsonRef vector = made["vectors"][i];
      ASSERT_EQ(found.value().data.size(), vector.size());
      for (std::size_t j = 0; j < vector.size(); ++j, ++count) {
        ASSERT_NEAR(found.value().data[j], vector[j].as_number().value(), 2e-6) << name << " " << i << " " << j;
      }
    }
    for (std::size_t i = 0; i < made["pairs"].size(); ++i) {
      const auto text = [&](std::size_t which) { return to_utf16(made["pairs"][i][which].as_string().value()); };
      EXPECT_EQ(tokenizer.encode_pair(text(0), text(1), {}).value().ids, to_ids(made["pair_ids"][i])) << name << " " << i;
    }
  }
  EXPECT_GT(count, 400u);
}

TEST(GgufDecoders, GiveTheTokensOfTransformersFromUngatedAndGatedT5) { expect_tokens("seq2seq"); }

TEST(GgufDecoders, ReadTheTokenizerOfT5) {
  const Json all = expected();
  const JsonRef t5 = all.root()["seq2seq"]["t5"];
  const auto model = load("t5.gguf", read_file(kFolder + "/t5.gguf"), HeadKind::kSeq2SeqLm);
  ASSERT_TRUE(model.ok());
  for (std::size_t i = 0; i < t5["texts"].size(); ++i) {
    const auto text = to_utf16(t5["texts"][i].as_string().value());
    EXPECT_EQ(model.value()->tokenizer().encode(text, {}).value().ids, to_ids(t5["sources"][i]));
    EXPECT_EQ(model.value()->tokenizer().decode(to_ids(t5["sources"][i]), true, false).value(), t5["texts"][i].as_string().value());
  }
}

// Without the factors the same file gives other tokens; implausible factors neither crash nor loop in the reduction of angles.
TEST(GgufDecoders, FrequencyFactorsAreAppliedAndImplausibleOnesGiveNan) {
  const std::string bytes = read_file(kFolder + "/llama.gguf");
  const std::size_t name = bytes.find("rope_freqs.weight");
  ASSERT_NE(name, std::string::npos);
  const Ids ids = {5, 17, 40, 8, 61, 33, 21, 7, 9, 88, 54, 12};
  const auto logits = [&](const std::string& file) -> std::vector<float> {
    const auto model = load("llama.gguf", file, HeadKind::kCausalLm);
    if (!model.ok()) return {};
    return test::forward_ids(*model.value(), ids).value().logits;
  };
  // The tensor is the file's last: 4 factors, three of them 8, and padding.
  const float last[] = {8, 8, 8};
  const std::size_t found = bytes.rfind(std::string(reinterpret_cast<const char*>(last), sizeof(last)));
  ASSERT_NE(found, std::string::npos);
  ASSERT_GT(found + 64, bytes.size());
  const std::size_t data = found - 4;
  const auto with = [&](float factor) {
    std::string out = bytes;
    for (int j = 0; j < 4; ++j)
      std::copy_n(reinterpret_cast<const char*>(&factor), 4, out.begin() + static_cast<long>(data) + 4 * j);
    return logits(out);
  };
  const auto exact = logits(bytes);
  EXPECT_NE(with(1), exact);
  for (const float odd : {0.0f, -1.0f, 1e-30f, 1e30f}) EXPECT_TRUE(std::isnan(with(odd).back())) << odd;
  for (const float odd : {HUGE_VALF, NAN}) EXPECT_TRUE(with(odd).empty()) << odd;  // rejected while loading
}

TEST(GgufDecoders, RejectUnsupportedFiles) {
  std::string foreign = read_file(kFolder + "/t5.gguf");
  const std::size_t at = foreign.find("t5", foreign.find("general.architecture") + 20);
  foreign.replace(at, 2, "t9");
  const auto loader = ModelLoader::begin({{"t5.gguf", foreign}}, {.head = HeadKind::kSeq2SeqLm});
  ASSERT_FALSE(loader.ok());
  EXPECT_NE(loader.error().message.find("general.architecture: expected an architecture listed in docs/models.md"),
            std::string::npos)
      << loader.error().message;
  const auto as_decoder = ModelLoader::begin({{"t5.gguf", read_file(kFolder + "/t5.gguf")}}, {.head = HeadKind::kCausalLm});
  ASSERT_FALSE(as_decoder.ok());
  EXPECT_NE(as_decoder.error().message.find("text2text-generation"), std::string::npos) << as_decoder.error().message;
}

}  // namespace
}  // namespace wattn
