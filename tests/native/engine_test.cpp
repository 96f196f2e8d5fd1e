// Loading: every error in a model's files names the file and the field.
#include "engine/model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "native/support/models.h"

namespace wattn {
namespace {

using test::golden;
using test::load_model;
using test::read_file;
using test::small_files;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class Loading : public testing::Test {
 protected:
  std::vector<NamedFile> files = small_files(golden("bert-tiny/model"));

  std::string& file(const std::string& name) {
    for (NamedFile& file : files) {
      if (file.name == name) return file.bytes;
    }
    return files.emplace_back(NamedFile{name, ""}).bytes;
  }
  void remove(const std::string& name) {
    std::erase_if(files, [&](const NamedFile& file) { return file.name == name; });
  }
  void expect_error(ErrorCode code, const std::string& message) {
    const auto result = load_model(files, golden("bert-tiny/model"));
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_EQ(result.error().message, message);
  }
};

TEST_F(Loading, WorksOnTheFilesAsTheyAre) {
  const auto model = load_model(files, golden("bert-tiny/model"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_TRUE(model.value()->transformer().has_pooler());
  EXPECT_EQ(model.value()->max_length(), 48);
}

TEST_F(Loading, NamesAMissingFile) {
  remove("config.json");
  expect_error(ErrorCode::kModelFormat, "config.json: expected this file in the model, found none");
}

TEST_F(Loading, NamesAMissingTokenizer) {
  remove("tokenizer.json");
  expect_error(ErrorCode::kModelFormat,
               "vocab.txt: expected this file in the model (or tokenizer.json), as BertTokenizer reads it, found none");
}

TEST_F(Loading, NamesAMissingPoolingConfig) {
  remove("1_Pooling/config.json");
  expect_error(ErrorCode::kModelFormat, "1_Pooling/config.json: expected this file in the model, found none");
}

TEST_F(Loading, SaysWhenAWebPageCameInPlaceOfAFile) {
  file("config.json") = "<!DOCTYPE html><html>Sign in</html>";
  expect_error(ErrorCode::kModelFormat, "config.json: expected JSON, found HTML or XML (a web page in place of the file?)");
}

TEST_F(Loading, EveryTruncatedPrefixOfAJsonFileIsAnError) {
  const std::string whole = file("config.json");
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {  // the last byte is a newline
    file("config.json") = whole.substr(0, length);
    EXPECT_FALSE(ModelLoader::begin(files, {}).ok()) << length;
  }
}

TEST_F(Loading, NamesAnUnknownArchitecture) {
  file("config.json") = replaced(file("config.json"), "\"model_type\": \"bert\"", "\"model_type\": \"narwhal\"");
  const auto result = load_model(files, golden("bert-tiny/model"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(result.error().message,
            "config.json: model_type: expected an architecture listed in docs/models.md, found \"narwhal\"; use "
            "HuggingFaceTB/SmolLM2-135M-Instruct to generate text, or sentence-transformers/all-MiniLM-L6-v2 for embeddings");
}

TEST_F(Loading, NamesASwitchItDoesNotHave) {
  file("config.json") = replaced(file("config.json"), "{", "{\"position_embedding_type\": \"relative_key\",");
  expect_error(ErrorCode::kUnsupported, "config.json: position_embedding_type: expected \"absolute\", found \"relative_key\"");
}

TEST_F(Loading, NamesAnActivationItDoesNotHave) {
  file("config.json") = replaced(file("config.json"), "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"xielu\"");
  expect_error(ErrorCode::kUnsupported,
               "config.json: hidden_act: expected one of \"gelu\", \"gelu_python\", \"relu\", \"gelu_new\", \"gelu_pytorch_tanh\", "
               "\"gelu_fast\", \"silu\", \"swish\", \"gelu_accurate\", \"gelu_python_tanh\", \"tanh\", \"sigmoid\", \"linear\", "
               "\"quick_gelu\", \"gelu_10\", \"relu2\", \"relu6\", \"leaky_relu\", \"mish\", \"hardswish\", \"laplace\", found "
               "\"xielu\"");
}

TEST_F(Loading, NamesASizeThatCannotBe) {
  const std::string whole = file("config.json");
  file("config.json") = replaced(whole, "\"hidden_size\": 32", "\"hidden_size\": -32");
  expect_error(ErrorCode::kModelFormat, "config.json: hidden_size: expected a whole number from 1 to 131072, found -32");
  file("config.json") = replaced(whole, "\"hidden_size\": 32", "\"hidden_size\": \"32\"");
  expect_error(ErrorCode::kModelFormat, "config.json: hidden_size: expected an integer, found \"32\"");
  file("config.json") = replaced(whole, "\"num_attention_heads\": 4", "\"num_attention_heads\": 5");
  expect_error(ErrorCode::kModelFormat, "config.json: num_attention_heads: expected a divisor of hidden_size 32, found 5");
}

// A config.json with these keys only loads by the defaults of transformers' BertConfig; so does a GGUF file with llama.cpp's own.
TEST_F(Loading, TakesTheDefaultsOfTransformers) {
  file("config.json") = R"({"model_type": "bert", "vocab_size": 512, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 64})";
  const auto model = load_model(files, golden("bert-tiny/model")), whole = load_model(golden("bert-tiny/model"));
  ASSERT_TRUE(model.ok() && whole.ok()) << model.error().message;
  EXPECT_EQ(model.value()->transformer().config().type_vocab_size, 2);
  EXPECT_EQ(model.value()->transformer().config().hidden_act, whole.value()->transformer().config().hidden_act);
}

TEST_F(Loading, RefusesSizesWhoseMemoryIsNotToBeHad) {
  file("config.json") = replaced(file("config.json"), "\"intermediate_size\": 64", "\"intermediate_size\": 1048576");
  file("config.json") = replaced(file("config.json"), "\"hidden_size\": 32", "\"hidden_size\": 131072");
  const auto result = ModelLoader::begin(files, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kOutOfMemory) << result.error().message;
}

TEST_F(Loading, NamesAModuleItDoesNotHave) {
  file("modules.json") = R"([{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},
    {"idx":1,"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
    {"idx":2,"path":"2_CNN","type":"sentence_transformers.models.CNN"}])";
  expect_error(ErrorCode::kUnsupported,
               "modules.json: [2].type: expected Transformer, then Pooling, then any of Dense, LayerNorm, Normalize and Dropout (a "
               "Router with the option route), found "
               "\"sentence_transformers.models.CNN\"");
}

TEST_F(Loading, ReadsAModulesPathWithASlashAtItsEnd) {
  file("modules.json") = R"([{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},
    {"idx":1,"path":"1_Pooling/","type":"sentence_transformers.models.Pooling"}])";
  const auto model = load_model(files, golden("bert-tiny/model"));
  EXPECT_TRUE(model.ok()) << model.error().message;
}

TEST_F(Loading, NamesAPoolingItDoesNotHave) {
  file("1_Pooling/config.json") = R"({"pooling_mode": "median"})";
  expect_error(ErrorCode::kUnsupported,
               "1_Pooling/config.json: pooling_mode: expected cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken, "
               "found \"median\"");
}

TEST_F(Loading, TakesDoLowerCaseOnlyFromATokenizerThatLowercases) {
  file("sentence_bert_config.json") = R"({"max_seq_length": 48, "do_lower_case": true})";
  EXPECT_TRUE(load_model(files, golden("bert-tiny/model")).ok());
  file("tokenizer.json") = replaced(file("tokenizer.json"), "\"lowercase\": true", "\"lowercase\": false");
  expect_error(ErrorCode::kUnsupported,
               "sentence_bert_config.json: do_lower_case: expected false, or a tokenizer.json that lowercases, found true");
}

TEST_F(Loading, NamesAShardThatIsNotBesideItsIndex) {
  file("model.safetensors.index.json") = R"({"weight_map": {"a": "../../secret.safetensors"}})";
  expect_error(ErrorCode::kModelFormat,
               "model.safetensors.index.json: weight_map.a: expected the name of a .safetensors file beside the index, found "
               "\"../../secret.safetensors\"");
}

TEST_F(Loading, NamesATensorWhoseShapeTheConfigDoesNotExpect) {
  file("config.json") = replaced(file("config.json"), "\"intermediate_size\": 64", "\"intermediate_size\": 72");
  const auto result = load_model(files, golden("bert-tiny/model"));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("expected shape [72"), std::string::npos) << result.error().message;
}

// One small file in place of the model's own; "<file>" alone: there is none.
// Such tensors are in old files: row numbers, token types of zeros, angles of rotary positions, the temperature of a loss.
TEST_F(Loading, IgnoresBuffersThatMeanNothing) {
  const std::string weights = test::read_file(golden("bert-tiny/model/model.safetensors"));
  const auto load_with_tensor = [&](const std::string& name) {
    std::string changed = weights;
    const auto header = static_cast<std::size_t>(*reinterpret_cast<const std::uint64_t*>(weights.data()));
    const std::size_t data = weights.size() - 8 - header;
    const std::string tensor = ",\"" + name + R"(":{"dtype":"I64","shape":[1,2],"data_offsets":[)" + std::to_string(data) + "," +
                               std::to_string(data + 16) + "]}}";
    changed.replace(8 + weights.substr(8, header).rfind('}'), 1, tensor);
    const std::uint64_t length = header + tensor.size() - 1;
    std::memcpy(changed.data(), &length, sizeof(length));
    return test::load_with(files, [&](const std::string&) { return changed + std::string(16, '\0'); });
  };
  for (const char* name : {"logit_scale", "embeddings.position_ids", "bert.embeddings.position_ids", "embeddings.token_type_ids",
                           "encoder.layer.0.attention.self.rotary_emb.inv_freq", "rotary_emb.cos_cached"}) {
    const auto model = load_with_tensor(name);
    EXPECT_TRUE(model.ok()) << name << ": " << model.error().message;
  }
  const auto refused = load_with_tensor("logit_scale.weight");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("'logit_scale.weight' [1, 2]: this architecture has no such tensor"), std::string::npos)
      << refused.error().message;
}

TEST_F(Loading, SaysWhatIsWrongInAFile) {
  const std::string transformer = R"({"path": "", "type": "st.Transformer"})",
                    pooling = R"({"path": "1_Pooling", "type": "st.Pooling"})",
                    dense = R"({"path": "2_Dense", "type": "st.Dense"})", normalize = R"({"path": "2", "type": "st.Normalize"})";
  const auto list = [](std::initializer_list<std::string> modules) {
    std::string out;
    for (const std::string& module : modules) out += (out.empty() ? "[" : ", ") + module;
    return out + "]";
  };
  const std::string order =
      ".type: expected Transformer, then Pooling, then any of Dense, LayerNorm, Normalize and Dropout (a Router with the option "
      "route), found \"st.";
  struct Row {
    std::string name, text, error;
  };
  const Row rows[] = {
      {"modules.json", "[", "modules.json: "},
      {"modules.json", "{}", "modules.json: expected an array of modules, found an object"},
      {"modules.json", "[]", "modules.json: expected at least one module, found an array"},
      {"modules.json", list({pooling}), "modules.json: [0]" + order + "Pooling\""},
      {"modules.json", list({normalize}), "modules.json: [0]" + order + "Normalize\""},
      {"modules.json", list({transformer, transformer}), "modules.json: [1]" + order + "Transformer\""},
      {"modules.json", list({transformer, dense}), "modules.json: [1]" + order + "Dense\""},
      {"modules.json", list({transformer, pooling, pooling}), "modules.json: [2]" + order + "Pooling\""},
      {"modules.json", list({transformer, pooling, normalize, dense}),
       "2_Dense/config.json: expected this file in the model, found none"},
      {"modules.json", list({transformer, pooling, R"({"type": "st.Dense"})"}), "modules.json: [2]" + order + "Dense\""},
      {"modules.json", list({R"({"path": "0_T", "type": "st.Transformer"})"}),
       "modules.json: [0].path: expected \"\" (the encoder in the repository's root), found \"0_T\""},
      {"modules.json", list({transformer, pooling, dense}), "2_Dense/config.json: expected this file in the model, found none"},
      {"1_Pooling/config.json", "{", "1_Pooling/config.json: "},
      {"1_Pooling/config.json", R"({"pooling_mode": ["mean", 1]})",
       "1_Pooling/config.json: pooling_mode[1]: expected a string, found 1"},
      {"1_Pooling/config.json", R"({"pooling_mode": ["mean", "cls", "mean"]})",
       "1_Pooling/config.json: pooling_mode[2]: expected each mode at most once, found \"mean\""},
      {"1_Pooling/config.json", R"({"include_prompt": 1})",
       "1_Pooling/config.json: include_prompt: expected true or false, found 1"},
      {"sentence_bert_config.json", "nothing", "sentence_bert_config.json: "},
      {"sentence_bert_config.json", R"({"max_seq_length": 0})",
       "sentence_bert_config.json: max_seq_length: expected a whole number from 1"},
      {"sentence_bert_config.json", R"({"do_lower_case": "no"})",
       "sentence_bert_config.json: do_lower_case: expected true or false, found \"no\""},
      {"config_sentence_transformers.json", "[1", "config_sentence_transformers.json: "},
      {"config_sentence_transformers.json", R"({"prompts": {"query": 1}})",
       "config_sentence_transformers.json: prompts.query: expected a string, found 1"},
      {"config_sentence_transformers.json", R"({"prompts": {"a": "b"}, "default_prompt_name": "c"})",
       "config_sentence_transformers.json: default_prompt_name: expected the name of a prompt, found \"c\""},
      {"tokenizer.json", "{", "tokenizer.json: "},
      {"tokenizer_config.json", "{", "tokenizer_config.json: "},
      {"model.safetensors.index.json", "{", "model.safetensors.index.json: "},
      {"model.safetensors.index.json", "{}",
       "model.safetensors.index.json: weight_map: expected an object of tensor names and shard files, found nothing"},
      {"model.safetensors.index.json", R"({"weight_map": {}})",
       "model.safetensors.index.json: weight_map: expected an object of tensor names and shard files, found an object"},
      {"model.safetensors.index.json", R"({"weight_map": {"a": 1}})",
       "model.safetensors.index.json: weight_map.a: expected a string, found 1"},
      {"model.safetensors.index.json", R"({"weight_map": {"a": ""}})",
       "model.safetensors.index.json: weight_map.a: expected the name of a .safetensors file beside the index, found \"\""},
      {"model.safetensors.index.json", R"({"weight_map": {"a": "a.bin"}})",
       "model.safetensors.index.json: weight_map.a: expected the name of a .safetensors file beside the index, found \"a.bin\""},
      {"config.json", R"({"model_type": "bert", "vocab_size": null})", "config.json: vocab_size: expected an integer, found null"},
  };
  const std::vector<NamedFile> whole = files;
  for (const auto& [name, text, error] : rows) {
    files = whole;
    file(name) = text;
    const auto result = load_model(files, golden("bert-tiny/model"));
    ASSERT_FALSE(result.ok()) << name << text;
    EXPECT_EQ(result.error().message.substr(0, error.size()), error);
    EXPECT_GT(result.error().message.size(), error.size() - 1);
  }
  files = whole;
  const std::string config = file("config.json");
  file("config.json") = replaced(config, "\"eos_token_id\": null", "\"eos_token_id\": \"</s>\"");
  expect_error(ErrorCode::kModelFormat, "config.json: eos_token_id: expected an integer, found \"</s>\"");
  file("config.json") = replaced(config, "\"BertModel\"", "7");
  const auto own = ModelLoader::begin(files, {.own_lm_head = true});
  ASSERT_FALSE(own.ok());
  EXPECT_EQ(own.error().message, "config.json: architectures[0]: expected a string, found 7");
}

TEST_F(Loading, SaysWhatIsWrongInADense) {
  file("modules.json") = test::read_file(golden("sentence/model/modules.json"));
  const std::pair<const char*, const char*> rows[] = {
      {"{", "2_Dense/config.json: "},
      {R"({"in_features": 32, "out_features": 0})",
       "2_Dense/config.json: out_features: expected a whole number from 1 to 1048576, found 0"},
      {R"({"in_features": 31, "out_features": 8})", "2_Dense/config.json: in_features: expected the pooled vector's 32, found 31"},
      {R"({"in_features": 32, "out_features": 8, "activation_function": "torch.nn.modules.activation.PReLU"})",
       "2_Dense/config.json: activation_function: expected torch's Identity, Tanh, ReLU, GELU, SiLU, Sigmoid, ReLU6, LeakyReLU, "
       "Mish, "
       "Hardswish, ELU, CELU, SELU, Hardsigmoid, Hardtanh, Softsign, found \"torch.nn.modules.activation.PReLU\""},
      {R"({"in_features": 32, "out_features": 8, "module_input_name": "token_embeddings"})",
       "2_Dense/config.json: module_input_name: expected \"sentence_embedding\", found \"token_embeddings\""},
      {R"({"in_features": 32, "out_features": 8, "use_residual": 1})",
       "2_Dense/config.json: use_residual: expected true or false, found 1"}};
  for (const auto& [text, error] : rows) {
    file("2_Dense/config.json") = text;
    const auto result = ModelLoader::begin(files, {});
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().message.substr(0, std::string(error).size()), error);
  }
  file("modules.json") =
      replaced(file("modules.json"), "3_Normalize\",\n    \"type\": \"sentence_transformers.base.modules.normalize.Normalize",
               "3_Dense\",\n    \"type\": \"st.Dense");
  file("2_Dense/config.json") = R"({"in_features": 32, "out_features": 8})";
  file("3_Dense/config.json") = R"({"in_features": 9, "out_features": 8})";
  const auto result = ModelLoader::begin(files, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "3_Dense/config.json: in_features: expected the previous module's 8, found 9");
  file("3_Dense/config.json") = R"({"in_features": 8, "out_features": 4})";
  const auto loader = ModelLoader::begin(files, {});
  ASSERT_TRUE(loader.ok()) << loader.error().message;
  EXPECT_EQ(loader.value()->weight_files(),
            (std::vector<std::string>{"model.safetensors", "2_Dense/model.safetensors", "3_Dense/model.safetensors"}));
}

TEST_F(Loading, TakesModuleListsOfOtherForms) {
  const std::pair<const char*, std::vector<PoolingMode>> rows[] = {
      {R"({"pooling_mode": ["cls", "max"]})", {PoolingMode::kCls, PoolingMode::kMax}},
      {R"({"pooling_mode_max_tokens": true, "pooling_mode_lasttoken": true, "pooling_mode_cls_token": false})",
       {PoolingMode::kMax, PoolingMode::kLastToken}},
      {"{}", {PoolingMode::kMean}}};
  for (const auto& [text, pooling] : rows) {
    file("1_Pooling/config.json") = text;
    const auto model = load_model(files, golden("bert-tiny/model"));
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model.value()->sentence().pooling, pooling);
  }
  // No Pooling module: token vectors. A Pooling in the root reads the root's config.json.
  file("modules.json") = R"([{"type": "st.Transformer"}, {"type": "st.Normalize"}])";
  const auto bare = load_model(files, golden("bert-tiny/model"));
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  EXPECT_TRUE(bare.value()->sentence().pooling.empty());
  EXPECT_TRUE(bare.value()->sentence().normalize);
  file("modules.json") =
      R"([{"type": "st.Transformer"}, {"type": "st.Pooling", "path": "1_Pooling"}, {"type": "st.Dropout", "path": "2_Dropout"},
    {"type": "st.Normalize"}])";
  const auto dropout = load_model(files, golden("bert-tiny/model"));
  ASSERT_TRUE(dropout.ok()) << dropout.error().message;
  EXPECT_TRUE(dropout.value()->sentence().normalize && dropout.value()->sentence().modules.empty());
  file("modules.json") = R"([{"type": "st.Transformer"}, {"type": "st.Pooling", "path": ""}])";
  const auto root = load_model(files, golden("bert-tiny/model"));
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root.value()->sentence().pooling, std::vector{PoolingMode::kMean});
  remove("modules.json");
  remove("tokenizer_config.json");
  const auto plain = load_model(files, golden("bert-tiny/model"));
  ASSERT_TRUE(plain.ok()) << plain.error().message;
}

TEST_F(Loading, KnowsWhichTokenizersLowercase) {
  file("sentence_bert_config.json") = R"({"do_lower_case": true})";
  const std::string whole = file("tokenizer.json");
  const std::string own =
      "{\n    \"type\": \"BertNormalizer\",\n    \"clean_text\": true,\n    \"handle_chinese_chars\": true,\n    "
      "\"strip_accents\": null,\n    \"lowercase\": true\n  }";
  const std::pair<const char*, bool> rows[] = {
      {R"({"type": "Lowercase"})", true},
      {R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]})", true},
      {R"({"type": "Sequence", "normalizers": [{"type": "NFC"}]})", false},
      {R"({"type": "NFC"})", false},
      {R"({"type": 1})", false},
      {R"({"type": "BertNormalizer", "lowercase": 1})", false},
      {"null", false}};
  for (const auto& [normalizer, lowercases] : rows) {
    file("tokenizer.json") = replaced(whole, own, normalizer);
    const auto result = ModelLoader::begin(files, {});
    EXPECT_EQ(result.ok(), lowercases) << normalizer;
    if (!result.ok()) {
      EXPECT_EQ(result.error().message,
                "sentence_bert_config.json: do_lower_case: expected false, or a tokenizer.json that lowercases, found true");
    }
  }
  remove("tokenizer.json");
  EXPECT_EQ(ModelLoader::begin(files, {}).error().message,
            "sentence_bert_config.json: do_lower_case: expected false, or a tokenizer.json that lowercases, found true");
}

TEST_F(Loading, WantsItsWeightFilesInOrderAndWhole) {
  const auto begin = [&] { return std::move(ModelLoader::begin(files, {})).value(); };
  const std::string bytes = read_file(golden("bert-tiny/model/model.safetensors"));
  EXPECT_EQ(begin()->finish().error().message, "weight files: expected model.safetensors, found no further file");
  EXPECT_EQ(begin()->begin_weight_file("other.safetensors", 8).error().message,
            "weight files: expected model.safetensors, found other.safetensors");
  EXPECT_EQ(begin()->begin_weight_file("2_Dense/pytorch_model.bin", 8).error().message,
            "weight files: expected model.safetensors, found 2_Dense/pytorch_model.bin");
  // pytorch_model.bin comes in the same layout; messages name it.
  auto torch = begin();
  ASSERT_TRUE(torch->begin_weight_file("pytorch_model.bin", bytes.size()).ok());
  ASSERT_TRUE(torch->push(bytes).ok());
  EXPECT_EQ(torch->push("x").error().message, "pytorch_model.bin: expected " + std::to_string(bytes.size()) + " bytes, found more");
  ASSERT_TRUE(torch->finish().ok());
  auto loader = begin();
  ASSERT_TRUE(loader->begin_weight_file("model.safetensors", bytes.size()).ok());
  EXPECT_EQ(loader->begin_weight_file("model.safetensors", bytes.size()).error().message,
            "weight files: expected no further file, found model.safetensors");
  ASSERT_TRUE(loader->push(bytes).ok());
  EXPECT_EQ(loader->push("x").error().message,
            "model.safetensors: expected " + std::to_string(bytes.size()) + " bytes, found more");
  ASSERT_TRUE(loader->finish().ok());
  loader = begin();
  ASSERT_TRUE(loader->begin_weight_file("model.safetensors", bytes.size()).ok());
  ASSERT_TRUE(loader->push(std::string_view(bytes).substr(0, bytes.size() - 1)).ok());
  EXPECT_EQ(loader->finish().error().message, "model.safetensors: expected " + std::to_string(bytes.size()) +
                                                  " bytes, found only " + std::to_string(bytes.size() - 1) + " (cut off)");
}

TEST_F(Loading, GgufBeginningsStandForTheSmallFiles) {
  const std::string bytes = read_file(golden("gguf/f32.gguf"));
  bool is_cut_off = false;
  EXPECT_TRUE(gguf_files(std::string_view(bytes).substr(0, 100), is_cut_off).value().empty());
  EXPECT_TRUE(is_cut_off);
  const auto made = gguf_files(bytes, is_cut_off);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_FALSE(is_cut_off);
  ASSERT_FALSE(made.value().empty());
  EXPECT_EQ(made.value()[0].name, "config.json");
  EXPECT_FALSE(gguf_files("no GGUF file at all", is_cut_off).ok());
  EXPECT_FALSE(ModelLoader::describe({{"m.gguf", "no GGUF file at all"}}).ok());
  // A config.json beside a GGUF file rules.
  const auto described = ModelLoader::describe({{"m.gguf", bytes}, {"config.json", file("config.json")}});
  ASSERT_TRUE(described.ok()) << described.error().message;
  EXPECT_STREQ(described.value().model_type, "bert");
  EXPECT_EQ(ModelLoader::describe({{"config.json", R"({"model_type": "bert", "vocab_size": null})"}}).error().message,
            "config.json: vocab_size: expected an integer, found null");
}

TEST(Model, SaysHowMuchMemoryAPassTakes) {
  const auto bytes = [](const char* folder, HeadKind head, std::int64_t context) {
    const auto model = load_model(golden(folder), {.head = head, .context_length = context});
    EXPECT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model.value()->kind(), ModelKind(head == HeadKind::kCausalLm ? 1 : head == HeadKind::kSeq2SeqLm ? 2 : 0));
    return model.value()->arena_bytes();
  };
  // Keys and values of 20 more tokens: layers, both, kv heads, head size, f32.
  const auto llama = load_model(golden("decoders/llama"), {.head = HeadKind::kCausalLm});
  const TransformerConfig& config = llama.value()->transformer().config();
  const auto more = static_cast<std::uint64_t>(20 * config.num_hidden_layers * 2 * config.kv_width()) * sizeof(float);
  EXPECT_GE(bytes("decoders/llama", HeadKind::kCausalLm, 40), bytes("decoders/llama", HeadKind::kCausalLm, 20) + more);
  EXPECT_GT(bytes("seq2seq/t5", HeadKind::kSeq2SeqLm, 40), bytes("seq2seq/t5", HeadKind::kSeq2SeqLm, 20));
  EXPECT_GT(bytes("bert-tiny/model", HeadKind::kNone, 0), 512U * 32 * sizeof(float));
}

TEST(Model, FastKernelsAreNearTheExactOnes) {
  std::vector<float> states[2];
  for (const Precision precision : {Precision::kExact, Precision::kFast}) {
    const auto model = load_model(golden("bert-tiny/model"), {.precision = precision});
    Batch batch;
    batch.add_sequence(std::vector<std::int32_t>{2, 96, 275, 3}, std::vector<std::int32_t>(4, 0));
    const float* hidden = model.value()->run(batch, nullptr).value();
    states[precision == Precision::kFast ? 1 : 0].assign(hidden, hidden + 4 * 32);
  }
  for (std::size_t i = 0; i < states[0].size(); ++i) EXPECT_NEAR(states[1][i], states[0][i], 1e-4) << i;
}

TEST(Model, RejectsMoreTokensThanItsArenaHolds) {
  const auto model = load_model(golden("bert-tiny/model"));
  Batch batch;
  for (int i = 0; i < 100; ++i) batch.add_sequence(std::vector<std::int32_t>(40, 7), std::vector<std::int32_t>(40, 0));
  const auto result = model.value()->run(batch, nullptr);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "input_ids: expected at most 512 tokens in one run, found 4000");
}

TEST(Model, RejectsTasksThatItsStacksDoNotSupport) {
  const struct {
    const char* folder;
    HeadKind head;
    const char* message;
  } rows[] = {
      {"bert-tiny/model", HeadKind::kCausalLm,
       "config.json: model_type: expected a decoder, which this task needs, found \"bert\""},
      {"bert-tiny/model", HeadKind::kSeq2SeqLm,
       "config.json: model_type: expected an encoder-decoder, which this task needs, found \"bert\""},
      {"seq2seq/t5", HeadKind::kCausalLm,
       "config.json: model_type: expected a decoder, which this task needs (text2text-generation runs encoder-decoders), found "
       "\"t5\""},
      {"decoders/llama", HeadKind::kSeq2SeqLm,
       "config.json: model_type: expected an encoder-decoder, which this task needs, found \"llama\""},
      {"seq2seq/t5", HeadKind::kMaskedLm,
       "config.json: architectures: expected a model that ends in ForMaskedLM, which this task needs, found "
       "[\"T5ForConditionalGeneration\"]"},
  };
  for (const auto& [folder, head, message] : rows) {
    const auto loader = ModelLoader::begin(small_files(golden(folder)), {.head = head});
    ASSERT_FALSE(loader.ok()) << message;
    EXPECT_EQ(loader.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(loader.error().message, message);
  }
}

TEST(Model, HasTheLmHeadOfItsFiles) {
  const struct {
    const char* folder;
    HeadKind head;
    bool decoder;
  } rows[] = {{"bert-tiny/model", HeadKind::kNone, false},
              {"decoders/llama", HeadKind::kCausalLm, false},
              {"decoders/gpt2", HeadKind::kCausalLm, false},
              {"seq2seq/t5", HeadKind::kSeq2SeqLm, true},
              {"seq2seq/marian", HeadKind::kSeq2SeqLm, true},
              {"embedders/qwen3/model", HeadKind::kNone, false},
              {"embedders/sentence-t5/model", HeadKind::kNone, false},
              {"decoder-heads/bart-sequence", HeadKind::kNone, false}};
  for (const auto& [folder, head, decoder] : rows) {
    const auto model = load_model(golden(folder), {.own_lm_head = true});
    ASSERT_TRUE(model.ok()) << folder << ": " << model.error().message;
    EXPECT_EQ(model.value()->head_kind(), head) << folder;
    EXPECT_EQ(model.value()->decoder() != nullptr, decoder) << folder;
    EXPECT_EQ(model.value()->has_lm_head(), head != HeadKind::kNone) << folder;
    EXPECT_TRUE(head == HeadKind::kNone || model.value()->max_length() == model.value()->context_length()) << folder;
  }
}

TEST(Model, IsDescribedByItsConfig) {
  using enum HeadKind;
  const struct {
    const char* folder;
    const char* model_type;
    ModelKind kind;
    std::vector<HeadKind> heads;
  } rows[] = {{"bert-tiny/model", "bert", ModelKind::kEncoder, {}},
              {"eurobert/masked-lm", "eurobert", ModelKind::kEncoder, {kMaskedLm}},
              {"decoders/llama", "llama", ModelKind::kDecoder, {kCausalLm}},
              {"decoder-heads/qwen3-token", "qwen3", ModelKind::kDecoder, {kToken}},
              {"seq2seq/t5", "t5", ModelKind::kEncoderDecoder, {kSeq2SeqLm}},
              {"decoder-heads/bart-sequence", "bart", ModelKind::kEncoderDecoder, {kSequence}}};
  for (const auto& [folder, model_type, kind, heads] : rows) {
    const auto described = ModelLoader::describe({{"config.json", read_file(golden(folder) + "/config.json")}});
    ASSERT_TRUE(described.ok()) << folder << ": " << described.error().message;
    EXPECT_STREQ(described.value().model_type, model_type) << folder;
    EXPECT_EQ(described.value().kind, kind) << folder;
    EXPECT_EQ(described.value().heads, heads) << folder;
  }
  const auto gguf = ModelLoader::describe({{"qwen2.gguf", read_file(golden("gguf-decoders/qwen2.gguf"))}});
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  EXPECT_EQ(gguf.value().heads, std::vector{kCausalLm});  // though its config names no `architectures`
  EXPECT_EQ(ModelLoader::describe({}).error().message, "config.json: expected this file in the model, found none");
}

TEST(Model, HoldsNoWeightsThatTheTaskDoesNotNeed) {
  for (const auto& [folder, head] : {std::pair{"decoders/llama", HeadKind::kCausalLm}, {"seq2seq/bart", HeadKind::kSeq2SeqLm}}) {
    const auto whole = load_model(golden(folder), {.head = head}), bare = load_model(golden(folder));
    ASSERT_TRUE(whole.ok() && bare.ok()) << bare.error().message;
    EXPECT_LT(bare.value()->weight_bytes(), whole.value()->weight_bytes());
  }
}

TEST(Model, LimitsTextsToTheRequestedContext) {
  const auto model = load_model(golden("decoders/llama"), {.context_length = 20});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value()->max_length(), 20);
  Batch batch;
  batch.add_sequence(std::vector<std::int32_t>(21, 7), std::vector<std::int32_t>(21));
  const auto result = model.value()->run(batch, nullptr);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "sequence 0: expected at most context_length = 20 tokens, found 21");
  const auto both = load_model(golden("decoder-heads/bart-sequence"), {.head = HeadKind::kSequence, .context_length = 20});
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(both.value()->max_length(), 20);  // the decoder reads the text too
  for (const std::int64_t context : {std::int64_t{-1}, std::int64_t{65}}) {
    const auto wrong = ModelLoader::begin(small_files(golden("bert-tiny/model")), {.context_length = context});
    EXPECT_EQ(wrong.error().message,
              "context_length: expected a whole number from 1 to the model's 64 positions, found " + std::to_string(context));
  }
}

TEST_F(Loading, GivesCausalModelsNoMoreContextThanTheUsual) {
  for (const auto& [positions, context] : {std::pair{"4095", 4095}, {"4096", 4096}, {"4097", 4096}, {"131072", 4096}}) {
    files = small_files(golden("decoders/llama"));
    file("config.json") =
        replaced(file("config.json"), "\"max_position_embeddings\":96", "\"max_position_embeddings\":" + std::string(positions));
    const auto model = load_model(files, golden("decoders/llama"));
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model.value()->context_length(), context);
  }
}

TEST_F(Loading, NamesAnIdThatAHeadOverADecoderNeeds) {
  files = small_files(golden("decoder-heads/bart-sequence"));
  const std::string whole = file("config.json");
  for (const std::string key : {"eos_token_id", "decoder_start_token_id"}) {
    file("config.json") = replaced(whole, "{", "{\"" + key + "\": null,");
    file("config.json") = replaced(file("config.json"), "\"" + key + "\":2", "\"other\":2");
    const auto loader = ModelLoader::begin(files, {.head = HeadKind::kSequence});
    ASSERT_FALSE(loader.ok());
    EXPECT_EQ(loader.error().message, "config.json: " + key + ": expected a token id, found null");
  }
}

TEST(Slots, RejectMoreThanTheirCapacity) {
  const auto loaded = load_model(golden("seq2seq/bart"), {.head = HeadKind::kSeq2SeqLm});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  Slots& slots = loaded.value()->slots();
  ASSERT_TRUE(slots.reserve({.slots = 2, .length = 8, .sources = 1, .source_length = 4}).ok());
  const std::vector<std::int32_t> ids{5, 6, 7, 8, 1};
  const auto four = std::span(ids).first(4);
  EXPECT_FALSE(slots.read_source(0, ids, nullptr, nullptr).ok() && slots.read_source(1, four, nullptr, nullptr).ok());
  EXPECT_FALSE(slots.read_source(-1, four, nullptr, nullptr).ok());
  ASSERT_TRUE(slots.read_source(0, four, nullptr, nullptr).ok());
  const auto error = [&](std::int32_t slot, std::int32_t position, std::vector<std::int32_t> sources) {
    Batch batch;
    batch.add_to_slot(slot, position, four);
    batch.sources = std::move(sources);
    const auto ran = slots.run(batch, nullptr);
    return ran.ok() ? std::string("ok") : ran.error().message;
  };
  EXPECT_EQ(error(1, 4, {0}), "ok");
  EXPECT_EQ(error(1, 5, {0}), "expected at most 8 tokens (context_length), found one at position 8");
  EXPECT_EQ(error(2, 0, {0}), "slots: expected numbers below 2, found 2");
  EXPECT_EQ(error(-1, 0, {0}), "slots: expected numbers below 2, found -1");
  EXPECT_EQ(error(0, 0, {1}), "sources: expected numbers below 1, found 1");
  EXPECT_EQ(error(0, 0, {}), "sources: expected one for each of 1 sequences, found 0");
  EXPECT_EQ(error(0, -1, {0}), "position_ids: expected numbers from 0 to 47 (max_position_embeddings - 1), found -1 at token 0");
  EXPECT_FALSE(slots.read_source(2, four, nullptr, nullptr).ok());
  EXPECT_EQ(slots.read_source(0, {}, nullptr, nullptr).error().message, "source: expected at least one token, found none");
  const std::vector<std::int32_t> foreign{1 << 20};
  EXPECT_NE(slots.read_source(0, foreign, nullptr, nullptr).error().message.find("found 1048576"), std::string::npos);
  Batch batch;
  batch.add_to_slot(0, 0, foreign);
  batch.sources = {0};
  EXPECT_NE(slots.run(batch, nullptr).error().message.find("found 1048576"), std::string::npos);
  batch.clear();
  for (std::int32_t i = 0; i <= slots.token_budget(); ++i) batch.add_to_slot(0, i, std::span(ids).first(1));
  EXPECT_EQ(slots.run(batch, nullptr).error().message, "input_ids: expected at most " + std::to_string(slots.token_budget()) +
                                                           " tokens in one run, found " + std::to_string(slots.token_budget() + 1));
}

// A safetensors file of one tensor of zeros.
std::string zeros_file(const std::string& name, const Shape& shape) {
  std::int64_t bytes = sizeof(float);
  for (const std::int64_t size : shape) bytes *= size;
  const std::string header =
      "{\"" + name + R"(":{"dtype":"F32","shape":)" + to_string(shape) + R"(,"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  return file + header + std::string(static_cast<std::size_t>(bytes), '\0');
}

// A head of masked words may have an output of its own (tests/web/heads.test.ts).
TEST(TiedHeads, OfDecodersWithValuesOfTheirOwnAreRefused) {
  std::vector<NamedFile> files = small_files(golden("decoders/gpt2"));
  files.push_back({"model.safetensors.index.json", R"({"weight_map": {"z": "z.safetensors", "0": "0.safetensors"}})"});
  const auto bytes_of = [](const std::string& name) {
    return name == "z.safetensors" ? zeros_file("lm_head.weight", {59, 24}) : read_file(golden("decoders/gpt2/model.safetensors"));
  };
  const auto model = test::load_with(files, bytes_of, {.head = HeadKind::kCausalLm});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(model.error().message,
            "z.safetensors: tensor 'lm_head.weight': expected the values of 'wte.weight', to which config.json ties it, found "
            "different values");
  EXPECT_TRUE(test::load_with(files, bytes_of).ok()) << "the head is not loaded";
}

}  // namespace
}  // namespace wattn
