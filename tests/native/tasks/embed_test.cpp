// embed() from strings on the tiny BERT, against sentence-transformers.
#include "tasks/embed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/utf.h"
#include "native/support/models.h"
#include "tasks/forward.h"

namespace wattn {
namespace {

using test::golden;
using test::load_model;
using test::read_file;
using test::small_files;

struct Texts {
  std::vector<std::u16string> owned;
  std::vector<std::u16string_view> views;
  explicit Texts(JsonRef array) {
    for (std::size_t i = 0; i < array.size(); ++i) owned.push_back(to_utf16(array[i].as_string().value()));
    views.assign(owned.begin(), owned.end());
  }
};

// Goldens are exact and rounded once; torch's f32 is off by f32_diff. See bert_test.cpp for the factor.
void expect_vectors(const EmbedResult& got, JsonRef expected, double f32_diff) {
  ASSERT_EQ(got.data.size(), expected.size() * expected[0].size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      const double exact = expected[i][j].as_number().value();
      ASSERT_NEAR(got.data[i * expected[i].size() + j], exact, 4 * std::max(f32_diff, std::abs(exact) * 0x1p-23))
          << "text " << i << ", component " << j;
    }
  }
}

// The tiny model with another pooling config.
std::unique_ptr<Model> model_with_pooling(JsonRef mode, bool include_prompt) {
  const std::string folder = golden("bert-tiny/model");
  std::vector<NamedFile> files = small_files(folder);
  std::string modes = mode.is_array() ? "[" : "\"" + std::string(mode.as_string_or("").value()) + "\"";
  for (std::size_t i = 0; i < (mode.is_array() ? mode.size() : 0); ++i) {
    modes += (i ? ",\"" : "\"") + std::string(mode[i].as_string().value()) + "\"";
  }
  if (mode.is_array()) modes += "]";
  for (NamedFile& file : files) {
    if (file.name != "1_Pooling/config.json") continue;
    file.bytes = "{\"embedding_dimension\":32,\"pooling_mode\":" + modes +
                 ",\"include_prompt\":" + (include_prompt ? "true" : "false") + "}";
  }
  return std::move(load_model(files, folder)).value();
}

TEST(Embed, HasTheSameBitsInStepsOfADevice) {
  const auto model = load_model(golden("bert-tiny/model"));
  ASSERT_TRUE(model.ok());
  const std::u16string_view texts[] = {u"boat", u"the old boat on the river", u"", u"birds sing", u"the river bends west"};
  EmbedOptions windows{.pooling = std::vector{PoolingMode::kMean, PoolingMode::kCls}, .prompt = "a "};
  windows.overflow = Overflow::kWindowMean;
  windows.max_length = 5;
  for (const EmbedOptions& options : {EmbedOptions{.pooling = std::vector<PoolingMode>{}}, EmbedOptions{}, windows}) {
    const auto whole = embed(*model.value(), texts, options);
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    auto job = EmbedJob::begin(*model.value(), texts, options);
    ASSERT_TRUE(job.ok());
    EmbedJob& steps = *job.value();
    for (bool more = true; more;) {
      ASSERT_TRUE(steps.gather(12).ok());
      const std::int64_t count = steps.batch().batch();
      std::vector<float> rows = steps.device_rows(0, 1).value();
      const std::vector<float> rest = steps.device_rows(1, count).value();
      rows.insert(rows.end(), rest.begin(), rest.end());
      const auto finished = steps.finish(rows);
      ASSERT_TRUE(finished.ok());
      more = finished.value();
    }
    const EmbedResult got = steps.take_result();
    EXPECT_EQ(got.data, whole.value().data);
    EXPECT_EQ(got.tokens, whole.value().tokens);
    EXPECT_EQ(got.windows, whole.value().windows);
  }
}

TEST(Embed, PoolsAndPromptsAsSentenceTransformersDoes) {
  const auto poolings = Json::parse(read_file(golden("bert-tiny/poolings.json")), "poolings.json");
  const JsonRef root = poolings.value().root();
  const Texts texts(root["texts"]);
  for (std::size_t i = 0; i < root["cases"].size(); ++i) {
    const JsonRef one = root["cases"][i];
    SCOPED_TRACE("case " + std::to_string(i));
    const auto model = model_with_pooling(one["pooling_mode"], one["include_prompt"].as_bool().value());
    EmbedOptions options;
    options.normalize = one["normalize"].as_bool().value();
    if (!one["prompt_name"].is_null())
      options.prompt = find_prompt(model->sentence(), one["prompt_name"].as_string().value()).value();
    const auto result = embed(*model, texts.views, options);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_TRUE(result.value().pooled);
    expect_vectors(result.value(), one["vectors"], one["f32_diff"].as_number().value());
  }
}

TEST(Embed, FollowsTheRepositorysFilesInOldAndNewForm) {
  const auto json = Json::parse(read_file(golden("bert-tiny/embeddings.json")), "embeddings.json");
  const JsonRef rows = json.value().root()["rows"];
  const std::string folder = golden("bert-tiny/model");
  std::vector<NamedFile> legacy = small_files(folder);
  for (NamedFile& file : legacy) {
    const std::string old = golden("bert-tiny/legacy/") + file.name;
    if (test::has_file(old)) file.bytes = read_file(old);
  }
  for (const auto& files : {small_files(folder), legacy}) {
    const auto model = load_model(files, folder);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model.value()->max_length(), json.value().root()["max_seq_length"].as_int().value());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::u16string text = to_utf16(rows[i]["text"].as_string().value());
      const std::u16string_view views[] = {text};
      const auto result = embed(*model.value(), views, {});
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(result.value().tokens[0], static_cast<int>(rows[i]["input_ids"].size()));
      EXPECT_EQ(result.value().tokens_untruncated[0], rows[i]["tokens_before_truncation"].as_int().value());
      for (std::size_t j = 0; j < rows[i]["vector"].size(); ++j) {
        ASSERT_NEAR(result.value().data[j], rows[i]["vector"][j].as_number().value(),
                    4 * json.value().root()["torch_f32_to_exact"].as_number().value())
            << "text " << i << ", component " << j;
      }
    }
  }
}

TEST(Embed, ReadsHalfPrecisionAndShards) {
  const auto json = Json::parse(read_file(golden("bert-tiny/embeddings.json")), "embeddings.json");
  const JsonRef half = json.value().root()["half_precision_weights"];
  const Texts texts(half["texts"]);
  for (const auto& [folder, key] : {std::pair{"model-f16", "f16"}, {"model-bf16", "bf16"}, {"model-sharded", "f16"}}) {
    std::vector<NamedFile> files = small_files(golden("bert-tiny/model"));
    const std::string path = golden(std::string("bert-tiny/") + folder);
    for (const NamedFile& file : small_files(path)) {
      std::erase_if(files, [&](const NamedFile& other) { return other.name == file.name; });
      files.push_back(file);
    }
    for (const std::size_t chunk : {std::size_t{1} << 20, std::size_t{7}}) {
      const auto model = load_model(files, path, {}, chunk);
      ASSERT_TRUE(model.ok()) << folder << ": " << model.error().message;
      const auto result = embed(*model.value(), texts.views, {});
      ASSERT_TRUE(result.ok());
      expect_vectors(result.value(), half[key], json.value().root()["torch_f32_to_exact"].as_number().value());
      const auto narrow = load_model(files, path, {.dtype = WeightType::kF16}, chunk);
      ASSERT_TRUE(narrow.ok()) << folder << ": " << narrow.error().message;
      EXPECT_LT(narrow.value()->weight_bytes(), model.value()->weight_bytes() * 0.6) << folder;
      EXPECT_EQ(embed(*narrow.value(), texts.views, {}).value().data, result.value().data) << folder;
    }
  }
}

// 300 texts of 0 to 59 pieces, lone surrogates among them.
std::vector<std::u16string> mixed_texts() {
  const std::u16string pieces[] = {u"the ",   u"bridge ",     u"home, ",      u"\u00e9t\u00e9 ",
                                   u"\u4e2d", u"unknowable ", u"\U0001F600 ", std::u16string(1, 0xD800)};
  std::vector<std::u16string> texts;
  std::uint32_t state = 1;
  for (int i = 0; i < 300; ++i) {
    std::u16string& text = texts.emplace_back();
    for (int length = i % 60; length > 0; --length) text += pieces[(state = state * 1664525u + 1013904223u) >> 29];
  }
  return texts;
}

TEST(Embed, GivesTheSameBitsAloneAndInABatch) {
  const auto model = load_model(golden("bert-tiny/model"));
  ASSERT_TRUE(model.ok());
  const std::vector<std::u16string> texts = mixed_texts();
  const std::vector<std::u16string_view> views(texts.begin(), texts.end());
  const auto together = embed(*model.value(), views, {});
  ASSERT_TRUE(together.ok());
  const std::size_t dim = static_cast<std::size_t>(together.value().dim);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto alone = embed(*model.value(), std::span(&views[i], 1), {});
    ASSERT_TRUE(alone.ok());
    ASSERT_EQ(std::memcmp(alone.value().data.data(), together.value().data.data() + i * dim, dim * sizeof(float)), 0)
        << "text " << i;
  }
}

// FNV-1a over the bytes.
std::uint64_t hash_of(const std::vector<float>& values) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 0x100000001B3u;
  return hash;
}

// Precision 'exact' guarantees one hash for native and wasm, with SIMD and without, on every machine. It changes
// only with an intended change of the arithmetic.
TEST(Embed, HasTheSameBitsInEveryBuild) {
  const auto model = load_model(golden("bert-tiny/model"));
  ASSERT_TRUE(model.ok());
  const std::vector<std::u16string> texts = mixed_texts();
  const auto result = embed(*model.value(), std::vector<std::u16string_view>(texts.begin(), texts.end()), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(hash_of(result.value().data), 0x082fc6f24575e547u);
}

TEST(Embed, HasTheSameBitsFromAGgufFileOfTheSameWeights) {
  const std::vector<NamedFile> header = {{"f32.gguf", test::read_file(golden("gguf/f32.gguf"))}};
  const auto gguf = load_model(header, golden("gguf"));
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const auto model = load_model(golden("bert-tiny/model"));
  ASSERT_TRUE(model.ok());
  const std::vector<std::u16string> texts = mixed_texts();
  const std::vector<std::u16string_view> views(texts.begin(), texts.end());
  EmbedOptions options;
  options.max_length = 48;  // sentence_bert_config.json's, which GGUF has no key for
  const auto ours = embed(*gguf.value(), views, options);
  const auto theirs = embed(*model.value(), views, options);
  ASSERT_TRUE(ours.ok() && theirs.ok());
  EXPECT_EQ(ours.value().data, theirs.value().data);
}

// The last hidden state of a golden architecture from its GGUF file.
void expect_last_state(const std::string& name, const std::string& file) {
  const std::string folder = golden("architectures/" + name);
  const auto model = load_model({{file, read_file(folder + "/" + file)}}, folder);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value()->sentence().pooling, (std::vector<PoolingMode>{PoolingMode::kMean}));
  const std::string last_state = "hidden_states." + std::to_string(model.value()->transformer().config().num_hidden_layers);
  const Json expected = std::move(Json::parse(read_file(folder + "/expected.json"), "expected.json")).value();
  const std::vector<float> all = test::read_floats(folder + "/expected.f32");
  for (std::size_t i = 0; i < 2; ++i) {
    const JsonRef input = expected.root()["inputs"][i];
    const JsonRef last = input["tensors"][last_state];
    std::vector<std::int32_t> ids, types;
    for (std::size_t j = 0; j < input["input_ids"].size(); ++j) {
      ids.push_back(static_cast<std::int32_t>(input["input_ids"][j].as_int().value()));
      types.push_back(static_cast<std::int32_t>(input["token_type_ids"][j].as_int().value()));
    }
    Batch batch;
    batch.add_sequence(ids, types);
    const auto hidden = model.value()->run(batch, nullptr);
    ASSERT_TRUE(hidden.ok());
    const auto offset = static_cast<std::size_t>(last["offset"].as_int().value());
    // architectures_test.cpp's bound, by this tensor alone.
    const double most = 4 * std::max(last["f32_diff"].as_number().value(), last["max_abs"].as_number().value() * 0x1p-23);
    for (std::size_t j = 0; j < ids.size() * 24; ++j) ASSERT_NEAR(hidden.value()[j], all[offset + j], most) << name << " " << j;
  }
}

TEST(Embed, ReadsLlamaCppsFilesOfOtherEncoders) {
  expect_last_state("nomic-bert", "model.gguf");
  expect_last_state("jina-bert", "model.gguf");
  expect_last_state("jina-bert", "apart.gguf");
  expect_last_state("modernbert", "model.gguf");
}

TEST(Embed, RejectsUnsupportedGgufFiles) {
  const auto error_of = [](const std::string& from, const std::string& to) {
    std::string bytes = read_file(golden("architectures/modernbert/model.gguf"));
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos);
    bytes.replace(at, from.size(), to);
    const auto loader = ModelLoader::begin({{"m.gguf", bytes}}, {});
    return loader.ok() ? "loaded" : loader.error().message;
  };
  EXPECT_EQ(error_of("modern-bert", "modern-berg"),
            "m.gguf: general.architecture: expected an architecture listed in docs/models.md, found \"modern-berg\"; similar: "
            "\"modern-bert\"");
  EXPECT_EQ(error_of("block_count", "block_kount"), "m.gguf: modern-bert.block_count: expected a number, found none");
  EXPECT_EQ(error_of("none", "yarn"),
            "m.gguf: modern-bert.rope.scaling.type: expected \"none\" or \"linear\" with a factor, found \"yarn\"");
}

TEST(Embed, HasTheSameBitsInEveryBuildOnTheRealMiniLm) {
  const std::string folder = test::real_model("all-MiniLM-L6-v2");
  if (!test::has_file(folder + "/model.safetensors"))
    GTEST_SKIP() << "no checkpoint at " << folder << " (tools/fetch_minilm.mjs brings it)";
  const auto model = load_model(folder);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::vector<std::u16string> texts = mixed_texts();
  const auto result = embed(*model.value(), std::vector<std::u16string_view>(texts.begin() + 15, texts.begin() + 21), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(hash_of(result.value().data), 0x3e28aecb7b10f5c0u);
}

TEST(Embed, WithoutPoolingGivesAVectorPerToken) {
  const auto model = load_model(golden("bert-tiny/model"));
  const std::u16string_view texts[] = {u"the old bridge", u""};
  EmbedOptions options;
  options.pooling = std::vector<PoolingMode>{};
  options.normalize = false;
  const auto result = embed(*model.value(), texts, options);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result.value().pooled);
  EXPECT_EQ(static_cast<std::int64_t>(result.value().data.size()),
            (result.value().tokens[0] + result.value().tokens[1]) * result.value().dim);
}

TEST(Embed, RejectsInvalidOptionsByName) {
  const auto model = load_model(golden("bert-tiny/model"));
  const std::u16string long_text(4000, u'a');
  std::u16string words;
  for (int i = 0; i < 100; ++i) words += u"the ";
  const std::u16string_view texts[] = {words};
  EmbedOptions refuse;
  refuse.overflow = Overflow::kError;
  auto result = embed(*model.value(), texts, refuse);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "text 0: expected at most 48 tokens, found 102 (on_overflow is 'error')");
  for (const std::int64_t length : {-1, 0, 1, 65, 1 << 30}) {
    EmbedOptions options;
    options.max_length = length;
    result = embed(*model.value(), texts, options);
    ASSERT_FALSE(result.ok()) << length;
    EXPECT_EQ(result.error().code, ErrorCode::kInput);
    EXPECT_NE(result.error().message.find("max_length"), std::string::npos) << result.error().message;
  }
  const auto prompt = find_prompt(model.value()->sentence(), "quary");
  ASSERT_FALSE(prompt.ok());
  EXPECT_EQ(prompt.error().message, "prompt_name: expected one of 'document', 'query', found 'quary'");
}

TEST(Embed, WindowsAreTextsOfTheirOwn) {
  const auto model = load_model(golden("bert-tiny/model"));
  std::u16string words;
  for (int i = 0; i < 60; ++i) words += i % 3 == 0 ? u"the " : u"bridge ";
  const std::u16string_view texts[] = {words, u"the old bridge"};
  EmbedOptions options;
  options.overflow = Overflow::kWindows;
  options.normalize = false;
  const auto windows = embed(*model.value(), texts, options);
  options.overflow = Overflow::kWindowMean;
  const auto mean = embed(*model.value(), texts, options);
  options.overflow = Overflow::kTruncate;
  const auto cut = embed(*model.value(), texts, options);
  ASSERT_TRUE(windows.ok() && mean.ok() && cut.ok());
  EXPECT_EQ(windows.value().windows, (std::vector<std::int32_t>{2, 1}));  // 60 words in windows of 46
  EXPECT_EQ(windows.value().tokens, (std::vector<std::int32_t>{48 + 16, 5}));
  EXPECT_EQ(windows.value().tokens_untruncated, (std::vector<std::int32_t>{62, 5}));
  EXPECT_EQ(cut.value().windows, (std::vector<std::int32_t>{1, 1}));
  const std::vector<float>& all = windows.value().data;
  ASSERT_EQ(all.size(), 3U * 32);
  ASSERT_EQ(mean.value().data.size(), 2U * 32);
  for (std::size_t j = 0; j < 32; ++j) {
    EXPECT_EQ(all[j], cut.value().data[j]);
    EXPECT_EQ(mean.value().data[j], (all[j] + all[32 + j]) / 2);
    EXPECT_EQ(mean.value().data[32 + j], all[64 + j]);
  }
}

double length_of(const std::vector<float>& vector) {
  double sum = 0;
  for (const float x : vector) sum += double{x} * x;
  return std::sqrt(sum);
}

// sentence-transformers: the repository's Normalize, then truncation, then the caller's.
TEST(Embed, TruncatesBetweenBothNormalizations) {
  const auto model = load_model(golden("bert-tiny/model"));
  const std::u16string_view texts[] = {u"the old bridge"};
  const auto run = [&](std::optional<std::int64_t> dim, std::optional<bool> normalize) {
    return embed(*model.value(), texts, {.normalize = normalize, .truncate_dim = dim}).value();
  };
  const std::vector<float> whole = run({}, {}).data, plain = run({}, false).data;
  EXPECT_NEAR(length_of(whole), 1, 1e-6);
  EXPECT_GT(std::abs(length_of(plain) - 1), 1e-3);
  EXPECT_EQ(run({}, true).data, whole);
  EXPECT_EQ(run(8, {}).dim, 8);
  EXPECT_EQ(run(8, {}).data, std::vector<float>(whole.begin(), whole.begin() + 8));
  EXPECT_EQ(run(8, false).data, std::vector<float>(plain.begin(), plain.begin() + 8));
  EXPECT_NEAR(length_of(run(8, true).data), 1, 1e-6);
  EXPECT_EQ(run(32, {}).data, whole);
}

TEST(Embed, SaysWhatIsWrongWithVectorOptions) {
  const auto model = load_model(golden("bert-tiny/model"));
  const std::u16string_view texts[] = {u"a"};
  for (const std::int64_t dim : {0, 33}) {
    EXPECT_EQ(embed(*model.value(), texts, {.truncate_dim = dim}).error().message,
              "truncate_dim: expected a whole number from 1 to 32 (the vector's components), found " + std::to_string(dim));
  }
  for (const Overflow overflow : {Overflow::kWindows, Overflow::kWindowMean}) {
    EXPECT_EQ(embed(*model.value(), texts, {.pooling = std::vector<PoolingMode>{}, .overflow = overflow}).error().message,
              "on_overflow: 'window': expected a pooling, found none");
  }
  SentenceConfig sentence;
  EXPECT_EQ(find_prompt(sentence, "").value(), "");
  EXPECT_EQ(find_prompt(sentence, "query").error().message,
            "prompt_name: expected nothing (this model has no prompts), found 'query'");
  sentence.prompts = {{"query", "q: "}};
  sentence.default_prompt_name = "query";
  EXPECT_EQ(find_prompt(sentence, "").value(), "q: ");
  const std::string folder = golden("embedders/sentence-t5/model");
  const auto dense = load_model(folder);
  EXPECT_EQ(embed(*dense.value(), texts, {.pooling = std::vector{PoolingMode::kMean, PoolingMode::kMax}}).error().message,
            "pooling: expected the 32 components of the model's Dense module, found 64");
}

TEST(Forward, ReturnsHiddenStatesAndAttentionsThatSumToOne) {
  const auto model = load_model(golden("bert-tiny/model"));
  Batch batch;
  batch.add_sequence(std::vector<std::int32_t>{2, 96, 275, 3}, std::vector<std::int32_t>(4, 0));
  batch.add_sequence(std::vector<std::int32_t>{2, 3}, std::vector<std::int32_t>(2, 0));
  const auto plain = forward(*model.value(), batch, {});
  const auto result = forward(*model.value(), batch, {.output_hidden_states = true, .output_attentions = true});
  ASSERT_TRUE(result.ok() && plain.ok());
  EXPECT_EQ(plain.value().last_hidden_state, result.value().last_hidden_state);
  EXPECT_TRUE(plain.value().hidden_states.empty() && plain.value().attentions.empty());
  ASSERT_EQ(result.value().hidden_states.size(), 3u);
  EXPECT_EQ(result.value().hidden_states.back(), result.value().last_hidden_state);
  EXPECT_EQ(result.value().pooler_output.size(), 2u * 32);
  ASSERT_EQ(result.value().attentions.size(), 2u);
  ASSERT_EQ(result.value().attentions[0].size(), 4u * (4 * 4 + 2 * 2));
  for (int row = 0; row < 16; ++row) {
    float sum = 0;
    for (int j = 0; j < 4; ++j) sum += result.value().attentions[0][row * 4 + j];
    EXPECT_NEAR(sum, 1, 4 * 0x1p-23);
  }
}

}  // namespace
}  // namespace wattn
