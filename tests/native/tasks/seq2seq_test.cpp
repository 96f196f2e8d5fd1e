// Encoder-decoders against torch and transformers (tests/goldens/seq2seq): every tensor and generated token, which do not depend on
// other sequences or steps.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/json.h"
#include "native/support/generation.h"
#include "tasks/forward.h"
#include "tasks/generate.h"

namespace wattn {
namespace {

using test::forward_ids;
using test::generate;
using test::golden;
using test::Ids;
using test::load_model;
using test::read_file;
using test::read_floats;
using test::read_json;
using test::to_ids;

const std::string kFolder = "seq2seq/", kLong = "long/seq2seq/", kVariants = "variants/seq2seq/";

std::unique_ptr<Model> load(const std::string& name, LoadOptions options = {}, const std::string& folder = kFolder) {
  options.head = HeadKind::kSeq2SeqLm;
  auto loaded = load_model(golden(folder + name), options);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return loaded.ok() ? std::move(loaded).value() : nullptr;
}

// own: generation_config.json; options: of one call.
GenerateRequest to_request(JsonRef own, JsonRef options) {
  GenerateRequest request;
  request.max_new_tokens = options["max_new_tokens"].as_int().value();
  request.options.eos_token_ids = {static_cast<std::int32_t>(own["eos_token_id"].as_int().value())};
  const auto id = [&](const char* key, std::optional<std::int32_t>& out) {
    if (!own[key].is_null()) out = static_cast<std::int32_t>(own[key].as_int().value());
  };
  id("decoder_start_token_id", request.decoder_start_token_id);
  id("forced_bos_token_id", request.options.forced_bos_token_id);
  id("forced_eos_token_id", request.options.forced_eos_token_id);
  for (const JsonRef& from : {own, options}) test::set_options(from, request.options);
  return request;
}

std::map<std::string, std::vector<float>> tensors_of(const ForwardOutputs& result) {
  std::map<std::string, std::vector<float>> out{{"logits", result.logits},
                                                {"encoder_last_hidden_state", result.encoder.last_hidden_state}};
  const auto add = [&](const std::string& name, const std::vector<std::vector<float>>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) out[name + "." + std::to_string(i)] = layers[i];
  };
  add("encoder_hidden_states", result.encoder.hidden_states);
  add("encoder_attentions", result.encoder.attentions);
  add("decoder_hidden_states", result.hidden_states);
  add("decoder_attentions", result.attentions);
  add("cross_attentions", result.cross_attentions);
  return out;
}

// Calls check(path, model, expected.json) for every encoder-decoder of both folders.
template <class Check>
void for_each_case(const Check& check) {
  for (const std::string& folder : {kFolder, kLong, kVariants}) {
    for (const std::string& name : test::case_names(folder)) {
      SCOPED_TRACE(folder + name);
      const auto model = load(name, {}, folder);
      ASSERT_TRUE(model);
      check(folder + name, *model, read_json(folder + name + "/expected.json").root());
    }
  }
}

TEST(Seq2SeqForward, EveryTensorMatchesTorch) {
  for_each_case([](const std::string& path, Model& model, JsonRef expected) {
    const std::vector<float> all = read_floats(golden(path + "/expected.f32"));
    for (std::size_t i = 0; i < expected["inputs"].size(); ++i) {
      const JsonRef input = expected["inputs"][i];
      if (input["tensors"].size() == 0) continue;
      const auto result = forward_ids(model, to_ids(input["decoder_input_ids"]),
                                      {.output_hidden_states = true, .output_attentions = true}, to_ids(input["input_ids"]));
      ASSERT_TRUE(result.ok()) << result.error().message;
      const auto got = tensors_of(result.value());
      for (const auto& [tensor, about] : input["tensors"].members()) {
        const auto at = got.find(std::string(tensor));
        ASSERT_NE(at, got.end()) << tensor;
        test::expect_near(at->second, about, all, test::bound_of_case(expected["inputs"], tensor), std::string(tensor));
      }
      if (path.starts_with(kFolder)) {
        EXPECT_EQ(got.size(), input["tensors"].size());
      }
    }
  });
}

TEST(Seq2SeqGenerate, GivesTheTokensOfTransformers) {
  for_each_case([](const std::string& path, Model& model, JsonRef expected) {
    const Json own = read_json(path + "/generation_config.json");
    for (const auto& [run, options] : expected["runs"].members()) {
      SCOPED_TRACE(std::string(run));
      const GenerateRequest request = to_request(own.root(), options);
      std::vector<Ids> sources;
      for (std::size_t i = 0; i < expected["inputs"].size(); ++i) {
        const JsonRef input = expected["inputs"][i];
        sources.push_back(to_ids(input["input_ids"]));
        const JsonRef tokens = input["generated"][run]["tokens"];
        const auto made = generate(model, {sources.back()}, request);
        ASSERT_EQ(made.size(), 1U);
        ASSERT_EQ(made[0].size(), tokens.size());
        for (std::size_t j = 0; j < made[0].size(); ++j) EXPECT_EQ(made[0][j].tokens, to_ids(tokens[j])) << "input " << i;
      }
      // Together with others of any length: the same.
      const auto together = generate(model, sources, request);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto alone = generate(model, {sources[i]}, request);
        ASSERT_EQ(together[i].size(), alone[0].size());
        for (std::size_t j = 0; j < alone[0].size(); ++j) {
          EXPECT_EQ(together[i][j].tokens, alone[0][j].tokens);
          EXPECT_EQ(together[i][j].score, alone[0][j].score);
        }
      }
    }
  });
}

void expect_steps_have_the_bits_of_the_whole(const std::string& folder, const std::string& name, std::size_t input,
                                             std::initializer_list<WeightType> types) {
  const Json expected = read_json(folder + name + "/expected.json");
  const Ids source = to_ids(expected.root()["inputs"][input]["input_ids"]),
            other = to_ids(expected.root()["inputs"][1]["input_ids"]);
  const Ids ids = to_ids(expected.root()["inputs"][input]["decoder_input_ids"]);
  for (const WeightType type : types) {
    const auto model = load(name, {.dtype = type}, folder);
    ASSERT_TRUE(model);
    const auto whole = forward_ids(*model, ids, {}, source);
    ASSERT_TRUE(whole.ok());
    const std::int64_t vocab = model->generator().config().vocab_size;
    SlotCapacity capacity{.slots = 2, .length = static_cast<std::int64_t>(ids.size()), .sources = 2, .source_length = 40};
    capacity.source_length = static_cast<std::int64_t>(std::max(source.size(), other.size()));
    ASSERT_TRUE(model->slots().reserve(capacity).ok());
    ASSERT_TRUE(model->slots().read_source(0, other, nullptr, nullptr).ok());
    ASSERT_TRUE(model->slots().read_source(1, source, nullptr, nullptr).ok());
    Batch batch;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      batch.clear();
      batch.add_to_slot(0, static_cast<std::int32_t>(i), {&ids[ids.size() - 1 - i], 1});
      batch.add_to_slot(1, static_cast<std::int32_t>(i), {&ids[i], 1});
      batch.sources = {0, 1};
      const auto hidden = model->slots().run(batch, nullptr);
      ASSERT_TRUE(hidden.ok()) << hidden.error().message;
      const std::int64_t row = 1;
      const float* logits = model->slots().logits(hidden.value(), {&row, 1});
      for (std::int64_t j = 0; j < vocab; ++j) {
        ASSERT_EQ(logits[j], whole.value().logits[static_cast<std::int64_t>(i) * vocab + j]) << name << ", token " << i;
      }
    }
  }
}

TEST(Seq2SeqForward, StepsHaveTheBitsOfASinglePass) {
  for (const std::string& name : test::case_names(kFolder)) {
    expect_steps_have_the_bits_of_the_whole(
        kFolder, name, 2, {WeightType::kF32, WeightType::kF16, WeightType::kQ16, WeightType::kQ8, WeightType::kQ4});
  }
  for (const std::string& name : test::case_names(kLong)) {
    expect_steps_have_the_bits_of_the_whole(kLong, name, 0, {WeightType::kF32});
  }
}

std::string generate_error(Model& model, const std::vector<Ids>& sources, const GenerateRequest& request) {
  const auto generation = Generation::begin(model, sources, request);
  return generation.ok() ? "" : generation.error().message;
}

TEST(Seq2SeqGenerate, RejectsInvalidRequests) {
  const auto model = load("bart");
  ASSERT_TRUE(model);
  GenerateRequest request;
  request.max_new_tokens = 4;
  const auto error = [&](const Ids& source) { return generate_error(*model, {source}, request); };
  EXPECT_NE(error({5, 1}).find("decoder_start_token_id"), std::string::npos);
  request.decoder_start_token_id = 96;
  EXPECT_NE(error({5, 1}).find("decoder_start_token_id"), std::string::npos);
  request.decoder_start_token_id = 1;
  EXPECT_EQ(error({5, 1}), "");
  EXPECT_NE(error({}).find("at least one token"), std::string::npos);
  EXPECT_NE(error({96}).find("vocab_size"), std::string::npos);
  EXPECT_NE(error({-1}).find("vocab_size"), std::string::npos);
  EXPECT_NE(error(Ids(49, 5)).find("positions"), std::string::npos);
  request.max_new_tokens = 48;
  EXPECT_NE(error({5}).find("max_new_tokens"), std::string::npos);
  EXPECT_FALSE(forward_ids(*model, Ids{1, 5}, {}).ok());  // no source
  EXPECT_FALSE(forward_ids(*model, Ids{1, 5}, {}, Ids(49, 5)).ok());
}

std::string load_error(const std::string& name, const std::string& from, const std::string& to) {
  std::string config = read_file(golden(kFolder + name + "/config.json"));
  const std::size_t at = config.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  config.replace(at, from.size(), to);
  std::vector<NamedFile> files{{"config.json", config}};
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
    files.push_back({file, read_file(golden(kFolder + name + "/" + file))});
  const auto loader = ModelLoader::begin(files, {.head = HeadKind::kSeq2SeqLm});
  return loader.ok() ? "" : loader.error().message;
}

TEST(Seq2SeqConfig, RejectsTheOtherKind) {
  const auto loaded = load_model(golden(kFolder + "t5"), {.head = HeadKind::kCausalLm});
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("text2text-generation"), std::string::npos) << loaded.error().message;
  EXPECT_FALSE(load_model(golden("decoders/llama"), {.head = HeadKind::kSeq2SeqLm}).ok());
}

TEST(Seq2SeqConfig, RejectsByName) {
  const struct {
    const char* name;
    const char* from;
    const char* to;
    const char* part;
  } rows[] = {
      {"t5", "\"d_kv\":6", "\"d_kv\":0", "d_kv"},
      {"t5", "\"num_heads\":3", "\"num_heads\":\"3\"", "num_heads"},
      {"t5", "\"relative_attention_num_buckets\":8", "\"relative_attention_num_buckets\":7", "relative_attention_num_buckets"},
      {"t5", "\"relative_attention_max_distance\":20", "\"relative_attention_max_distance\":4", "relative_attention_max_distance"},
      {"flan-t5", "gated-gelu", "gated-xielu", "feed_forward_proj"},
      {"bart", "\"encoder_attention_heads\":3", "\"encoder_attention_heads\":5", "encoder_attention_heads"},
      {"bart", "\"d_model\":24", "\"d_model\":24,\"normalize_before\":true", "normalize_before"},
      {"bart", "\"activation_function\":\"gelu\"", "\"activation_function\":\"xielu\"", "activation_function"},
      {"marian", "\"static_position_embeddings\":true", "\"static_position_embeddings\":false", "static_position_embeddings"},
      {"marian", "\"d_model\":24", "\"d_model\":24,\"share_encoder_decoder_embeddings\":false", "share_encoder_decoder_embeddings"},
      {"marian", "\"d_model\":24", "\"d_model\":24,\"decoder_vocab_size\":50", "decoder_vocab_size"},
  };
  for (const auto& row : rows) {
    EXPECT_NE(load_error(row.name, row.from, row.to).find(row.part), std::string::npos) << row.to;
  }
}

}  // namespace
}  // namespace wattn
