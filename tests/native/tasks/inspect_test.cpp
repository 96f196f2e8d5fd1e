// inspect() of every architecture counts exactly the parameters that its checkpoint holds.
#include "tasks/inspect.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/safetensors.h"
#include "native/support/goldens.h"
#include "native/support/models.h"

namespace wattn {
namespace {

using test::golden;
using test::load_model;
using test::read_file;

std::int64_t parameters_in(const std::string& path) {
  const std::string bytes = read_file(path);
  const std::uint64_t length = safetensors_header_bytes(std::string_view(bytes).substr(0, 8), bytes.size(), path).value();
  const auto tensors = parse_safetensors_header(std::string_view(bytes).substr(8, length), bytes.size(), path);
  std::int64_t count = 0;
  for (const TensorInfo& tensor : tensors.value()) count += num_elements(tensor.shape).value();
  return count;
}

TEST(Inspect, CountsTheParametersOfTheCheckpoint) {
  const auto cases = Json::parse(read_file(golden("architectures/cases.json")), "cases.json");
  for (std::size_t i = 0; i < cases.value().root().size(); ++i) {
    const std::string folder = golden("architectures/") + std::string(cases.value().root()[i].as_string().value());
    SCOPED_TRACE(folder);
    const std::vector<NamedFile> files = {{"config.json", read_file(folder + "/config.json")},
                                          {"tokenizer.json", read_file(golden("bert-tiny/model/tokenizer.json"))},
                                          {"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}};
    const auto model = load_model(files, folder);
    ASSERT_TRUE(model.ok()) << model.error().message;
    std::int64_t parameters = 0;
    for (const SummaryRow& row : inspect(*model.value(), 8)) parameters += row.parameters;
    EXPECT_EQ(parameters, parameters_in(folder + "/model.safetensors"));
  }
}

std::int64_t parameters_of(const std::vector<SummaryRow>& rows) {
  std::int64_t sum = 0;
  for (const SummaryRow& row : rows) sum += row.parameters;
  return sum;
}

TEST(Inspect, CountsTheParametersOfDecodersAndEncoderDecoders) {
  for (const std::string kind : {"decoders/", "seq2seq/"}) {
    for (const std::string& name : test::case_names(kind)) {
      SCOPED_TRACE(name);
      const std::string folder = golden(kind + name);
      const auto model = load_model(folder, {.own_lm_head = true});
      ASSERT_TRUE(model.ok()) << model.error().message;
      const auto rows = inspect(*model.value(), 8);
      EXPECT_EQ(parameters_of(rows), parameters_in(folder + "/model.safetensors"));
      const std::int64_t vocab = model.value()->generator().config().vocab_size;
      EXPECT_EQ(rows.back().name, "lm_head");
      EXPECT_EQ(rows.back().macs, 8 * vocab * model.value()->generator().config().hidden_size);
    }
  }
}

std::vector<SummaryRow> attention_rows(const std::string& folder, std::int64_t seq) {
  const auto model = load_model(golden(folder), {.own_lm_head = true});
  if (!model.ok()) return {};
  auto rows = inspect(*model.value(), seq);
  std::erase_if(rows, [](const SummaryRow& row) { return row.type != "Attention"; });
  return rows;
}

// Two products, one for the scores and one for the context.
TEST(Inspect, CountsTheScoredPairsOfAttention) {
  const auto llama = attention_rows("decoders/llama", 10);
  ASSERT_EQ(llama.size(), 2U);
  for (const SummaryRow& row : llama) EXPECT_EQ(row.macs, 2 * 24 * 55);  // 1 + 2 + .. + 10
  const auto mistral = attention_rows("decoders/mistral", 10);
  ASSERT_FALSE(mistral.empty());
  for (const SummaryRow& row : mistral) EXPECT_EQ(row.macs, 2 * row.output[1] * (1 + 2 + 3 + 4 + 6 * 5));  // a window of 5
  const auto t5 = attention_rows("seq2seq/t5", 10);
  ASSERT_FALSE(t5.empty());
  EXPECT_EQ(t5.front().macs, 2 * 18 * 100);
  EXPECT_EQ(t5[t5.size() - 2].macs, 2 * 18 * 55);  // self-attention, then over the source
  EXPECT_EQ(t5.back().macs, 2 * 18 * 100);
}

// DeBERTa projects the embeddings of its buckets to keys and queries, and multiplies both with the tokens: 16 buckets, of which a
// sequence of n tokens uses 2n.
TEST(Inspect, CountsTheWorkOfDisentangledAttention) {
  const std::string folder = golden("architectures/deberta-v3");
  const auto model = load_model({{"config.json", read_file(folder + "/config.json")},
                                 {"tokenizer.json", read_file(golden("bert-tiny/model/tokenizer.json"))},
                                 {"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}},
                                folder);
  ASSERT_TRUE(model.ok()) << model.error().message;
  for (const auto& [seq, buckets] : {std::pair{4, 8}, {8, 16}, {10, 16}}) {
    for (const SummaryRow& row : inspect(*model.value(), seq)) {
      if (row.type != "Attention") continue;
      EXPECT_EQ(row.macs, 2 * 24 * seq * seq + 2 * buckets * 24 * (24 + seq)) << seq;
    }
  }
}

// Shared layers are listed each time and counted once; matrices stored as [in, out] are listed as [out, in].
TEST(Inspect, ListsSharedLayersAndTransposedMatrices) {
  const std::string folder = golden("architectures/albert");
  const auto albert = load_model({{"config.json", read_file(folder + "/config.json")},
                                  {"tokenizer.json", read_file(golden("bert-tiny/model/tokenizer.json"))},
                                  {"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}},
                                 folder);
  ASSERT_TRUE(albert.ok()) << albert.error().message;
  std::int64_t queries = 0, owned = 0;
  for (const SummaryRow& row : inspect(*albert.value(), 8)) {
    if (!row.name.ends_with("attention.query")) continue;
    ++queries;
    owned += row.parameters > 0;
  }
  EXPECT_EQ(queries, albert.value()->transformer().config().num_hidden_layers);
  EXPECT_EQ(owned, 1);
  const auto gpt2 = load_model(golden("decoders/gpt2"));
  ASSERT_TRUE(gpt2.ok()) << gpt2.error().message;
  const auto rows = inspect(*gpt2.value(), 8);
  const auto qkv = std::find_if(rows.begin(), rows.end(), [](const SummaryRow& row) { return row.name == "h.1.attn.c_attn"; });
  ASSERT_NE(qkv, rows.end());
  const std::int64_t hidden = gpt2.value()->transformer().config().hidden_size;
  EXPECT_EQ(qkv->kernel, (Shape{3 * hidden, hidden}));
  EXPECT_EQ(qkv->output, (Shape{8, 3 * hidden}));
  EXPECT_EQ(qkv->parameters, 3 * hidden * (hidden + 1));
}

}  // namespace
}  // namespace wattn
