// The documents made from metadata of llama.cpp's files, for every architecture that it writes.
#include "models/gguf_config.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "core/json.h"
#include "models/arch.h"

namespace wattn {
namespace {

using Documents = std::map<std::string, std::string>;

// A GGUF file without the bytes of its tensors.
class File {
 public:
  explicit File(const std::string& architecture) : prefix_(architecture + ".") { string("general.architecture", architecture); }

  // Keys that begin with a dot belong to the architecture.
  File& number(const std::string& key, double value) {
    begin(key, 12);
    return append(value);
  }
  File& string(const std::string& key, const std::string& value) {
    begin(key, 8);
    return text(value);
  }
  File& strings(const std::string& key, const std::vector<std::string>& values) {
    begin(key, 9);
    append(std::uint32_t{8}).append(std::uint64_t{values.size()});
    for (const std::string& value : values) text(value);
    return *this;
  }
  // All of the architecture's keys for a model of 2 layers, 4 heads, width 32 and 64 positions.
  File& usual(const std::string& epsilon = "layer_norm_epsilon") {
    for (const auto& [key, value] :
         {std::pair("embedding_length", 32), std::pair("block_count", 2), std::pair("attention.head_count", 4),
          std::pair("feed_forward_length", 48), std::pair("context_length", 64)}) {
      number(std::string(".") + key, value);
    }
    number(".attention." + epsilon, 1e-5);
    return table("token_embd.weight", 100);
  }
  File& table(const std::string& name, std::uint64_t rows) {
    const std::string kept = std::move(bytes_);
    bytes_.clear();
    text(name).append(std::uint32_t{2}).append(std::uint64_t{32}).append(rows).append(std::uint32_t{0}).append(tensor_bytes_);
    tensor_bytes_ += 32 * rows * sizeof(float);
    tensors_ += bytes_;
    ++tensor_count_;
    bytes_ = kept;
    return *this;
  }

  std::string bytes() const {
    const std::uint32_t version = 3;
    std::string out = "GGUF";
    out.append(reinterpret_cast<const char*>(&version), 4);
    for (const std::uint64_t count : {tensor_count_, count_}) out.append(reinterpret_cast<const char*>(&count), 8);
    return out + bytes_ + tensors_;
  }

  Result<Documents> documents() const {
    const auto list = gguf_documents(bytes(), "m.gguf");
    if (!list.ok()) return list.error();
    return Documents(list.value().begin(), list.value().end());
  }
  // The stacks of the documents' config.
  Result<ModelConfig> config() const {
    const auto all = documents();
    if (!all.ok()) return all.error();
    const auto json = Json::parse(all.value().at("config.json"), "config.json");
    if (!json.ok()) return json.error();
    const auto arch = find_arch(json.value().root());
    if (!arch.ok()) return arch.error();
    return parse_model_config(*arch.value(), json.value().root());
  }
  std::string error() const {
    const auto read = config();
    return read.ok() ? "" : read.error().message;
  }

 private:
  template <class T>
  File& append(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  File& text(const std::string& value) {
    append(std::uint64_t{value.size()});
    bytes_ += value;
    return *this;
  }
  void begin(const std::string& key, std::uint32_t type) {
    text(key.starts_with(".") ? prefix_ + key.substr(1) : key);
    append(type);
    ++count_;
  }

  std::string prefix_, bytes_, tensors_;
  std::uint64_t count_ = 0, tensor_count_ = 0, tensor_bytes_ = 0;
};

File bert() { return File("bert").usual().table("token_types.weight", 2); }
File llama(const char* architecture = "llama") { return File(architecture).usual("layer_norm_rms_epsilon"); }
File modernbert() { return File("modern-bert").usual().number(".attention.sliding_window", 16); }
File t5() {
  return File("t5")
      .usual("layer_norm_rms_epsilon")
      .number(".attention.key_length", 8)
      .number(".attention.relative_buckets_count", 32);
}

TEST(GgufConfig, IsReadForEveryArchitecture) {
  const std::pair<const char*, File> files[] = {{"bert", bert()},
                                                {"jina-bert-v2", File("jina-bert-v2").usual().table("token_types.weight", 2)},
                                                {"modern-bert", modernbert()},
                                                {"nomic-bert", File("nomic-bert").usual()},
                                                {"gpt2", File("gpt2").usual()},
                                                {"llama", llama()},
                                                {"eurobert", llama("eurobert")},
                                                {"qwen2", llama("qwen2")},
                                                {"qwen3", llama("qwen3").number(".attention.key_length", 8)},
                                                {"gptneox", File("gptneox").usual()},
                                                {"granite", llama("granite")},
                                                {"olmo2", llama("olmo2")},
                                                {"phi2", File("phi2").usual()},
                                                {"phi3", llama("phi3")},
                                                {"smollm3", llama("smollm3")},
                                                {"stablelm", File("stablelm").usual()},
                                                {"t5", t5()}};
  for (const auto& [name, file] : files) {
    const auto config = file.config();
    ASSERT_TRUE(config.ok()) << name << ": " << config.error().message;
    const TransformerConfig& stack = config.value().transformer;
    EXPECT_EQ(stack.vocab_size, 100) << name;
    EXPECT_EQ(stack.hidden_size, 32) << name;
    EXPECT_EQ(stack.num_hidden_layers, 2) << name;
    EXPECT_EQ(stack.num_attention_heads, 4) << name;
    EXPECT_EQ(stack.intermediate_size, 48) << name;
    EXPECT_EQ(stack.norm_eps, 1e-5f) << name;
    EXPECT_EQ(stack.max_position_embeddings, std::string_view(name) == "t5" ? 4096 : 64) << name;
  }
}

// What llama.cpp would compute, and the architecture here does not.
TEST(GgufConfig, RefusesWhatFamiliesOfTheSameNameHave) {
  EXPECT_NE(llama("olmo2").number(".attention.sliding_window", 16).error().find("sliding_window"), std::string::npos);
  EXPECT_NE(llama("granite").number(".rope.scaling.finetuned", 0).error().find("nope"), std::string::npos);
  EXPECT_EQ(llama("granite").number(".rope.scaling.finetuned", 1).error(), "");
}

TEST(GgufConfig, KeepsTheNumberOfDimensionsThatRotate) {
  for (const std::int64_t head : {8, 10, 14, 49, 80, 96}) {
    for (std::int64_t dims = 1; dims <= head; ++dims) {
      File file("phi2");
      file.number(".embedding_length", static_cast<double>(4 * head)).number(".block_count", 2).number(".attention.head_count", 4);
      file.number(".feed_forward_length", 48).number(".context_length", 64).number(".attention.layer_norm_epsilon", 1e-5);
      const auto config = file.number(".rope.dimension_count", static_cast<double>(dims)).table("token_embd.weight", 100).config();
      ASSERT_TRUE(config.ok()) << config.error().message;
      EXPECT_EQ(config.value().transformer.rope.rotated(head), dims) << head;
    }
  }
}

TEST(GgufConfig, ReadsNamesOfActivations) {
  const auto activation = [](File file) { return file.config().value().transformer.hidden_act; };
  EXPECT_EQ(activation(modernbert()), Activation::kGelu);
  EXPECT_EQ(activation(modernbert().string(".hidden_activation", "silu")), Activation::kSilu);
  EXPECT_NE(modernbert().string(".hidden_activation", "gelo").error().find("gelo"), std::string::npos);
  EXPECT_NE(modernbert().string(".hidden_activation", "\xff").error().find("hidden_activation"), std::string::npos);
  EXPECT_NE(modernbert().string(".rope.freq_base", "many").error(), "");
}

TEST(GgufConfig, HasDefaultsForMissingKeys) {
  const auto config = modernbert().config();
  EXPECT_EQ(config.value().transformer.local_layers, (std::vector<bool>{false, true}));  // every third is global
  EXPECT_EQ(config.value().transformer.rope.theta, 160000);
  EXPECT_EQ(config.value().transformer.local_rope_theta, 10000);
  EXPECT_EQ(modernbert().number(".rope.freq_base", 5000).config().value().transformer.rope.theta, 5000);
  EXPECT_EQ(File("nomic-bert").usual().config().value().transformer.rope.theta, 1000);
  EXPECT_EQ(llama().number(".attention.head_count_kv", 2).config().value().transformer.kv_heads(), 2);
}

TEST(GgufConfig, DependsOnThePresenceOfTensors) {
  const auto arch = [](File file) {
    const auto json = Json::parse(file.documents().value().at("config.json"), "config.json");
    return find_arch(json.value().root()).value();
  };
  EXPECT_STREQ(arch(File("jina-bert-v2").usual())->names.gate_up, "encoder.layer.{}.mlp.gated_layers");
  EXPECT_STREQ(arch(File("jina-bert-v2").usual().table("blk.0.ffn_gate.weight", 48))->names.gate, "encoder.layer.{}.mlp.gate");
  EXPECT_FALSE(t5().config().value().decoder->gated());
  EXPECT_TRUE(t5().table("enc.blk.0.ffn_gate.weight", 48).config().value().decoder->gated());
  EXPECT_TRUE(llama().config().value().transformer.tie_word_embeddings);
  EXPECT_FALSE(llama().table("output.weight", 100).config().value().transformer.tie_word_embeddings);
}

TEST(GgufConfig, RotaryScalingIsLinearOrRejected) {
  const auto scaling = [](File file) { return file.config().value().transformer.rope.type; };
  EXPECT_EQ(scaling(llama()), RopeScaling::Type::kDefault);
  EXPECT_EQ(scaling(llama().string(".rope.scaling.type", "none").number(".rope.scaling.factor", 4)), RopeScaling::Type::kDefault);
  EXPECT_EQ(scaling(llama().string(".rope.scaling.type", "linear").number(".rope.scaling.factor", 4)), RopeScaling::Type::kLinear);
  EXPECT_EQ(llama().number(".rope.scaling.factor", 4).config().value().transformer.rope.factor, 4);
  const File wrong[] = {llama().string(".rope.scaling.type", "yarn").number(".rope.scaling.factor", 4),
                        llama().string(".rope.scaling.type", "linear"), llama().number(".rope.scaling.factor", 0)};
  for (const File& file : wrong)
    EXPECT_NE(file.error().find("llama.rope.scaling.type: expected"), std::string::npos) << file.error();
  // These do not support scaling.
  for (const char* name : {"nomic-bert", "jina-bert-v2", "modern-bert"}) {
    const File file = File(name).usual().number(".attention.sliding_window", 16).number(".rope.scaling.factor", 4);
    EXPECT_NE(file.error().find("rope_scaling"), std::string::npos) << name << file.error();
  }
}

TEST(GgufConfig, PoolingLabelsTokensAndChatTemplateBecomeDocuments) {
  for (const auto& [type, mode] : {std::pair(1, "mean"), std::pair(2, "cls"), std::pair(3, "lasttoken")}) {
    for (const File& file : {bert().number(".pooling_type", type), llama().number(".pooling_type", type)}) {
      const Documents all = file.documents().value();
      EXPECT_NE(all.at("1_Pooling/config.json").find("\"" + std::string(mode) + "\""), std::string::npos);
      EXPECT_NE(all.at("modules.json").find("Normalize"), std::string::npos);
    }
  }
  // Dense modules behind the pooling, by their tensors: [out, in].
  const Documents dense =
      llama().number(".pooling_type", 1).table("dense_2.weight", 24).table("dense_3.weight", 8).documents().value();
  const std::string& modules = dense.at("modules.json");
  EXPECT_LT(modules.find("1_Pooling"), modules.find("2_Dense"));
  EXPECT_LT(modules.find("2_Dense"), modules.find("3_Dense"));
  EXPECT_LT(modules.find("3_Dense"), modules.find("Normalize"));
  EXPECT_NE(dense.at("2_Dense/config.json").find(R"("out_features": 24, "bias": false)"), std::string::npos);
  for (const int type : {0, 4}) EXPECT_EQ(bert().number(".pooling_type", type).documents().value().count("modules.json"), 0u);
  const Documents all = llama()
                            .strings(".classifier.output_labels", {"no", "y\"es"})
                            .number("tokenizer.ggml.bos_token_id", 1)
                            .number("tokenizer.ggml.padding_token_id", 3)
                            .number("tokenizer.ggml.eos_token_id", 1e12)
                            .string("tokenizer.chat_template", "{{ \"x\" }}")
                            .documents()
                            .value();
  const auto config = Json::parse(all.at("config.json"), "config.json");
  EXPECT_EQ(config.value().root()["id2label"]["1"].as_string().value(), "y\"es");
  EXPECT_TRUE(config.value().root()["architectures"][std::size_t{0}].as_string().value().ends_with("ForSequenceClassification"));
  EXPECT_EQ(config.value().root()["pad_token_id"].as_int().value(), 3);
  EXPECT_EQ(all.at("generation_config.json"), R"({"bos_token_id": 1, "pad_token_id": 3})");
  EXPECT_EQ(all.at("tokenizer_config.json"), R"({"chat_template": "{{ \"x\" }}"})");
}

TEST(GgufConfig, PackedFilesAreTheDocuments) {
  const File packed =
      bert().strings("wattn.files", {"config.json", "modules.json", "more.json"}).strings("wattn.contents", {"{}", "[]"});
  EXPECT_EQ(packed.documents().value(), (Documents{{"config.json", "{}"}, {"modules.json", "[]"}}));
  EXPECT_FALSE(gguf_documents("GGUF", "m.gguf").ok());
  EXPECT_FALSE(gguf_documents("no GGUF", "m.gguf").ok());
  EXPECT_EQ(llama().string("tokenizer.chat_template", "\xff").documents().value().count("tokenizer_config.json"), 0u);
  EXPECT_EQ(llama().number("tokenizer.ggml.bos_token_id", -1).documents().value().at("generation_config.json"), "{}");
}

TEST(GgufConfig, ErrorsNameFileAndKey) {
  const std::pair<File, const char*> wrong[] = {
      {File("falcon").usual(), "m.gguf: general.architecture: expected an architecture listed in docs/models.md, found \"falcon\""},
      {File(""), "general.architecture: expected an architecture listed in docs/models.md, found nothing"},
      {File("bert"), "m.gguf: bert.embedding_length: expected a number, found none"},
      {File("bert").number(".embedding_length", 1e300), "bert.embedding_length: expected a size, found another number"},
      {bert().strings(".classifier.output_labels", {"\xff"}), "m.gguf: expected labels in UTF-8"},
      {File("bert").number(".embedding_length", -1e300), "bert.embedding_length: expected a size, found another number"},
      {llama().string(".rope.scaling.type", "linear").number(".rope.scaling.factor", 1e6), "llama.rope.scaling.type: expected"},
  };
  for (const auto& [file, message] : wrong) EXPECT_NE(file.error().find(message), std::string::npos) << file.error();
}

TEST(GgufConfig, NamesOfTensorsKeepLayersAndEndings) {
  const auto name = [](const char* architecture, const char* tensor) {
    return canonical_weight_name(*find_gguf_arch(architecture).value(), tensor, true);
  };
  EXPECT_EQ(name("bert", "token_embd.weight"), "embeddings.word_embeddings.weight");
  EXPECT_EQ(name("bert", "blk.11.attn_q.bias"), "encoder.layer.11.attention.self.query.bias");
  EXPECT_EQ(name("llama", "blk.0.ffn_gate.weight"), "layers.0.mlp.gate_proj.weight");
  EXPECT_EQ(name("gemma-embedding", "dense_2.weight"), "2_Dense/linear.weight");
  EXPECT_EQ(name("gemma-embedding", "dense_3.weight"), "3_Dense/linear.weight");
  for (const char* other :
       {"dense_4.weight", "rope_freqs.weight", "blk..attn_q.weight", "blk.x.attn_q.weight", "blk.attn_q", "plain"}) {
    EXPECT_EQ(name("llama", other), other);
  }
  const Arch& bert = *find_gguf_arch("bert").value();
  EXPECT_EQ(canonical_weight_name(bert, "bert.embeddings.LayerNorm.gamma", false), "embeddings.LayerNorm.weight");
  EXPECT_EQ(canonical_weight_name(bert, "embeddings.LayerNorm.beta", false), "embeddings.LayerNorm.bias");
  EXPECT_EQ(canonical_weight_name(bert, "blk.1.attn_q.bias", false), "blk.1.attn_q.bias");
}

}  // namespace
}  // namespace wattn
