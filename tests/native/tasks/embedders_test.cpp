// Embeddings from decoders and from the encoder half of T5, against sentence-transformers and transformers' AutoModel
// (tests/goldens/embedders).
#include <gtest/gtest.h>

#include <cmath>

#include "core/utf.h"
#include "native/support/goldens.h"
#include "native/support/models.h"
#include "tasks/embed.h"

namespace wattn {
namespace {

using test::golden;
using test::Ids;
using test::read_json;
using test::to_ids;

const std::string kFolder = "embedders/";

EmbedResult embed_text(Model& model, JsonRef text, const EmbedOptions& options) {
  const std::u16string utf16 = to_utf16(text.as_string().value());
  const std::u16string_view views[] = {utf16};
  auto result = embed(model, views, options);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(result).value() : EmbedResult();
}

// The options of sentence-transformers' call.
EmbedOptions to_options(const Model& model, JsonRef call) {
  const JsonRef options = call["options"];
  EmbedOptions out;
  if (!options["truncate_dim"].is_null()) out.truncate_dim = options["truncate_dim"].as_int().value();
  std::string prompt_name(options["prompt_name"].as_string_or("").value());
  const std::string_view how = call["how"].as_string().value();
  if (how.starts_with("encode_")) prompt_name = how.substr(7);
  out.prompt =
      prompt_name.empty() ? options["prompt"].as_string_or("").value() : find_prompt(model.sentence(), prompt_name).value();
  return out;
}

// At most four times the difference of torch's f32 and f64; see bert_test.cpp.
void expect_vectors(Model& model, JsonRef expected, JsonRef call) {
  const EmbedOptions options = to_options(model, call);
  const bool has_prompt = !options.prompt.empty();
  for (std::size_t i = 0; i < expected["texts"].size(); ++i) {
    const EmbedResult got = embed_text(model, expected["texts"][i], options);
    EXPECT_TRUE(has_prompt || got.tokens_untruncated[0] == expected["tokens"][i].as_int().value());
    const auto width = static_cast<std::size_t>(call["shape"][1].as_int().value());
    ASSERT_EQ(got.data.size(), width);
    for (std::size_t j = 0; j < width; ++j) {
      const double exact = call["vectors"][i * width + j].as_number().value();
      const double bound = 4 * std::max(call["f32_diff"].as_number().value(), std::abs(exact) * 0x1p-23);
      ASSERT_NEAR(got.data[j], exact, bound) << "text " << i << ", component " << j;
    }
  }
}

TEST(Embedders, HaveTheVectorsOfSentenceTransformers) {
  for (const char* name : {"qwen3", "sentence-t5", "embeddinggemma"}) {
    const auto model = test::load_model(golden(kFolder + name + "/model"));
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    EXPECT_EQ(model.value()->max_length(), 136);
    const Json expected = read_json(kFolder + name + "/expected.json");
    for (std::size_t i = 0; i < expected.root()["cases"].size(); ++i) {
      const JsonRef call = expected.root()["cases"][i];
      SCOPED_TRACE(name + (": " + std::string(call["how"].as_string().value())) + call["options"].to_text());
      expect_vectors(*model.value(), expected.root(), call);
    }
  }
}

// legacy/ has the form of Qwen3-Embedding's files.
TEST(Embedders, OldAndNewFilesGiveTheSameBits) {
  const std::string folder = golden(kFolder + "qwen3/model");
  auto files = test::small_files(folder);
  for (NamedFile& file : files) {
    const std::string old = golden(kFolder + "qwen3/legacy/") + file.name;
    if (test::has_file(old)) file.bytes = test::read_file(old);
  }
  const auto model = test::load_model(folder), legacy = test::load_model(files, folder);
  ASSERT_TRUE(model.ok() && legacy.ok()) << legacy.error().message;
  const Json expected = read_json(kFolder + "qwen3/expected.json");
  for (std::size_t i = 0; i < expected.root()["texts"].size(); ++i) {
    const JsonRef text = expected.root()["texts"][i];
    EXPECT_EQ(embed_text(*legacy.value(), text, {}).data, embed_text(*model.value(), text, {}).data);
  }
}

// The files of a model whose config.json has more members.
std::vector<NamedFile> files_with(const std::string& folder, JsonRef members) {
  auto files = test::small_files(folder);
  std::string more = members.to_text();
  if (members.size() > 0) more.back() = ',';
  for (NamedFile& file : files) {
    if (file.name == "config.json" && members.size() > 0) file.bytes.replace(file.bytes.find('{'), 1, more);
  }
  return files;
}

TEST(Embedders, DecodersAndEncodersOfT5HaveTheStatesOfAutoModel) {
  const Json cases = read_json(kFolder + "features.json");
  const std::vector<float> floats = test::read_floats(golden(kFolder + "features.f32"));
  const std::pair<const char*, std::vector<PoolingMode>> poolings[] = {{"last_hidden_state", {}},
                                                                       {"cls", {PoolingMode::kCls}},
                                                                       {"mean", {PoolingMode::kMean}},
                                                                       {"last_token", {PoolingMode::kLastToken}},
                                                                       {"mean_normalized", {PoolingMode::kMean}}};
  for (std::size_t i = 0; i < cases.root().size(); ++i) {
    const JsonRef one = cases.root()[i];
    const std::string name = std::string(one["class"].as_string().value()) + one["config"].to_text();
    const std::string folder = golden(std::string(one["model"].as_string().value()));
    const auto model = test::load_model(files_with(folder, one["config"]), folder);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    EXPECT_FALSE(model.value()->has_lm_head());
    EXPECT_EQ(model.value()->decoder(), nullptr);
    for (std::size_t j = 0; j < one["inputs"].size(); ++j) {
      const JsonRef input = one["inputs"][j];
      for (const auto& [kind, pooling] : poolings) {
        EmbedOptions options{.max_length = model.value()->transformer().positions()};  // not the tokenizer's own limit
        options.pooling = pooling;
        options.normalize = std::string_view(kind) == "mean_normalized";
        const EmbedResult got = embed_text(*model.value(), input["text"], options);
        const JsonRef about = input["tensors"][kind];
        const double bound = 4 * std::max(about["f32_diff"].as_number().value(), about["max_abs"].as_number().value() * 0x1p-23);
        test::expect_near(got.data, about, floats, bound, name + ", text " + std::to_string(j) + ", " + kind);
      }
    }
  }
}

}  // namespace
}  // namespace wattn
