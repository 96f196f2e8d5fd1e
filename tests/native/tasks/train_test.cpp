// Trainer and checkpoint() over every architecture with tiny weights.
#include "tasks/train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "models/arch.h"
#include "native/support/goldens.h"
#include "native/support/models.h"
#include "native/support/transformers.h"
#include "tasks/embed.h"
#include "tasks/train_modules.h"

namespace wattn {
namespace {

using test::golden;

const char* const kFolders[] = {"bert-tiny/model",          "architectures/albert",     "architectures/deberta-v3",
                                "architectures/distilbert", "architectures/electra",    "architectures/gte-new",
                                "architectures/jina-bert",  "architectures/modernbert", "architectures/mpnet",
                                "architectures/nomic-bert", "architectures/roberta",    "decoders/gpt2",
                                "decoders/llama",           "decoders/qwen3",           "decoders/gemma",
                                "decoders/gemma2",          "decoders/gemma3",          "hub_layouts/nomic-moe"};

std::unique_ptr<Model> load(const std::string& folder) { return test::load_with_words(golden(folder)); }

struct FileTensor {
  Shape shape;
  std::vector<float> values;
};

// The tensors of a file of f32, by their canonical names.
std::map<std::string, FileTensor> tensors_of(const std::string& file, const Arch& arch) {
  const std::string bytes = test::read_file(file);
  const auto header = safetensors_header_bytes(std::string_view(bytes).substr(0, 8), bytes.size(), "file").value();
  const auto infos = parse_safetensors_header(std::string_view(bytes).substr(8, header), bytes.size(), "file").value();
  std::map<std::string, FileTensor> out;
  for (const TensorInfo& info : infos) {
    std::vector<float> values(static_cast<std::size_t>(num_elements(info.shape).value()));
    std::memcpy(values.data(), bytes.data() + 8 + header + info.begin, values.size() * sizeof(float));
    out[canonical_weight_name(arch, info.name, false)] = {info.shape, values};
  }
  return out;
}

struct Rows {
  std::vector<std::u16string_view> texts{u"! !", u"! # ! ! !", u"\" # \"", u"\""};
  TrainRows rows{.texts = texts, .labels = {0, 0, 1, 1}};
};

std::vector<float> vectors_of(Model& model) {
  const std::vector<std::u16string_view> texts{u"# ! #", u"\" !"};
  return embed(model, texts, {.pooling = std::vector{PoolingMode::kMean}}).value().data;
}

TEST(Checkpoint, IsWhatWasLoaded) {
  for (const std::string folder : kFolders) {
    SCOPED_TRACE(folder);
    const auto model = load(folder);
    const auto file = tensors_of(golden(folder) + "/model.safetensors", model->arch());
    const auto tensors = checkpoint(*model).value();
    EXPECT_GT(tensors.size(), 10U);
    for (const NamedTensor& tensor : tensors) {
      const auto found = file.find(tensor.name);
      ASSERT_NE(found, file.end()) << tensor.name;
      EXPECT_EQ(tensor.shape, found->second.shape) << tensor.name;
      std::vector<float> expected = found->second.values;
      // A distance that no two of the model's positions have is not kept.
      for (std::size_t i = 0; tensor.name.find("relative_attention_bias") != std::string::npos && i < expected.size(); ++i) {
        if (tensor.values[i] == 0) expected[i] = 0;
      }
      // What was added to a weight when it was loaded is taken away again, with rounding.
      const float offset = tensor.name.find("norm") != std::string::npos ? model->arch().names.norm_offset : 0;
      for (float& value : expected) value = (value + offset) - offset;
      EXPECT_EQ(tensor.values, expected) << tensor.name;
    }
  }
}

TEST(Trainer, LearnsInEveryArchitecture) {
  for (const std::string folder : kFolders) {
    for (const TrainMethod method : {TrainMethod::kLora, TrainMethod::kFull, TrainMethod::kLastLayers}) {
      SCOPED_TRACE(folder + ", method " + std::to_string(static_cast<int>(method)));
      const auto model = load(folder);
      const auto before = vectors_of(*model);
      TrainOptions options{.method = method, .last_layers = 1, .schedule = Schedule::kConstant};
      options.adam.lr = method == TrainMethod::kLora ? 2e-2f : 2e-3f;
      if (model->transformer().config().shares_layers()) options.last_layers = model->transformer().config().num_hidden_layers;
      auto trainer = Trainer::begin(*model, options);
      ASSERT_TRUE(trainer.ok()) << trainer.error().message;
      double first = 0, last = 0;
      for (int step = 0; step < 12; ++step) {
        last = trainer.value()->accumulate(Rows().rows, 1).value();
        if (step == 0) first = last;
        ASSERT_TRUE(trainer.value()->update().ok());
      }
      EXPECT_LT(last, 0.8 * first);
      EXPECT_NE(vectors_of(*model), before);
    }
  }
}

// The folders above and those of all variants.
std::vector<std::string> all_folders() {
  std::vector<std::string> folders(std::begin(kFolders), std::end(kFolders));
  for (const std::string group : {"variants/encoders/", "variants/decoders/"})
    for (const std::string& name : test::case_names(group)) {
      // In groups, or without a derivative.
      const bool learns = name != "squeezebert" && name != "convbert-groups" && !name.starts_with("qwen3-5");
      if (learns) folders.push_back(group + name);
    }
  return folders;
}

TEST(Trainer, TrainsNoMatricesInGroups) {
  for (const std::string folder : {"variants/encoders/squeezebert", "variants/encoders/convbert-groups"})
    for (const TrainMethod method : {TrainMethod::kFull, TrainMethod::kLastLayers, TrainMethod::kLora}) {
      const auto model = load(folder);
      const auto trainer = Trainer::begin(*model, {.method = method, .target_modules = {"all-linear"}});
      ASSERT_FALSE(trainer.ok());
      EXPECT_EQ(trainer.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(trainer.error().message.find("matrices in groups (SqueezeBERT's)"), std::string::npos) << trainer.error().message;
    }
}

TEST(Trainer, TrainsNoLayersWithARecurrentState) {
  for (const char* name : {"qwen3-5", "qwen3-5-pictures"}) {
    const auto model = load(std::string("variants/decoders/") + name);
    for (const TrainMethod method : {TrainMethod::kFull, TrainMethod::kLastLayers, TrainMethod::kLora}) {
      const auto trainer = Trainer::begin(*model, {.method = method, .target_modules = {"all-linear"}});
      ASSERT_FALSE(trainer.ok());
      EXPECT_EQ(trainer.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(trainer.error().message.find("a Gated DeltaNet (Qwen3.5's)"), std::string::npos) << trainer.error().message;
    }
  }
}

// Adam's first step moves each weight by at most the learning rate: one that training leaves out stays, one that it has twice goes
// further.
TEST(Trainer, MovesEachWeightOnce) {
  for (const std::string& folder : all_folders()) {
    SCOPED_TRACE(folder);
    const auto model = load(folder);
    const auto before = checkpoint(*model).value();
    TrainOptions options{.method = TrainMethod::kFull, .schedule = Schedule::kConstant};
    options.adam.lr = 1e-3f;
    options.adam.weight_decay = 0;
    options.max_grad_norm = 0;
    auto trainer = std::move(Trainer::begin(*model, options)).value();
    ASSERT_TRUE(trainer->accumulate(Rows().rows, 1).ok());
    ASSERT_TRUE(trainer->update().ok());
    const auto after = checkpoint(*model).value();
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      float most = 0;
      for (std::size_t at = 0; at < after[i].values.size(); ++at)
        most = std::max(most, std::abs(after[i].values[at] - before[i].values[at]));
      const char* pooler = model->arch().names.pooler;
      const bool is_read = !pooler || !after[i].name.starts_with(pooler);
      EXPECT_LE(most, 1.01e-3f) << after[i].name;
      if (is_read) {
        EXPECT_GT(most, 0.0f) << after[i].name;
      }
    }
  }
}

// A tensor may have several leading sizes, as the convolution beside DeBERTa-v2's layers has: all elements are saved.
TEST(Trainer, SavesEachElementOfATensor) {
  for (const std::string& folder : all_folders()) {
    SCOPED_TRACE(folder);
    const auto model = load(folder);
    const auto file = tensors_of(golden(folder) + "/model.safetensors", model->arch());
    const auto saved = std::move(checkpoint(*model)).value();
    for (const NamedTensor& tensor : saved) {
      EXPECT_EQ(static_cast<std::int64_t>(tensor.values.size()), num_elements(tensor.shape).value()) << tensor.name;
      const auto found = file.find(tensor.name);
      if (found == file.end()) continue;
      EXPECT_EQ(tensor.shape, found->second.shape) << tensor.name;
      if (tensor.shape.size() > 2) {
        EXPECT_EQ(tensor.values, found->second.values) << tensor.name;
      }
    }
  }
}

// Under the names of its own checkpoint, each once.
TEST(Trainer, AdaptsTheMatricesThatItNames) {
  for (const std::string& folder : all_folders()) {
    SCOPED_TRACE(folder);
    const auto model = load(folder);
    const auto before = checkpoint(*model).value();
    TrainOptions options{.method = TrainMethod::kLora, .target_modules = {"all-linear"}, .schedule = Schedule::kConstant};
    options.adam.lr = 1e-2f;
    auto trainer = std::move(Trainer::begin(*model, options)).value();
    ASSERT_TRUE(trainer->accumulate(Rows().rows, 1).ok());
    ASSERT_TRUE(trainer->update().ok());
    std::set<std::string> named;
    constexpr std::string_view kPrefix = "base_model.model.", kEnd = ".lora_A.weight";
    for (const NamedTensor& tensor : trainer->adapter()) {
      if (!tensor.name.ends_with(kEnd)) continue;
      const auto size = tensor.name.size() - kPrefix.size() - kEnd.size();
      EXPECT_TRUE(named.insert(tensor.name.substr(kPrefix.size(), size) + ".weight").second) << tensor.name;
    }
    EXPECT_FALSE(named.empty());
    const auto after = checkpoint(*model).value();
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_EQ(after[i].values != before[i].values, named.erase(after[i].name) == 1) << after[i].name;
    EXPECT_TRUE(named.empty()) << *named.begin();
  }
}

TEST(Trainer, LearnsLanguage) {
  const std::vector<std::u16string_view> texts{u"the river and the boat", u"birds"};
  const TrainRows rows{.texts = texts};
  for (const std::string folder : {"decoders/gpt2", "decoders/llama", "decoders/qwen3", "decoders/gemma2", "decoders/gemma3",
                                   "variants/decoders/phi3-partial", "variants/decoders/smollm3", "variants/decoders/stablelm"}) {
    for (const TrainMethod method : {TrainMethod::kLora, TrainMethod::kFull}) {
      SCOPED_TRACE(folder);
      const auto model = std::move(test::load_model(golden(folder), {.head = HeadKind::kCausalLm})).value();
      TrainOptions options{.method = method, .loss = TrainLoss::kCrossEntropy, .schedule = Schedule::kConstant};
      options.adam.lr = method == TrainMethod::kLora ? 2e-2f : 5e-3f;
      const auto trainer = std::move(Trainer::begin(*model, options)).value();
      const auto before = trainer->evaluate(rows).value();
      for (int step = 0; step < 15; ++step) {
        const double loss = trainer->accumulate(rows, 1).value();
        if (step == 0) {
          EXPECT_EQ(loss, before.sum / static_cast<double>(before.tokens));
        }
        ASSERT_TRUE(trainer->update().ok());
      }
      EXPECT_LT(trainer->evaluate(rows).value().sum, 0.9 * before.sum);
      // Only a part of the first text.
      const auto part = trainer->evaluate({.texts = texts, .labels = {1, 4, 9, 0, 1, 0, 1, 0}, .is_rendered = true}).value();
      EXPECT_LT(part.tokens, before.tokens);
      EXPECT_GT(part.tokens, 0);
      const auto none = trainer->evaluate({.texts = texts, .labels = {1, 900, 901, 0, 1, 900, 901, 0}, .is_rendered = true});
      EXPECT_FALSE(none.ok());
      // The names of a checkpoint with this head.
      const auto file = tensors_of(golden(folder) + "/model.safetensors", model->arch());
      const auto tensors = checkpoint(*model).value();
      for (const NamedTensor& tensor : tensors) {
        EXPECT_TRUE(file.contains(canonical_weight_name(model->arch(), tensor.name, false))) << tensor.name;
      }
    }
  }
}

// Dense with and without a residual, LayerNorm and Normalize, by differences.
TEST(Trainer, LearnsThroughModules) {
  std::vector<std::string> folders{"embedders/sentence-t5/model", "embedders/embeddinggemma/model"};
  for (const std::string& name : test::case_names("sentence/modules/")) folders.push_back("sentence/modules/" + name);
  for (const std::string& folder : folders) {
    SCOPED_TRACE(folder);
    // Some have the modules alone, of bert-tiny.
    const std::string own = golden(folder + "/"), base = golden("bert-tiny/model/");
    const bool is_whole = test::has_file(own + "config.json");
    std::vector<NamedFile> files = test::small_files(is_whole ? own : base);
    if (!is_whole)
      std::erase_if(files, [](const NamedFile& file) { return file.name == "modules.json" || file.name.starts_with("1_"); });
    for (const auto& entry : std::filesystem::recursive_directory_iterator(own)) {
      const std::string name = std::filesystem::relative(entry.path(), own).generic_string();
      if (!is_whole && name.ends_with(".json") && name != "expected.json") files.push_back({name, test::read_file(own + name)});
    }
    auto loaded = test::load_with(
        files, [&](const std::string& name) { return test::read_file((test::has_file(own + name) ? own : base) + name); });
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    const auto model = std::move(loaded).value();
    ASSERT_FALSE(model->sentence().modules.empty());
    const std::int64_t in = model->sentence().modules.front().in, count = 3;
    std::vector<float> pooled(static_cast<std::size_t>(count * in)), out;
    for (std::size_t i = 0; i < pooled.size(); ++i) pooled[i] = static_cast<float>(i * 7 % 11) / 5 - 1;
    std::vector<std::vector<float>> inputs;
    model->run_modules(pooled.data(), count, out, &inputs);
    std::vector<float> d(out.size());
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<float>(i * 5 % 7) / 3 - 1;
    const std::vector<float> d_out = d;
    ASSERT_TRUE(modules_backward(*model, inputs, count, d).ok());
    ASSERT_EQ(d.size(), pooled.size());
    double squares = 0;
    for (const float x : d) squares += static_cast<double>(x) * x;
    ASSERT_GT(squares, 0);
    const double step = 1e-2 / std::sqrt(squares);
    const auto at = [&](double by) {
      std::vector<float> moved(pooled), result;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = static_cast<float>(pooled[i] + by * d[i]);
      model->run_modules(moved.data(), count, result);
      double sum = 0;
      for (std::size_t i = 0; i < result.size(); ++i) sum += static_cast<double>(result[i]) * d_out[i];
      return sum;
    };
    EXPECT_NEAR((at(step) - at(-step)) / (2 * step), squares, 0.01 * squares);
  }
}

// Parallel layers, norms of results, over all heads, after the rotation or without weights, multiplied residuals, short
// convolutions, rotations of neighbours, a dense layer before the head.
TEST(Trainer, LearnsEveryKindOfLayer) {
  const std::vector<std::u16string_view> texts{u"the river and the boat", u"small birds sing"};
  for (const std::string folder : {"gpt-neox",
                                   "gpt-neox-in-turn",
                                   "phi",
                                   "stablelm-parallel",
                                   "olmo2",
                                   "granite",
                                   "lfm2",
                                   "lfm2-bias",
                                   "gpt-neo",
                                   "gpt-bigcode",
                                   "bloom",
                                   "starcoder2",
                                   "arcee",
                                   "exaone4",
                                   "olmo3",
                                   "granite-4",
                                   "cohere",
                                   "hunyuan",
                                   "gptj",
                                   "codegen",
                                   "modernbert-decoder",
                                   "mpt",
                                   "nanochat",
                                   "olmo"}) {
    for (const TrainMethod method : {TrainMethod::kLora, TrainMethod::kFull, TrainMethod::kLastLayers}) {
      SCOPED_TRACE(folder + ", method " + std::to_string(static_cast<int>(method)));
      auto loaded = test::load_model(golden("variants/decoders/" + folder), {.head = HeadKind::kCausalLm});
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      const auto model = std::move(loaded).value();
      TrainOptions options{.method = method, .loss = TrainLoss::kCrossEntropy, .last_layers = 1, .schedule = Schedule::kConstant};
      options.adam.lr = method == TrainMethod::kLora ? 2e-2f : 5e-3f;
      auto begun = Trainer::begin(*model, options);
      ASSERT_TRUE(begun.ok()) << begun.error().message;
      const auto trainer = std::move(begun).value();
      const TrainRows rows{.texts = texts};
      double first = 0, last = 0;
      for (int step = 0; step < 8; ++step) {
        const auto loss = trainer->accumulate(rows, 1);
        ASSERT_TRUE(loss.ok()) << loss.error().message;
        (step == 0 ? first : last) = loss.value();
        ASSERT_TRUE(trainer->update().ok());
      }
      EXPECT_LT(last, first);
    }
  }
}

// Queries, keys and values in turn, relative positions with matrices of their own, a convolution.
TEST(Trainer, LearnsEveryDeberta) {
  const std::vector<std::u16string_view> texts{u"the river and the boat", u"small birds sing"};
  for (const std::string folder : {"deberta", "deberta-short", "deberta-v2-conv", "deberta-v2-short", "deberta-v3-conv"}) {
    for (const TrainMethod method : {TrainMethod::kLora, TrainMethod::kFull, TrainMethod::kLastLayers}) {
      SCOPED_TRACE(folder + ", method " + std::to_string(static_cast<int>(method)));
      const std::string own = golden("variants/encoders/" + folder + "/");
      const std::vector<NamedFile> files{{"config.json", test::read_file(own + "config.json")},
                                         {"tokenizer.json", test::read_file(golden("seq2seq/t5/tokenizer.json"))},
                                         {"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}};
      auto loaded = test::load_with(files, [&](const std::string& name) { return test::read_file(own + name); });
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      const auto model = std::move(loaded).value();
      TrainOptions options{
          .method = method, .loss = TrainLoss::kCosineSimilarity, .last_layers = 1, .schedule = Schedule::kConstant};
      options.adam.lr = method == TrainMethod::kLora ? 2e-2f : 5e-3f;
      auto begun = Trainer::begin(*model, options);
      ASSERT_TRUE(begun.ok()) << begun.error().message;
      const TrainRows rows{.texts = texts, .scores = {-1}};
      double first = 0, last = 0;
      for (int step = 0; step < 6; ++step) {
        const auto loss = begun.value()->accumulate(rows, 1);
        ASSERT_TRUE(loss.ok()) << loss.error().message;
        (step == 0 ? first : last) = loss.value();
        ASSERT_TRUE(begun.value()->update().ok());
      }
      EXPECT_LT(last, first);
    }
  }
}

// Also where a file's rows are not those of the memory: a head's query, key and value one after the other.
TEST(Trainer, AdaptersGiveAFreshModelTheResultsOfTheTrainedOne) {
  const std::vector<std::u16string_view> texts{u"the river and the boat", u"small birds sing"};
  Batch batch;
  batch.add_sequence(std::vector<std::int32_t>{5, 9, 7, 6, 8}, std::vector<std::int32_t>(5));
  ThreadTeam alone;
  for (const std::string folder : {"gpt-neox", "gpt-neox-in-turn", "phi", "granite", "lfm2-bias"}) {
    SCOPED_TRACE(folder);
    const auto load = [&] {
      return std::move(test::load_model(golden("variants/decoders/" + folder), {.head = HeadKind::kCausalLm})).value();
    };
    const auto model = load(), fresh = load();
    TrainOptions options{.loss = TrainLoss::kCrossEntropy, .bias = LoraBias::kLoraOnly, .schedule = Schedule::kConstant};
    options.lora = {.r = 4, .lora_alpha = 4};  // a factor of 1
    options.adam.lr = 2e-2f;
    const auto trainer = std::move(Trainer::begin(*model, options)).value();
    for (int step = 0; step < 4; ++step) {
      ASSERT_TRUE(trainer->accumulate({.texts = texts}, 1).ok());
      ASSERT_TRUE(trainer->update().ok());
    }
    AdapterTensors adapter;
    std::vector<float> values;
    const auto size = [](std::int64_t size) { return static_cast<std::int32_t>(size); };
    const std::vector<NamedTensor> tensors = trainer->adapter();
    const auto module_of = [](std::string name) {
      name = name.substr(std::string("base_model.model.").size());
      for (const char* prefix : {"model.", "gpt_neox.", "transformer."}) {
        if (name.starts_with(prefix)) return name.substr(std::string(prefix).size());
      }
      return name;
    };
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string& name = tensors[i].name;
      if (const std::size_t at = name.find(".lora_A"); at != std::string::npos) {
        const NamedTensor &a = tensors[i], &b = tensors[++i];
        adapter.names.push_back(module_of(name.substr(0, at)) + ".weight");
        adapter.tensors.push_back({.rows = size(b.shape[0]), .columns = size(a.shape[1]), .rank = size(a.shape[0])});
        values.insert(values.end(), a.values.begin(), a.values.end());
        values.insert(values.end(), b.values.begin(), b.values.end());
      } else {
        adapter.names.push_back(module_of(name.substr(0, name.find(".base_layer"))) + ".bias");
        adapter.tensors.push_back({.rows = 0, .columns = size(tensors[i].shape[0])});
        values.insert(values.end(), tensors[i].values.begin(), tensors[i].values.end());
      }
    }
    adapter.values = values;
    const std::vector<float> before = test::run(fresh->transformer(), alone, batch);
    const auto number = fresh->add_adapter(std::move(adapter));
    ASSERT_TRUE(number.ok()) << number.error().message;
    ASSERT_TRUE(fresh->use_adapter(number.value()).ok());
    const std::vector<float> found = test::run(fresh->transformer(), alone, batch);
    const std::vector<float> expected = test::run(model->transformer(), alone, batch);
    EXPECT_NE(before, expected);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
  }
}

TEST(Trainer, LearnsToTransformTexts) {
  const std::vector<std::u16string_view> sources{u"the river and the boat", u"birds", u"an old bridge"};
  const std::vector<std::u16string_view> targets{u"a boat", u"small birds sing", u"bridge"};
  const TrainRows rows{.texts = sources, .pairs = targets};
  for (const std::string folder :
       {"seq2seq/t5", "seq2seq/flan-t5", "seq2seq/bart", "seq2seq/marian", "variants/seq2seq/umt5", "variants/seq2seq/blenderbot",
        "variants/seq2seq/blenderbot-small", "variants/seq2seq/longt5", "variants/seq2seq/led"}) {
    for (const TrainMethod method : {TrainMethod::kLora, TrainMethod::kFull, TrainMethod::kLastLayers}) {
      SCOPED_TRACE(folder + ", method " + std::to_string(static_cast<int>(method)));
      const auto model = std::move(test::load_model(golden(folder), {.head = HeadKind::kSeq2SeqLm})).value();
      const auto file = tensors_of(golden(folder) + "/model.safetensors", model->arch());
      TrainOptions options{.method = method, .loss = TrainLoss::kCrossEntropy, .last_layers = 1, .schedule = Schedule::kConstant};
      options.adam.lr = method == TrainMethod::kLora ? 2e-2f : 5e-3f;
      const auto trainer = std::move(Trainer::begin(*model, options)).value();
      const auto before = trainer->evaluate(rows).value();
      for (int step = 0; step < 15; ++step) {
        const double loss = trainer->accumulate(rows, 1).value();
        if (step == 0) {
          EXPECT_EQ(loss, before.sum / static_cast<double>(before.tokens));
        }
        ASSERT_TRUE(trainer->update().ok());
      }
      EXPECT_LT(trainer->evaluate(rows).value().sum, 0.9 * before.sum);
      // The names and shapes of a checkpoint with this head. What is not trained has its values.
      std::size_t changed = 0;
      const auto tensors = checkpoint(*model).value();
      for (const NamedTensor& tensor : tensors) {
        const auto found = file.find(canonical_weight_name(model->arch(), tensor.name, false));
        // A file without a head has the words in its place; what is saved has both, which may differ now.
        if (folder == "variants/seq2seq/umt5" && tensor.name == "lm_head.weight") continue;
        ASSERT_NE(found, file.end()) << tensor.name;
        EXPECT_EQ(tensor.shape, found->second.shape) << tensor.name;
        std::vector<float> expected = found->second.values;
        // Rows of tables of positions that no text reads are not kept.
        const bool is_table = tensor.name.find("relative_attention_bias") != std::string::npos ||
                              tensor.name.find("embed_positions") != std::string::npos;
        for (std::size_t i = 0; is_table && i < expected.size(); ++i) {
          if (tensor.values[i] == 0) expected[i] = 0;
        }
        const bool is_embedding = is_table || tensor.name.find("shared") != std::string::npos ||
                                  tensor.name.find("layernorm_embedding") != std::string::npos || tensor.name == "lm_head.weight";
        if (method == TrainMethod::kFull && is_embedding) {
          EXPECT_NE(tensor.values, expected) << tensor.name;
        }
        if (tensor.values == expected) continue;
        ++changed;
        // umT5's layers have tables of their own.
        const bool is_of_layer = is_table && folder == "variants/seq2seq/umt5" && method == TrainMethod::kLastLayers;
        EXPECT_TRUE(method == TrainMethod::kFull || !is_embedding || is_of_layer) << tensor.name;
        if (method == TrainMethod::kLastLayers) {
          EXPECT_NE(tensor.name.find("decoder"), std::string::npos) << tensor.name;
        }
      }
      EXPECT_GT(changed, 5U);
      // A target for each text.
      const TrainRows fewer{.texts = sources, .pairs = std::span(targets).first(2)};
      EXPECT_FALSE(trainer->accumulate(fewer, 1).ok());
    }
  }
}

TEST(Trainer, FollowsTorchsLossesOfEncoderDecoders) {
  for (const std::string name : {"t5", "flan-t5", "bart", "marian"}) {
    SCOPED_TRACE(name);
    const Json json = test::read_json("training/seq2seq-" + name + ".json");
    std::vector<std::u16string> texts[2];
    for (std::size_t i = 0; i < json.root()["rows"].size(); ++i) {
      const JsonRef row = json.root()["rows"][i];
      for (const auto& [column, key] : {std::pair{0, "text"}, {1, "target"}}) {
        const std::string_view text = row[key].as_string().value();
        texts[column].emplace_back(text.begin(), text.end());  // ASCII
      }
    }
    const std::vector<std::u16string_view> sources(texts[0].begin(), texts[0].end()), targets(texts[1].begin(), texts[1].end());
    const auto model = std::move(test::load_model(golden("seq2seq/" + name), {.head = HeadKind::kSeq2SeqLm})).value();
    TrainOptions options{.method = TrainMethod::kFull, .loss = TrainLoss::kCrossEntropy, .schedule = Schedule::kConstant};
    options.adam.lr = static_cast<float>(json.root()["options"]["learning_rate"].as_number().value());
    options.adam.weight_decay = 0.01f;
    const auto trainer = std::move(Trainer::begin(*model, options)).value();
    const JsonRef expected = json.root()["losses_in_double"], single = json.root()["losses"];
    ASSERT_EQ(expected.size(), 20U);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double loss = trainer->accumulate({.texts = sources, .pairs = targets}, 1).value(),
                   torch = expected[i].as_number().value();
      // Torch's own float32 goes astray where weights are sharp (T5 1.1); ours may go four times as far.
      const double astray = std::abs(single[i].as_number().value() - torch);
      EXPECT_NEAR(loss, torch, std::max(4 * astray, 1e-4 * torch)) << "step " << i;
      ASSERT_TRUE(trainer->update().ok());
    }
    EXPECT_LT(expected[19].as_number().value(), 0.5 * expected[0].as_number().value());
  }
}

// What is not trained stays: the embeddings but with kFull, earlier layers with kLastLayers, and all but the target modules with
// LoRA.
// Words that have not occurred have neither gradients nor moments, and decay; those that have go on moving, as torch's dense AdamW
// does.
TEST(Trainer, MovesWordsAsAdamWDoes) {
  const auto model = load("bert-tiny/model");
  TrainOptions options{.method = TrainMethod::kFull, .schedule = Schedule::kConstant, .max_grad_norm = 0};
  options.adam = {.lr = 1e-2f, .weight_decay = 0.1f};
  auto trainer = std::move(Trainer::begin(*model, options)).value();
  const EmbeddingTable words = model->transformer().word_embeddings();
  const auto row_of = [&](std::int32_t id) {
    const float* row = static_cast<const float*>(words.table) + id * words.hidden;
    return std::vector<float>(row, row + words.hidden);
  };
  const auto id_of = [&](std::u16string_view text) { return model->tokenizer().encode(text, {}).value().ids.at(1); };
  const std::int32_t often = id_of(u"!"), once = id_of(u"#"), never = id_of(u"\"");
  ASSERT_TRUE(often != once && once != never && often != never);
  const auto step = [&](std::u16string_view other) {
    const std::vector<std::u16string_view> texts{u"!", other, u"! !", other};
    ASSERT_TRUE(trainer->accumulate({.texts = texts, .labels = {0, 1, 0, 1}}, 1).ok());
    ASSERT_TRUE(trainer->update().ok());
  };
  std::vector<float> decayed = row_of(never);
  const auto first_plan = trainer->plan(8, 4).optimizer;
  step(u"#");
  const std::vector<float> after_first = row_of(once);
  const std::vector<float> state = trainer->state();
  step(u"! ! !");
  const float kept = static_cast<float>(1 - static_cast<double>(1e-2f) * 0.1f);
  for (float& x : decayed) x = x * kept * kept;
  EXPECT_EQ(row_of(never), decayed);
  std::vector<float> only_decayed = after_first;
  for (float& x : only_decayed) x *= kept;
  EXPECT_NE(row_of(once), only_decayed);  // by its moments
  const std::vector<float> expected = trainer->state();
  ASSERT_TRUE(trainer->set_state(state, 1).ok());
  step(u"! ! !");
  EXPECT_EQ(trainer->state(), expected);
  // Moments are planned for the words that are known to occur.
  EXPECT_GT(trainer->plan(8, 4, 1, words.rows).optimizer, first_plan);
  EXPECT_EQ(trainer->count_words({.texts = std::vector<std::u16string_view>{u"! # !", u"#"}, .labels = {0, 1}}).value(), 4);
}

TEST(Trainer, ChangesOnlyWhatIsTrained) {
  const auto changed = [](TrainMethod method, std::vector<std::string> modules, LoraBias bias = LoraBias::kNone,
                          bool freeze_embeddings = false) {
    const auto model = load("bert-tiny/model");
    const auto before = checkpoint(*model).value();
    TrainOptions options{.method = method, .bias = bias, .target_modules = std::move(modules), .last_layers = 1};
    options.freeze_embeddings = freeze_embeddings;
    options.schedule = Schedule::kConstant;
    const auto trainer = std::move(Trainer::begin(*model, options)).value();
    for (int step = 0; step < 2; ++step) {
      EXPECT_TRUE(trainer->accumulate(Rows().rows, 1).ok());
      EXPECT_TRUE(trainer->update().ok());
    }
    const auto after = checkpoint(*model).value();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].values != after[i].values) names.push_back(before[i].name);
    }
    return names;
  };
  const auto all_contain = [](const std::vector<std::string>& names, const std::string& part) {
    return !names.empty() &&
           std::all_of(names.begin(), names.end(), [&](const std::string& name) { return name.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(all_contain(changed(TrainMethod::kLora, {"key"}), ".self.key.weight"));
  EXPECT_TRUE(all_contain(changed(TrainMethod::kLora, {"intermediate.dense"}), ".intermediate.dense.weight"));
  EXPECT_TRUE(all_contain(changed(TrainMethod::kLora, {"key"}, LoraBias::kLoraOnly), ".self.key."));
  const auto with_biases = changed(TrainMethod::kLora, {"key"}, LoraBias::kAll);
  EXPECT_GT(with_biases.size(), 10U);
  for (const std::string& name : with_biases) EXPECT_TRUE(name.ends_with(".bias") || name.ends_with(".self.key.weight")) << name;
  EXPECT_TRUE(all_contain(changed(TrainMethod::kFull, {}, LoraBias::kNone, true), "encoder.layer."));
  const auto all = changed(TrainMethod::kFull, {});
  for (const char* name : {"embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
                           "embeddings.token_type_embeddings.weight", "embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"}) {
    EXPECT_NE(std::find(all.begin(), all.end(), name), all.end()) << name;
  }
  EXPECT_TRUE(all_contain(changed(TrainMethod::kLastLayers, {}), "encoder.layer.1."));
}

// With bias 'all', LoRA trains each bias of the model: B is 0 at first, so that the first update is that of all weights.
TEST(Trainer, MovesEachBiasAsAllWeightsDo) {
  std::size_t embeddings = 0, heads = 0;
  const auto biases_after = [&](const std::string& folder, TrainMethod method) {
    const bool is_lm = folder.starts_with("variants/decoders/");
    const auto model = is_lm ? std::move(test::load_model(golden(folder), {.head = HeadKind::kCausalLm})).value() : load(folder);
    TrainOptions options{.method = method, .bias = LoraBias::kAll, .schedule = Schedule::kConstant, .max_grad_norm = 0};
    options.target_modules = {"all-linear"};
    options.adam = {.lr = 1e-2f, .weight_decay = 0};
    if (is_lm) options.loss = TrainLoss::kCrossEntropy;
    const auto trainer = std::move(Trainer::begin(*model, options)).value();
    const std::vector<std::u16string_view> texts{u"the river and the boat", u"small birds sing"};
    const Rows rows;
    EXPECT_TRUE(trainer->accumulate(is_lm ? TrainRows{.texts = texts} : rows.rows, 1).ok());
    EXPECT_TRUE(trainer->update().ok());
    std::map<std::string, std::vector<float>> out;
    std::vector<NamedTensor> tensors = checkpoint(*model).value();
    for (NamedTensor& tensor : tensors) {
      if (tensor.name.ends_with(".bias") || tensor.name.ends_with("_b")) out[tensor.name] = std::move(tensor.values);
    }
    if (method == TrainMethod::kFull) return out;
    for (const NamedTensor& tensor : trainer->adapter()) {
      embeddings +=
          tensor.name.find("mbeddings.") != std::string::npos || tensor.name.find("encoder.LayerNorm") != std::string::npos;
      heads += tensor.name == "base_model.model.lm_head.bias";
    }
    return out;
  };
  std::vector<std::string> folders(std::begin(kFolders), std::end(kFolders));
  folders.insert(folders.end(), {"variants/decoders/gptj", "variants/decoders/phi"});
  for (const std::string& folder : folders) {
    SCOPED_TRACE(folder);
    const auto expected = biases_after(folder, TrainMethod::kFull), found = biases_after(folder, TrainMethod::kLora);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, values] : expected) EXPECT_EQ(found.at(name), values) << name;
  }
  EXPECT_GT(embeddings, 8U);
  EXPECT_EQ(heads, 2U);
}

TEST(Trainer, IsUnchangedByAStepThatFails) {
  const auto model = load("bert-tiny/model");
  const auto before = vectors_of(*model);
  const auto trainer = std::move(Trainer::begin(*model, {})).value();
  EXPECT_FALSE(trainer->update().ok());
  EXPECT_FALSE(trainer->accumulate({}, 1).ok());
  const std::vector<std::u16string_view> one{u"a"};
  const auto mismatch = trainer->accumulate({.texts = one, .labels = {0, 1}}, 1);
  ASSERT_FALSE(mismatch.ok());
  EXPECT_NE(mismatch.error().message.find("1 texts for 2 labels"), std::string::npos) << mismatch.error().message;
  EXPECT_TRUE(trainer->accumulate(Rows().rows, 1).ok());
  EXPECT_FALSE(trainer->accumulate({.texts = one, .labels = {0, 1}}, 1).ok());
  EXPECT_FALSE(trainer->update().ok());  // an error drops what was accumulated
  EXPECT_EQ(vectors_of(*model), before);
}

}  // namespace
}  // namespace wattn
