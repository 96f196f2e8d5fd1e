// modules_to_save: weights that a Trainer trains whole beside LoRA.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "native/support/goldens.h"
#include "native/support/models.h"
#include "tasks/train.h"

namespace wattn {
namespace {

using test::golden;

bool is_lm(const std::string& folder) { return folder.starts_with("decoders/") || folder.starts_with("variants/"); }

std::unique_ptr<Model> load(const std::string& folder) {
  if (is_lm(folder)) return std::move(test::load_model(golden(folder), {.head = HeadKind::kCausalLm})).value();
  return test::load_with_words(golden(folder));
}

TrainOptions options_of(const std::string& folder, std::vector<std::string> modules) {
  TrainOptions options{.modules_to_save = std::move(modules), .schedule = Schedule::kConstant, .max_grad_norm = 0};
  options.adam = {.lr = 1e-2f, .weight_decay = 0.1f};
  if (is_lm(folder)) options.loss = TrainLoss::kCrossEntropy;
  return options;
}

void step(Trainer& trainer, const std::string& folder, bool in_parts = false) {
  const std::vector<std::u16string_view> texts{u"! !", u"! # ! ! !", u"\" # \"", u"\""};
  const std::span<const std::u16string_view> all = texts;
  const auto learn = [&](std::size_t first, std::size_t count) {
    TrainRows rows{.texts = all.subspan(first, count)};
    if (!is_lm(folder)) rows.labels = count == 4 ? std::vector{0, 0, 1, 1} : std::vector{0, 0};
    const auto loss = trainer.accumulate(rows, static_cast<double>(count) / 4);
    ASSERT_TRUE(loss.ok()) << loss.error().message;
  };
  if (in_parts) learn(0, 2), learn(2, 2);
  if (!in_parts) learn(0, 4);
  ASSERT_TRUE(trainer.update().ok());
}

std::map<std::string, std::vector<float>> weights_of(const Model& model) {
  std::map<std::string, std::vector<float>> out;
  std::vector<NamedTensor> tensors = checkpoint(model).value();
  for (NamedTensor& tensor : tensors) out[tensor.name] = std::move(tensor.values);
  return out;
}

std::string module_of(const std::string& tensor) { return tensor.substr(0, tensor.rfind('.')); }

// B is 0 at first, so that the first update moves what is saved as the method 'full' does.
TEST(ModulesToSave, MoveAsAllWeightsDo) {
  const std::string kPrefix = "base_model.model.";
  std::size_t fused = 0, tables = 0, words = 0, heads = 0, norms = 0;
  for (const std::string folder :
       {"bert-tiny/model", "architectures/albert", "architectures/deberta-v3", "architectures/distilbert", "architectures/gte-new",
        "architectures/modernbert", "architectures/nomic-bert", "architectures/roberta", "decoders/gpt2", "decoders/llama",
        "decoders/gemma3", "decoders/smollm", "variants/decoders/phi", "variants/decoders/lfm2-bias", "hub_layouts/nomic-moe"}) {
    SCOPED_TRACE(folder);
    const auto full = load(folder);
    const auto before = weights_of(*full);
    std::set<std::string> adapted, modules;
    {
      const auto model = load(folder);
      const auto trainer = std::move(Trainer::begin(*model, options_of(folder, {}))).value();
      for (const NamedTensor& tensor : trainer->adapter()) {
        if (const auto at = tensor.name.find(".lora_A"); at != std::string::npos) adapted.insert(tensor.name.substr(0, at));
      }
    }
    for (const auto& [name, values] : before) {
      if (adapted.contains(kPrefix + module_of(name)) || modules.contains(module_of(name))) continue;
      const auto model = load(folder);
      if (Trainer::begin(*model, options_of(folder, {module_of(name)})).ok()) modules.insert(module_of(name));
    }
    TrainOptions options = options_of(folder, {});
    options.method = TrainMethod::kFull;
    const auto all = std::move(Trainer::begin(*full, options)).value();
    step(*all, folder);
    const auto expected = weights_of(*full);

    const auto model = load(folder);
    auto begun = Trainer::begin(*model, options_of(folder, {modules.begin(), modules.end()}));
    ASSERT_TRUE(begun.ok()) << begun.error().message;
    const auto trainer = std::move(begun).value();
    step(*trainer, folder);
    const auto found = weights_of(*model);
    for (const auto& [name, values] : found) {
      if (modules.contains(module_of(name))) {
        EXPECT_EQ(values, expected.at(name)) << name;
      } else if (!adapted.contains(kPrefix + module_of(name))) {
        EXPECT_EQ(values, before.at(name)) << name;
      }
    }
    for (const NamedTensor& tensor : trainer->adapter()) {
      if (tensor.name.find(".lora_") != std::string::npos) continue;
      const std::string name = tensor.name.substr(kPrefix.size());
      EXPECT_TRUE(modules.contains(module_of(name)) || name == "lm_head.weight") << name;
      if (found.contains(name)) {
        EXPECT_EQ(tensor.values, found.at(name)) << name;
        EXPECT_NE(tensor.values, before.at(name)) << name;
      }
      fused += name.ends_with("key.weight") || name.ends_with("k_proj.weight");
      tables += name.find("token_type_embeddings") != std::string::npos || name.ends_with("wpe.weight");
      words += name.ends_with("word_embeddings.weight") || name.ends_with("embed_tokens.weight") || name.ends_with("wte.weight");
      heads += name == "lm_head.weight";
      norms += name.ends_with("orm.weight");
    }
  }
  EXPECT_GT(fused, 8U);
  EXPECT_GT(tables, 4U);
  EXPECT_GT(words, 8U);
  EXPECT_GT(heads, 3U);
  EXPECT_GT(norms, 20U);
}

TEST(ModulesToSave, LeaveTheRowsBesideThemAlone) {
  const auto model = load("bert-tiny/model");
  const auto before = weights_of(*model);
  TrainOptions options = options_of("bert-tiny/model", {"query", "Norm"});
  options.target_modules = {"key"};
  const auto trainer = std::move(Trainer::begin(*model, options)).value();
  for (int i = 0; i < 2; ++i) step(*trainer, "bert-tiny/model", i > 0);
  for (const auto& [name, values] : weights_of(*model)) {
    const bool learns = name.find("self.query.") != std::string::npos || name.find("Norm.") != std::string::npos ||
                        name.ends_with("self.key.weight");
    EXPECT_EQ(values != before.at(name), learns) << name;
  }
}

TEST(ModulesToSave, GoOnFromAStateWithTheSameBits) {
  for (const std::string folder : {"bert-tiny/model", "decoders/smollm", "decoders/gpt2"}) {
    SCOPED_TRACE(folder);
    TrainOptions options =
        options_of(folder, folder == "bert-tiny/model"   ? std::vector<std::string>{"key", "word_embeddings", "output.LayerNorm"}
                           : folder == "decoders/smollm" ? std::vector<std::string>{"k_proj", "lm_head", "norm"}
                                                         : std::vector<std::string>{"wte", "wpe", "c_fc"});
    options.bias = LoraBias::kAll;
    const auto model = load(folder), other = load(folder);
    const auto trainer = std::move(Trainer::begin(*model, options)).value();
    EXPECT_EQ(trainer->ties_embeddings(), folder != "bert-tiny/model");
    EXPECT_EQ(trainer->fan_in_fan_out(), folder == "decoders/gpt2");
    for (int i = 0; i < 2; ++i) step(*trainer, folder);
    const std::vector<float> state = trainer->state();
    for (int i = 0; i < 2; ++i) step(*trainer, folder, i > 0);
    const auto again = std::move(Trainer::begin(*other, options)).value();
    ASSERT_TRUE(again->set_state(state, 2).ok());
    for (int i = 0; i < 2; ++i) step(*again, folder, i > 0);
    EXPECT_EQ(weights_of(*model), weights_of(*other));
    std::set<std::string> names;
    for (const NamedTensor& tensor : trainer->adapter()) EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
  }
}

TEST(ModulesToSave, AreNamedByAnErrorIfThereAreNone) {
  const auto message = [](const std::string& folder, std::vector<std::string> modules, HeadKind head = HeadKind::kNone) {
    const auto model = folder == "seq2seq/t5" ? std::move(test::load_model(golden(folder), {.head = head})).value() : load(folder);
    TrainOptions options = options_of(folder, std::move(modules));
    if (head != HeadKind::kNone) options.loss = TrainLoss::kCrossEntropy;
    const auto begun = Trainer::begin(*model, options);
    return begun.ok() ? std::string() : begun.error().message;
  };
  EXPECT_EQ(message("bert-tiny/model", {"LayerNorn"}),
            "modules_to_save: expected modules such as 'LayerNorm', 'layer', found 'LayerNorn'");
  EXPECT_NE(message("bert-tiny/model", {"?"}).find("'word_embeddings', "), std::string::npos);
  EXPECT_EQ(message("bert-tiny/model", {"pooler"}), "modules_to_save: 'pooler' is not read by this loss; name other modules");
  EXPECT_NE(message("bert-tiny/model", {"query", "value"}).find("found all of them"), std::string::npos);
  EXPECT_NE(message("bert-tiny/model", {"uery"}).find("found a part of the name of encoder.layer.0"), std::string::npos);
  EXPECT_EQ(message("bert-tiny/model", {"LayerNorm", "attention.output"}),
            "modules_to_save: expected modules that are not inside each other, found "
            "'encoder.layer.0.attention.output.LayerNorm' in 'encoder.layer.0.attention.output'");
  EXPECT_NE(message("bert-tiny/model", {"embeddings"}).find("not inside each other"), std::string::npos);
  EXPECT_NE(message("seq2seq/t5", {"lm_head"}, HeadKind::kSeq2SeqLm).find("in several modules"), std::string::npos);
  EXPECT_EQ(message("seq2seq/t5", {"wo", "layer_norm", "EncDecAttention.k"}, HeadKind::kSeq2SeqLm), "");
}

}  // namespace
}  // namespace wattn
