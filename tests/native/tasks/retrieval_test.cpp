// Token vectors of PyLate and sparse vectors of sentence-transformers (tests/goldens/late-interaction, sparse), and
// invalid files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/utf.h"
#include "native/support/goldens.h"
#include "native/support/models.h"
#include "tasks/sparse_vectors.h"
#include "tasks/token_vectors.h"

namespace wattn {
namespace {

using test::golden;
using test::Ids;
using test::read_json;
using test::to_ids;

constexpr const char* kSettings = "config_sentence_transformers.json";
constexpr const char* kPooling = "1_SpladePooling/config.json";

std::vector<NamedFile> files_of(const std::string& folder) {
  std::vector<NamedFile> files = test::small_files(folder);
  for (const char* name : {"artifact.metadata", "1_Dense/config.json", kPooling, "router_config.json",
                           "2_MultiVectorMask/config.json", "query_0_SparseStaticEmbedding/config.json",
                           "query_0_SparseStaticEmbedding/tokenizer.json", "query_0_SparseStaticEmbedding/tokenizer_config.json"}) {
    if (test::has_file(folder + "/" + name)) files.push_back({name, test::read_file(folder + "/" + name)});
  }
  return files;
}

NamedFile& file_named(std::vector<NamedFile>& files, const std::string& name) {
  return *std::find_if(files.begin(), files.end(), [&](const NamedFile& file) { return file.name == name; });
}

// The last of repeated members counts, so those of more replace the file's.
void change(std::vector<NamedFile>& files, const std::string& name, const std::string& more) {
  std::string& bytes = file_named(files, name).bytes;
  bytes.erase(bytes.rfind('}'));
  bytes += "," + more.substr(more.find('{') + 1);
}

Result<std::unique_ptr<Model>> load(const std::vector<NamedFile>& files, const std::string& folder, Retrieval retrieval) {
  const HeadKind head = retrieval == Retrieval::kSparse ? HeadKind::kMaskedLm : HeadKind::kNone;
  return test::load_model(files, folder, {.head = head, .retrieval = retrieval});
}

std::vector<std::u16string> to_texts(JsonRef list) {
  std::vector<std::u16string> out;
  out.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) out.push_back(to_utf16(list[i].as_string().value()));
  return out;
}

std::vector<std::u16string_view> views_of(const std::vector<std::u16string>& texts) { return {texts.begin(), texts.end()}; }

// Texts whose ends have no white space: web/ removes it.
void expect_token_vectors(Model& model, const std::vector<std::u16string>& texts, JsonRef rows, bool is_query, double bound) {
  const auto got = token_vectors(model, views_of(texts), {.is_query = is_query});
  ASSERT_TRUE(got.ok()) << got.error().message;
  const TokenVectorsResult& result = got.value();
  std::size_t at = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto count = static_cast<std::size_t>(result.rows[i]);
    const Ids ids(result.ids.begin() + static_cast<std::ptrdiff_t>(at),
                  result.ids.begin() + static_cast<std::ptrdiff_t>(at + count));
    EXPECT_EQ(ids, to_ids(rows[i]["ids"])) << "text " << i;
    const auto dim = static_cast<std::size_t>(result.dim);
    for (std::size_t j = 0; j < count * dim; ++j) {
      ASSERT_NEAR(result.data[at * dim + j], rows[i]["vectors"][j].as_number().value(), bound) << "text " << i << ", number " << j;
    }
    at += count;
  }
}

TEST(Retrieval, TokenVectorsAreThoseOfPyLate) {
  const Json expected = read_json("late-interaction/expected.json");
  auto queries = to_texts(expected.root()["queries"]), documents = to_texts(expected.root()["documents"]);
  queries[2] = u"a boat: 42";
  documents[3].erase(0, 1);
  for (const auto& [name, cases] : expected.root()["models"].members()) {
    const std::string folder = golden("late-interaction/" + std::string(name));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(std::string(name) + ", " + std::string(cases[i]["name"].as_string().value()));
      auto files = files_of(folder);
      const JsonRef config = cases[i]["config"];
      if (config.size() > 0) change(files, kSettings, config.to_text());
      if (!config["default_prompt_name"].is_null()) continue;  // web/ puts prompts before texts
      const auto model = load(files, folder, Retrieval::kTokenVectors);
      ASSERT_TRUE(model.ok()) << model.error().message;
      const double bound = 4 * cases[i]["f32_diff"].as_number().value();
      expect_token_vectors(*model.value(), queries, cases[i]["queries"], true, bound);
      expect_token_vectors(*model.value(), documents, cases[i]["documents"], false, bound);
    }
  }
}

TEST(Retrieval, TokenVectorsOfMultiVectorEncoder) {
  const Json expected = read_json("multi-vector/expected.json");
  const std::string folder = golden("multi-vector/model");
  const auto model = load(files_of(folder), folder, Retrieval::kTokenVectors);
  ASSERT_TRUE(model.ok()) << model.error().message;
  for (const bool is_query : {true, false}) {
    auto texts = to_texts(expected.root()[is_query ? "queries" : "documents"]);
    for (std::u16string& text : texts) text.insert(0, is_query ? u"[Q] " : u"[D] ");
    const auto got = token_vectors(*model.value(), views_of(texts), {.is_query = is_query});
    ASSERT_TRUE(got.ok()) << got.error().message;
    const JsonRef rows = expected.root()["vectors"][is_query ? "queries" : "documents"];
    std::size_t at = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ASSERT_EQ(got.value().rows[i], rows[i]["shape"][0].as_int().value());
      for (std::size_t j = 0; j < rows[i]["vectors"].size(); ++j, ++at) {
        ASSERT_NEAR(got.value().data[at], rows[i]["vectors"][j].as_number().value(),
                    4 * expected.root()["f32_diff"].as_number().value());
      }
    }
  }
}

TEST(Retrieval, SparseVectorsAreThoseOfSparseEncoder) {
  const Json expected = read_json("sparse/expected.json");
  const auto texts = to_texts(expected.root()["texts"]);
  const std::string folder = golden("sparse/splade");
  const JsonRef cases = expected.root()["models"]["splade"];
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i]["name"].as_string().value());
    auto files = files_of(folder);
    if (cases[i]["pooling"].size() > 0) change(files, kPooling, cases[i]["pooling"].to_text());
    if (cases[i]["settings"].size() > 0) change(files, kSettings, cases[i]["settings"].to_text());
    const bool has_prompts = !cases[i]["settings"]["prompts"].is_null();
    const auto model = load(files, folder, Retrieval::kSparse);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const auto got = sparse_vectors(*model.value(), views_of(texts), {});
    ASSERT_TRUE(got.ok()) << got.error().message;
    if (has_prompts) continue;  // web/ puts them before texts
    std::size_t at = 0;
    for (std::size_t t = 0; t < texts.size(); ++t) {
      const JsonRef row = cases[i]["calls"]["encode"][t];
      const auto count = static_cast<std::size_t>(got.value().counts[t]);
      ASSERT_EQ(count, row["indices"].size()) << "text " << t;
      for (std::size_t j = 0; j < count; ++j, ++at) {
        EXPECT_EQ(got.value().indices[at], row["indices"][j].as_int().value());
        EXPECT_NEAR(got.value().values[at], row["values"][j].as_number().value(), 4 * cases[i]["f32_diff"].as_number().value());
      }
    }
  }
}

TEST(Retrieval, OptionsOutOfRangeAreRefused) {
  const std::string colbert = golden("late-interaction/bert"), splade = golden("sparse/splade");
  const auto late = load(files_of(colbert), colbert, Retrieval::kTokenVectors);
  const auto sparse = load(files_of(splade), splade, Retrieval::kSparse);
  ASSERT_TRUE(late.ok() && sparse.ok());
  const std::u16string_view texts[] = {u"who?"};
  for (const std::int64_t length : {0, 1, 201}) EXPECT_FALSE(token_vectors(*late.value(), texts, {.max_length = length}).ok());
  for (const std::int64_t length : {0, 91}) EXPECT_FALSE(sparse_vectors(*sparse.value(), texts, {.max_length = length}).ok());
  EXPECT_FALSE(sparse_vectors(*sparse.value(), texts, {.max_active_dims = 0}).ok());
}

TEST(Retrieval, WrongFilesAreRefusedByName) {
  struct Case {
    const char* model;
    const char* file;
    const char* bytes;  // replaces the file; null: without it
    const char* message;
  };
  const std::string transformer = R"([{"type": "x.Transformer", "path": ""})";
  const std::string only = transformer + "]", pooled = transformer + R"(, {"type": "x.Pooling", "path": "1"}])";
  const std::string unmasked = transformer + R"(, {"type": "x.Normalize", "path": "1"}])";
  const Case cases[] = {
      {"late-interaction/bert", "modules.json", nullptr, "HF_ColBERT"},
      {"late-interaction/bert", "modules.json", "{}", "an array of modules"},
      {"late-interaction/bert", "modules.json", R"([{"path": ""}])", "type"},
      {"late-interaction/bert", "modules.json", only.c_str(), "expected a Dense module"},
      {"late-interaction/bert", "modules.json", pooled.c_str(), "found Pooling"},
      {"late-interaction/bert", "modules.json", unmasked.c_str(), "found Normalize"},
      {"late-interaction/bert", kSettings, nullptr, kSettings},
      {"late-interaction/bert", kSettings, R"({"query_prefix": "no token"})", "query_prefix: expected a token"},
      {"late-interaction/bert", kSettings, R"({"document_prefix": 3})", "document_prefix"},
      {"late-interaction/bert", kSettings, R"({"document_length": 0})", "document_length"},
      {"late-interaction/bert", kSettings, R"({"skiplist_words": [1]})", "skiplist_words"},
      {"late-interaction/bert", "1_Dense/config.json", nullptr, "1_Dense/config.json"},
      {"late-interaction/bert", "1_Dense/config.json", R"({"in_features": 24})", "out_features"},
      {"late-interaction/bert", "tokenizer_config.json", R"({"tokenizer_class": "TokenizersBackend", "padding_side": "left"})",
       "padding_side"},
      {"late-interaction/bert", "tokenizer_config.json", R"({"tokenizer_class": "TokenizersBackend", "mask_token": "none"})",
       "mask_token"},
      {"late-interaction/bert", "tokenizer_config.json", R"({"tokenizer_class": "TokenizersBackend", "unk_token": 1})",
       "unk_token"},
      {"late-interaction/original", "artifact.metadata", R"({"dim": "x"})", "dim"},
      {"late-interaction/original", "artifact.metadata", R"({"doc_token_id": "none"})", "doc_token_id"},
      {"multi-vector/model", "2_MultiVectorMask/config.json", nullptr, "2_MultiVectorMask"},
      {"multi-vector/model", "2_MultiVectorMask/config.json", R"({"keep_only_token_ids": [3]})", "keep_only_token_ids"},
      {"multi-vector/model", "2_MultiVectorMask/config.json", R"({"skiplist_tasks": ["other"]})", "skiplist_tasks"},
      {"multi-vector/model", "2_MultiVectorMask/config.json", R"({"skiplist_words": ["a"], "skiplist_tasks": ["query"]})",
       "skiplist_tasks"},
      {"multi-vector/model", "sentence_bert_config.json", R"({"query_expansion": {"strategy": "min", "length": 2}})", "strategy"},
      {"multi-vector/model", "sentence_bert_config.json", R"({"query_expansion": {"strategy": "fixed"}})", "length"},
      {"multi-vector/model", kSettings, R"({"similarity_fn_name": "meanmaxsim"})", "similarity_fn_name"},
      {"sparse/splade", "modules.json", "{}", "an array of modules"},
      {"sparse/splade", "modules.json", only.c_str(), "SpladePooling"},
      {"sparse/splade", "modules.json", pooled.c_str(), "found Pooling"},
      {"sparse/splade", "sentence_bert_config.json", "{}", "transformer_task"},
      {"sparse/splade", kPooling, R"({"pooling_strategy": "mean"})", "pooling_strategy"},
      {"sparse/splade", kPooling, R"({"activation_function": "gelu"})", "activation_function"},
      {"sparse/splade", kSettings, R"({"max_active_dims": 0})", "max_active_dims"},
      {"sparse/splade", kSettings, R"({"default_prompt_name": "none"})", "default_prompt_name"},
  };
  for (const auto& [name, file, bytes, message] : cases) {
    SCOPED_TRACE(std::string(name) + "/" + file + ": " + (bytes ? bytes : "absent"));
    const std::string folder = golden(name);
    auto files = files_of(folder);
    if (bytes) {
      file_named(files, file).bytes = bytes;
    } else {
      std::erase_if(files, [&](const NamedFile& one) { return one.name == file; });
    }
    const auto model =
        load(files, folder, std::string_view(name).starts_with("sparse") ? Retrieval::kSparse : Retrieval::kTokenVectors);
    ASSERT_FALSE(model.ok());
    EXPECT_NE(model.error().message.find(message), std::string::npos) << model.error().message;
  }
}

// A repository whose documents go through the encoder in its root, and whose queries are looked up.
TEST(Retrieval, ARouterSendsQueriesToTheirWeights) {
  const std::string folder = golden("sparse/router"), encoder = folder + "/document_0_Transformer";
  auto files = test::small_files(encoder);
  for (const NamedFile& file : files_of(folder)) {
    if (file.name != "config.json") files.push_back(file);
  }
  files.push_back({"document_1_SpladePooling/config.json", "{}"});
  const auto bytes_of = [&](const std::string& name) {
    return test::read_file((name == "model.safetensors" ? encoder : folder) + "/" + name);
  };
  const LoadOptions options{.head = HeadKind::kMaskedLm, .retrieval = Retrieval::kSparse};
  const auto model = test::load_with(files, bytes_of, options);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Json expected = read_json("sparse/expected.json");
  const auto texts = to_texts(expected.root()["texts"]);
  const JsonRef rows = expected.root()["models"]["router"][0]["calls"]["encode_query"];
  const auto got = sparse_vectors(*model.value(), views_of(texts), {.is_query = true});
  ASSERT_TRUE(got.ok()) << got.error().message;
  std::size_t at = 0;
  for (std::size_t t = 0; t < texts.size(); ++t) {
    ASSERT_EQ(got.value().counts[t], static_cast<std::int32_t>(rows[t]["indices"].size()));
    for (std::size_t j = 0; j < rows[t]["indices"].size(); ++j, ++at) {
      EXPECT_EQ(got.value().indices[at], rows[t]["indices"][j].as_int().value());
      EXPECT_EQ(got.value().values[at], static_cast<float>(rows[t]["values"][j].as_number().value()));
    }
  }
  const std::pair<const char*, const char*> wrong[] = {
      {R"({})", "structure: expected an object"},
      {R"({"structure": {"document": ["a"], "query": ["b"]}, "types": {"a": "x.Transformer"}})", "types"},
      {R"({"structure": {"document": [], "query": []}, "types": {}})", "document"},
      {R"({"structure": {"document": ["a"], "query": ["b"]}, "types": {"a": "T", "b": "T"}, "parameters": {"default_route": "query"}})",
       "default_route"},
      {R"({"structure": {"document": ["a"], "query": ["b"]}, "types": {"a": "T", "b": "x.Other"}, "parameters": {}})",
       "found Other"},
  };
  for (const auto& [bytes, message] : wrong) {
    file_named(files, "router_config.json").bytes = bytes;
    const auto refused = test::load_with(files, bytes_of, options);
    ASSERT_FALSE(refused.ok()) << bytes;
    EXPECT_NE(refused.error().message.find(message), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace wattn
