// Loading: every error in a model's files names the file and the field.
#include "engine/model.h"

#include <gtest/gtest.h>

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
  expect_error(
      ErrorCode::kModelFormat,
      "tokenizer.json: expected this file in the model (or vocab.json with merges.txt or source.spm, vocab.txt, a SentencePiece "
      ".model), found none");
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
  file("config.json") = replaced(file("config.json"), "\"model_type\": \"bert\"", "\"model_type\": \"squid\"");
  const auto result = load_model(files, golden("bert-tiny/model"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(result.error().message.starts_with("config.json: model_type: expected one of \"albert\", \"bart\", \"bert\", "));
  EXPECT_TRUE(result.error().message.ends_with("\"xlm-roberta\", found \"squid\"")) << result.error().message;
}

TEST_F(Loading, NamesASwitchItDoesNotHave) {
  file("config.json") = replaced(file("config.json"), "{", "{\"position_embedding_type\": \"relative_key\",");
  expect_error(ErrorCode::kUnsupported, "config.json: position_embedding_type: expected \"absolute\", found \"relative_key\"");
}

TEST_F(Loading, NamesAnActivationItDoesNotHave) {
  file("config.json") = replaced(file("config.json"), "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\"");
  expect_error(ErrorCode::kUnsupported,
               "config.json: hidden_act: expected one of \"gelu\", \"gelu_python\", \"relu\", \"gelu_new\", \"gelu_pytorch_tanh\", "
               "\"gelu_fast\", \"silu\", \"swish\", found \"mish\"");
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
               "modules.json: [2].type: expected Transformer, Pooling, Dense, Normalize in this order, found "
               "\"sentence_transformers.models.CNN\"");
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

TEST_F(Loading, NamesAnIdThatAHeadOverADecoderNeeds) {
  files = small_files(golden("decoder-heads/bart-sequence"));
  const std::string whole = file("config.json");
  for (const std::string key : {"eos_token_id", "decoder_start_token_id"}) {
    file("config.json") = replaced(whole, "\"" + key + "\"", "\"other\"");
    const auto loader = ModelLoader::begin(files, {.head = HeadKind::kSequence});
    ASSERT_FALSE(loader.ok());
    EXPECT_EQ(loader.error().message, "config.json: " + key + ": expected a token id, found nothing");
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
}

}  // namespace
}  // namespace wattn
