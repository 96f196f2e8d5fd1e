// GLiNER against the package gliner (tests/goldens/spans), and GLiNER2 against gliner2 (tests/goldens/schemas). The caller's choice
// among overlapping spans is tested in tests/web.
#include "tasks/find_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <tuple>

#include "core/utf.h"
#include "engine/labels_encoder.h"
#include "native/support/goldens.h"
#include "native/support/models.h"

namespace wattn {
namespace {

using test::golden;
using test::read_json;

const std::string kFolder = "spans/";

Result<std::unique_ptr<Model>> load(const std::string& name, WeightType dtype = WeightType::kF32) {
  return test::load_model(golden(kFolder + name), {.dtype = dtype, .head = HeadKind::kSpans});
}

// GLiNER2, with its files under the names that a host gives them.
std::vector<NamedFile> schema_files(const std::string& name, const std::string& from = "", const std::string& to = "") {
  const std::string folder = golden("schemas/" + name);
  auto files = test::small_files(folder);
  for (NamedFile& file : files) {
    if (file.name != "config.json") continue;
    file.name = "gliner_config.json";
    const std::size_t at = file.bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) file.bytes.replace(at, from.size(), to);
  }
  files.push_back({"config.json", test::read_file(folder + "/encoder_config/config.json")});
  return files;
}
Result<std::unique_ptr<Model>> load_schema(const std::string& name, const std::string& from = "", const std::string& to = "") {
  return test::load_model(schema_files(name, from, to), golden("schemas/" + name), {.head = HeadKind::kSpans});
}

// A bi-encoder, with the tokenizer of its labels.
std::vector<NamedFile> bi_files(const std::string& name) {
  const std::string folder = golden("spans_bi/" + name);
  auto files = test::small_files(folder);
  for (const char* file : {"labels_tokenizer/tokenizer.json", "labels_tokenizer/tokenizer_config.json"}) {
    files.push_back({file, test::read_file(folder + "/" + file)});
  }
  return files;
}
Result<std::unique_ptr<Model>> load_bi(const std::string& name, WeightType dtype = WeightType::kF32) {
  return test::load_model(bi_files(name), golden("spans_bi/" + name), {.dtype = dtype, .head = HeadKind::kSpans});
}

struct Call {
  std::vector<std::u16string> texts, labels;
  std::vector<std::u16string_view> views() const { return {texts.begin(), texts.end()}; }
  FindSpansOptions options(float threshold) const { return {.labels = {labels.begin(), labels.end()}, .threshold = threshold}; }
};

FindSpansResult find(Model& model, const Call& call, float threshold) {
  auto found = find_spans(model, call.views(), call.options(threshold));
  EXPECT_TRUE(found.ok()) << found.error().message;
  return found.ok() ? std::move(found).value() : FindSpansResult();
}

std::vector<std::u16string> to_texts(JsonRef list) {
  std::vector<std::u16string> out;
  for (std::size_t i = 0; i < list.size(); ++i) out.push_back(to_utf16(list[i].as_string().value()));
  return out;
}

// The offset in UTF-16 units of one in code points.
std::int32_t utf16_offset(const std::u16string& text, std::int64_t code_points) {
  std::size_t at = 0;
  for (; code_points > 0; --code_points) next_code_point(text, at);
  return static_cast<std::int32_t>(at);
}

// Every entity of the package is a span with its score, and nothing else that it would have preferred. Of the spans that its
// entities do not touch, none is above the threshold. per_label: the package chooses among the spans of each label alone.
template <class Load>
void expect_scores_of_package(const std::string& folder, const Load& load, bool per_label) {
  const Json all = read_json(folder + "cases.json");
  const std::vector<std::u16string> texts = to_texts(all.root()["texts"]);
  for (std::size_t c = 0; c < all.root()["cases"].size(); ++c) {
    const std::string name(all.root()["cases"][c].as_string().value());
    const auto model = load(name);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    const Json expected = read_json(folder + name + "/expected.json");
    const double bound = 4 * std::max(expected.root()["f32_diff"].as_number().value(), 0x1p-23);
    const JsonRef calls = expected.root()["calls"];
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto at = [&](std::size_t j) { return static_cast<std::size_t>(calls[i][j].as_int().value()); };
      const std::u16string& text = texts[at(0)];
      const JsonRef options = all.root()["options"][at(2)];
      const auto threshold = static_cast<float>(options["threshold"].is_null() ? 0.5 : options["threshold"].as_number().value());
      const Call call{{text}, to_texts(all.root()["labels"][at(1)])};
      const FindSpansResult got = find(*model.value(), call, threshold);
      std::map<std::tuple<int, int, int>, float> scores;
      for (const FoundSpan& span : got.spans) {
        EXPECT_TRUE(scores.emplace(std::tuple(span.begin, span.end, span.label), span.score).second) << "judged twice";
      }
      const JsonRef entities = calls[i][3];
      const std::string what = name + ", call " + std::to_string(i);
      std::vector<std::tuple<int, int, int>> kept;
      for (std::size_t e = 0; e < entities.size(); ++e) {
        const int begin = utf16_offset(text, entities[e][0].as_int().value()),
                  end = utf16_offset(text, entities[e][1].as_int().value());
        const int label = static_cast<int>(entities[e][2].as_int().value());
        const auto found = scores.find({begin, end, label});
        ASSERT_NE(found, scores.end()) << what << ", entity " << e;
        EXPECT_NEAR(found->second, entities[e][3].as_number().value(), bound) << what << ", entity " << e;
        kept.emplace_back(begin, end, label);
      }
      for (const auto& [key, score] : scores) {
        const auto [begin, end, label] = key;
        const bool touches = std::any_of(kept.begin(), kept.end(), [&, b = begin, e = end, l = label](const auto& one) {
          return b < std::get<1>(one) && std::get<0>(one) < e && (!per_label || l == std::get<2>(one));
        });
        EXPECT_TRUE(touches) << what << ": " << begin << " to " << end << " has " << score;
      }
    }
  }
}

TEST(FindSpans, HaveTheScoresOfThePackage) {
  expect_scores_of_package(kFolder, [](const std::string& name) { return load(name); }, false);
}
TEST(FindSpans, HaveTheScoresOfThePackageWithASchema) {
  expect_scores_of_package("schemas/", [](const std::string& name) { return load_schema(name); }, true);
}

TEST(FindSpans, HaveTheScoresOfThePackageWithABiEncoder) {
  expect_scores_of_package("spans_bi/", [](const std::string& name) { return load_bi(name); }, false);
}

TEST(FindSpans, DividesTextsForASchemaAsThePackage) {
  const Json all = read_json("schemas/cases.json");
  const JsonRef divided = all.root()["divided"];
  for (std::size_t i = 0; i < divided.size(); ++i) {
    const std::u16string text = to_utf16(divided[i][0].as_string().value());
    const std::vector<TextSpan> words = split_words_and_addresses(text);
    ASSERT_EQ(words.size(), divided[i][1].size()) << i;
    for (std::size_t j = 0; j < words.size(); ++j) {
      const JsonRef word = divided[i][1][j];
      EXPECT_EQ(words[j].begin, utf16_offset(text, word[1].as_int().value())) << i << ", " << j;
      EXPECT_EQ(words[j].end, utf16_offset(text, word[2].as_int().value())) << i << ", " << j;
      const auto size = static_cast<std::size_t>(words[j].end - words[j].begin);
      EXPECT_EQ(to_utf8(lower_case(std::u16string_view(text).substr(static_cast<std::size_t>(words[j].begin), size))),
                word[0].as_string().value());
    }
  }
  // in time that grows with the text alone
  std::u16string hostile;
  for (int i = 0; i < 300000; ++i) hostile += u"a.";
  EXPECT_EQ(split_words_and_addresses(hostile).size(), 600000u);
  EXPECT_EQ(split_words_and_addresses(u"x@" + hostile).size(), 600001u);
}

TEST(FindSpans, RefusesOtherKindsOfSchemaModelsByName) {
  const std::pair<std::string, std::string> cases[] = {
      {R"("architecture":"span")", R"("architecture":"boundary")"},
      {R"("counting_layer":"count_lstm_v2")", R"("counting_layer":"count_lstm_moe")"},
      {R"("token_pooling":"first")", R"("token_pooling":"last")"},
      {R"("span_mode":"markerV0")", R"("span_mode":"marker")"},
  };
  for (const auto& [from, to] : cases) {
    const auto model = load_schema("deberta", from, to);
    ASSERT_FALSE(model.ok()) << to;
    const std::string key = from.substr(1, from.find(':') - 2);
    EXPECT_TRUE(model.error().message.starts_with("config.json: ")) << model.error().message;
    EXPECT_NE(model.error().message.find(key + ": expected"), std::string::npos) << model.error().message;
  }
}

Call some_call() {
  return {{u"Ada saw the old boat.", u"", u"Who? Ada-Mae van_Dyke, 42; (and) Zoe...", u" \n", u"a"}, {u"person", u"place", u"x-y"}};
}

bool same(const FoundSpan& a, const FoundSpan& b) {
  return a.begin == b.begin && a.end == b.end && a.label == b.label && a.score == b.score;
}

TEST(FindSpans, GiveTheSameBitsAloneAndInABatch) {
  for (const char* name : {"deberta", "deberta-token", "bert"}) {
    const auto model = load(name);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const Call call = some_call();
    const FindSpansResult together = find(*model.value(), call, 0.2f);
    ASSERT_FALSE(together.spans.empty());
    std::size_t at = 0;
    for (std::size_t i = 0; i < call.texts.size(); ++i) {
      const FindSpansResult alone = find(*model.value(), {{call.texts[i]}, call.labels}, 0.2f);
      for (const FoundSpan& span : alone.spans) {
        ASSERT_LT(at, together.spans.size());
        EXPECT_EQ(together.spans[at].text, static_cast<std::int32_t>(i));
        EXPECT_TRUE(same(together.spans[at++], span)) << name;
      }
    }
    EXPECT_EQ(at, together.spans.size());
  }
}

SchemaPart classes_of(const std::string& task, std::size_t labels) {
  return {SchemaPartKind::kClasses, task, static_cast<std::int64_t>(labels)};
}

// The task and its examples, as the package writes them.
std::string task_text(JsonRef task, JsonRef examples) {
  std::string out(task.as_string().value());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    out += " [EXAMPLE] " + std::string(examples[i][0].as_string().value()) + " [OUTPUT] ";
    out += examples[i][1].as_string().value();
  }
  return out;
}

TEST(FindSpans, HaveTheLogitsOfThePackageForClasses) {
  const Json all = read_json("schemas/cases.json");
  const std::vector<std::u16string> texts = to_texts(all.root()["texts"]);
  const JsonRef cases = all.root()["cases"], classes = all.root()["classes"];
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const std::string name(cases[c].as_string().value());
    const auto model = load_schema(name);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    const Json expected = read_json("schemas/" + name + "/classes.json");
    const double bound = 4 * expected.root()["f32_diff"].as_number().value();
    const JsonRef calls = expected.root()["calls"];
    ASSERT_EQ(calls.size(), texts.size() * classes.size());
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const std::vector<std::u16string> labels = to_texts(classes[k][1]);
      const FindSpansOptions options{.labels = {labels.begin(), labels.end()},
                                     .parts = {classes_of(task_text(classes[k][0], classes[k][2]), labels.size())}};
      const std::vector<std::u16string_view> views(texts.begin(), texts.end());
      const auto found = find_spans(*model.value(), views, options);
      ASSERT_TRUE(found.ok()) << found.error().message;
      EXPECT_TRUE(found.value().spans.empty());
      const std::vector<float>& logits = found.value().logits;
      ASSERT_EQ(logits.size(), texts.size() * labels.size());
      for (std::size_t t = 0; t < texts.size(); ++t) {
        const auto alone = find_spans(*model.value(), std::span(views).subspan(t, 1), options);
        ASSERT_TRUE(alone.ok()) << alone.error().message;
        for (std::size_t i = 0; i < labels.size(); ++i) {
          const float logit = logits[t * labels.size() + i];
          EXPECT_NEAR(logit, calls[t * classes.size() + k][2][i].as_number().value(), bound) << name << ", text " << t;
          EXPECT_EQ(logit, alone.value().logits[i]);
        }
      }
    }
  }
}

// The header of a safetensors file, and where its bytes begin.
std::pair<Json, std::size_t> header_of(const std::string& bytes) {
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  auto json = Json::parse(bytes.substr(sizeof size, size), "header");
  EXPECT_TRUE(json.ok());
  return {std::move(json).value(), sizeof size + size};
}

// GLiNER2 whose counts are not all the same: tests/goldens/structures has other layers for them.
Result<std::unique_ptr<Model>> load_with_counts(const std::string& name) {
  std::string bytes = test::read_file(golden("schemas/" + name) + "/model.safetensors");
  const std::string counts = test::read_file(golden("structures/" + name) + "/count_pred.safetensors");
  const auto [to, to_begin] = header_of(bytes);
  const auto [from, from_begin] = header_of(counts);
  for (const char* tensor : {"count_pred.0.weight", "count_pred.0.bias", "count_pred.2.weight", "count_pred.2.bias"}) {
    const auto at = [&](const Json& header, std::size_t i) {
      return static_cast<std::size_t>(header.root()[tensor]["data_offsets"][i].as_int().value());
    };
    const std::size_t size = at(from, 1) - at(from, 0);
    EXPECT_EQ(size, at(to, 1) - at(to, 0)) << tensor;
    bytes.replace(to_begin + at(to, 0), size, counts, from_begin + at(from, 0), size);
  }
  return test::load_with(schema_files(name), [&](const std::string&) { return bytes; }, {.head = HeadKind::kSpans});
}

SchemaPartKind kind_of(std::string_view word) {
  if (word == "structure") return SchemaPartKind::kStructure;
  if (word == "entities") return SchemaPartKind::kEntities;
  return word == "relation" ? SchemaPartKind::kRelation : SchemaPartKind::kClasses;
}

// A call of structures/<name>/scores.json.
struct SchemaCall {
  explicit SchemaCall(JsonRef call) {
    for (std::size_t i = 0; i < call["parts"].size(); ++i) {
      const JsonRef part = call["parts"][i];
      const std::vector<std::u16string> own = to_texts(part[2]);
      parts.push_back(
          {kind_of(part[0].as_string().value()), std::string(part[1].as_string().value()), static_cast<std::int64_t>(own.size())});
      labels.insert(labels.end(), own.begin(), own.end());
    }
    for (const std::u16string& choice : to_texts(call["choices"])) choices.push_back(to_utf8(choice));
  }
  FindSpansOptions options() const {
    return {.labels = {labels.begin(), labels.end()}, .threshold = 0, .parts = parts, .choices = choices};
  }

  std::vector<std::u16string> labels;
  std::vector<SchemaPart> parts;
  std::vector<std::string> choices;
};

TEST(FindSpans, HaveTheScoresOfThePackageForStructuresAndRelations) {
  const Json all = read_json("structures/cases.json");
  const std::vector<std::u16string> texts = to_texts(all.root()["texts"]);
  std::map<std::int64_t, int> counts;
  for (std::size_t c = 0; c < all.root()["cases"].size(); ++c) {
    const std::string name(all.root()["cases"][c].as_string().value());
    const auto model = load_with_counts(name);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    const Json expected = read_json("structures/" + name + "/scores.json");
    const double bound = 4 * expected.root()["f32_diff"].as_number().value();
    for (std::size_t i = 0; i < expected.root()["calls"].size(); ++i) {
      const JsonRef call = expected.root()["calls"][i];
      const SchemaCall schema(call[1]);
      const std::u16string_view text[] = {texts[static_cast<std::size_t>(call[0].as_int().value())]};
      const auto found = find_spans(*model.value(), text, schema.options());
      ASSERT_TRUE(found.ok()) << found.error().message;
      std::map<std::tuple<int, int, int, int>, float> scores;
      for (const FoundSpan& span : found.value().spans) {
        EXPECT_TRUE(span.is_own);
        EXPECT_TRUE(scores.emplace(std::tuple(span.begin, span.end, span.label, span.instance), span.score).second) << "twice";
      }
      const JsonRef rows = call[1]["scores"];
      EXPECT_EQ(scores.size(), rows.size()) << name << ", call " << i;
      for (std::size_t j = 0; j < rows.size(); ++j) {
        const auto at = [&](std::size_t k) { return static_cast<int>(rows[j][k].as_int().value()); };
        const auto score = scores.find({at(0), at(1), at(2), at(3)});
        ASSERT_NE(score, scores.end()) << name << ", call " << i << ", score " << j;
        EXPECT_NEAR(score->second, rows[j][4].as_number().value(), bound) << name << ", call " << i << ", score " << j;
      }
      for (std::size_t j = 0; j < call[1]["parts"].size(); ++j) ++counts[call[1]["parts"][j][3].as_int().value()];
    }
  }
  EXPECT_GE(counts.size(), 5u) << "hardly any different numbers of instances";
}

TEST(FindSpans, GiveTheSameBitsForStructuresAloneAndInABatch) {
  const Json all = read_json("structures/cases.json");
  const std::vector<std::u16string> texts = to_texts(all.root()["texts"]);
  const std::vector<std::u16string_view> views(texts.begin(), texts.end());
  const Json expected = read_json("structures/deberta/scores.json");
  const SchemaCall schema(expected.root()["calls"][2][1]);
  const auto model = load_with_counts("deberta");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto together = find_spans(*model.value(), views, schema.options());
  ASSERT_TRUE(together.ok()) << together.error().message;
  std::size_t at = 0, logit = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto alone = find_spans(*model.value(), std::span(views).subspan(i, 1), schema.options());
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    EXPECT_GT(alone.value().logits.size(), 0u);
    for (const float value : alone.value().logits) EXPECT_EQ(together.value().logits[logit++], value);
    for (const FoundSpan& span : alone.value().spans) {
      ASSERT_LT(at, together.value().spans.size());
      EXPECT_EQ(together.value().spans[at].text, static_cast<std::int32_t>(i));
      EXPECT_EQ(together.value().spans[at].instance, span.instance);
      EXPECT_TRUE(same(together.value().spans[at++], span));
    }
  }
  EXPECT_EQ(at, together.value().spans.size());
  EXPECT_EQ(logit, together.value().logits.size());
}

// Structures have all spans of each window, whose instances follow each other; entities have each span once, classes one answer.
TEST(FindSpans, ReadsLongTextsForWholeSchemasInWindows) {
  const auto model = load_with_counts("bert");
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::u16string text;
  for (int i = 0; i < 400; ++i) text += i % 7 ? u"boat " : u"Ada, ";
  const std::u16string_view texts[] = {text};
  const FindSpansOptions options{.labels = {u"owner", u"place", u"person", u"a", u"b"},
                                 .threshold = 0,
                                 .parts = {{SchemaPartKind::kStructure, "boat", 2},
                                           {SchemaPartKind::kEntities, "entities", 1},
                                           {SchemaPartKind::kClasses, "kind", 2}},
                                 .choices = {"old", "new"}};
  const auto found = find_spans(*model.value(), texts, options);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_GT(found.value().windows[0], 1);
  EXPECT_EQ(found.value().truncated[0], 1);
  EXPECT_EQ(found.value().logits.size(), 2u);
  std::map<std::tuple<int, int, int>, int> own, entities, all;
  std::map<int, int> choices;
  // Where the own words of the second window begin and those of the first one end, and what is before and after them.
  int own_begin = INT32_MAX, first_begin = INT32_MAX, own_end = 0, last_begin = 0;
  for (const FoundSpan& span : found.value().spans) {
    if (span.end != -1 && span.label < 2 && span.instance / 20 == 1) {
      first_begin = std::min(first_begin, span.begin);
      if (span.is_own) own_begin = std::min(own_begin, span.begin);
    } else if (span.end != -1 && span.label < 2 && span.instance < 20) {
      last_begin = std::max(last_begin, span.begin);
      if (span.is_own) own_end = std::max(own_end, span.begin);
    }
    const std::tuple<int, int, int> key(span.begin, span.end, span.instance % 20 + 20 * span.label);
    if (span.end == -1) {
      EXPECT_EQ(span.is_own, span.instance < 20);
      ++choices[span.instance];
    } else if (span.label == 2) {
      EXPECT_TRUE(span.is_own);
      ++entities[key];
    } else {
      ++all[key];
      if (span.is_own) ++own[key];
    }
  }
  EXPECT_GT(choices.rbegin()->first, 19);
  for (const auto& [instance, count] : choices) EXPECT_EQ(count, 4) << instance;
  for (const auto* once : {&own, &entities}) {
    EXPECT_FALSE(once->empty());
    for (const auto& [key, times] : *once) EXPECT_EQ(times, 1);
  }
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const auto& one) { return one.second > 1; })) << "no overlap";
  EXPECT_LT(first_begin, own_begin);
  EXPECT_LT(own_end, own_begin);
  EXPECT_GT(last_begin, own_end);
}

TEST(FindSpans, RefusesPartsThatDoNotFitTheLabels) {
  const auto model = load_schema("bert");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::u16string_view texts[] = {u"Ada"};
  const auto message = [&](std::vector<SchemaPart> parts) {
    const auto found = find_spans(*model.value(), texts, {.labels = {u"a", u"b"}, .parts = std::move(parts)});
    return found.ok() ? "nothing" : found.error().message;
  };
  using enum SchemaPartKind;
  EXPECT_EQ(message({{kStructure, "x", 2}}), "nothing");
  EXPECT_EQ(message({{kStructure, "x", 0}, {kRelation, "y", 2}}), "parts: expected a part with 1 to 2 labels, found 0");
  EXPECT_EQ(message({{kStructure, "x", 1}, {kRelation, "y", 2}}), "parts: expected a part with 1 to 1 labels, found 2");
  EXPECT_EQ(message({{kStructure, "x", 1}}), "parts: expected parts with 2 labels, found 1");
}

TEST(FindSpans, ReadsTheFirstWindowForClasses) {
  const auto model = load_schema("deberta");
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::u16string text;
  for (int i = 0; i < 700; ++i) text += i % 7 ? u"boat " : u"Ada, ";
  const std::u16string_view texts[] = {text, u"Ada"};
  const auto found = find_spans(*model.value(), texts, {.labels = {u"person", u"place"}, .parts = {classes_of("kind", 2)}});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found.value().windows, (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(found.value().truncated, (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(found.value().logits.size(), 4u);
}

TEST(FindSpans, RefusesClassesThatCannotBeScored) {
  const std::u16string_view texts[] = {u"Ada"};
  const auto message = [&](Model& model, std::u16string_view label) {
    const auto found = find_spans(model, texts, {.labels = {label}, .parts = {classes_of("kind", 1)}});
    return found.ok() ? "nothing" : found.error().message;
  };
  const auto model = load_schema("bert");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(message(*model.value(), u"a [L] b"),
            "labels: expected texts with at least one token and without '[L]', found 'a [L] b'");
  EXPECT_EQ(message(*model.value(), u"a [E] b"), "nothing");
  const auto gliner = load("bert");
  ASSERT_TRUE(gliner.ok()) << gliner.error().message;
  EXPECT_EQ(message(*gliner.value(), u"person"), "expected a model that reads a schema (GLiNER2), found one of GLiNER");
}

TEST(FindSpans, SaysThatScoresForASchemaAreNotFinite) {
  const std::string folder = golden("schemas/bert");
  std::string bytes = test::read_file(folder + "/model.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(header + sizeof header), bytes.end(), '\x7F');  // products overflow
  const auto model = test::load_with(schema_files("bert"), [&](const std::string&) { return bytes; }, {.head = HeadKind::kSpans});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::u16string_view texts[] = {u"Ada"};
  for (const std::vector<SchemaPart>& parts : {std::vector<SchemaPart>(), {classes_of("kind", 1)}}) {
    const auto found = find_spans(*model.value(), texts, {.labels = {u"person"}, .parts = parts});
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.error().message.find("the model's result is not finite"), std::string::npos) << found.error().message;
  }
}

TEST(FindSpans, ReadsLongTextsForASchemaInWindows) {
  const auto model = load_schema("deberta");
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::u16string text;
  for (int i = 0; i < 700; ++i) text += i % 7 ? u"boat " : u"Ada, ";
  const FindSpansResult got = find(*model.value(), {{text, u"Ada saw the old boat."}, {u"person", u"place"}}, 0);
  EXPECT_GT(got.windows[0], 1);
  const FindSpansResult alone = find(*model.value(), {{u"Ada saw the old boat."}, {u"person", u"place"}}, 0);
  ASSERT_GT(got.spans.size(), alone.spans.size());
  for (std::size_t i = 0; i < alone.spans.size(); ++i) {
    EXPECT_TRUE(same(got.spans[got.spans.size() - alone.spans.size() + i], alone.spans[i]));
  }
}

TEST(FindSpans, OtherNumberFormatsAreNear) {
  const auto exact = load("deberta");
  const FindSpansResult expected = find(*exact.value(), some_call(), 0);
  for (const auto& [dtype, most] : {std::pair{WeightType::kQ16, 0.002f}, {WeightType::kQ8, 0.15f}}) {
    const auto model = load("deberta", dtype);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const FindSpansResult got = find(*model.value(), some_call(), 0);
    ASSERT_EQ(got.spans.size(), expected.spans.size());
    for (std::size_t i = 0; i < got.spans.size(); ++i) EXPECT_NEAR(got.spans[i].score, expected.spans[i].score, most);
  }
}

// Hundreds of words in windows of at most 60: each span of at most max_width words is judged once.
TEST(FindSpans, LongTextsAreReadInWindowsThatJudgeEverySpanOnce) {
  const auto model = load("deberta");
  std::u16string text;
  for (int i = 0; i < 300; ++i) text += i % 7 ? u"boat " : u"Ada, ";
  const std::vector<TextSpan> words = split_words(text);
  const FindSpansResult got = find(*model.value(), {{text}, {u"person"}}, 0);
  EXPECT_GT(got.windows[0], 5);
  EXPECT_FALSE(got.truncated[0]);
  const std::int64_t width = model.value()->span_head()->config().max_width;
  std::size_t at = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t j = i; j < std::min(words.size(), i + static_cast<std::size_t>(width)); ++j, ++at) {
      ASSERT_LT(at, got.spans.size());
      EXPECT_EQ(got.spans[at].begin, words[i].begin);
      EXPECT_EQ(got.spans[at].end, words[j].end);
    }
  }
  EXPECT_EQ(at, got.spans.size());
}

TEST(FindSpans, AWordThatIsLongerThanAWindowIsReadInPart) {
  const auto model = load("deberta");
  const std::u16string text = u"Ada saw " + std::u16string(100000, u'o') + u" boats";
  const FindSpansResult got = find(*model.value(), {{text, u"Ada"}, {u"person"}}, 0);
  EXPECT_TRUE(got.truncated[0]);
  EXPECT_FALSE(got.truncated[1]);
  EXPECT_EQ(got.spans.back().text, 1);
}

TEST(FindSpans, RefusesLabelsThatCannotBeRead) {
  const auto model = load("deberta");
  const std::u16string_view texts[] = {u"Ada"};
  const auto message = [&](std::vector<std::u16string_view> labels) {
    const auto found = find_spans(*model.value(), texts, {.labels = std::move(labels)});
    return found.ok() ? std::string("accepted") : found.error().message;
  };
  EXPECT_EQ(message({}), "labels: expected at least one, found none");
  EXPECT_EQ(message({u"a<<ENT>>b"}), "labels: expected texts with at least one token and without '<<ENT>>', found 'a<<ENT>>b'");
  EXPECT_EQ(message({u""}), "labels: expected texts with at least one token and without '<<ENT>>', found ''");
  std::vector<std::u16string> many;
  for (int i = 0; i < 5000; ++i) many.push_back(u"label" + to_utf16(std::to_string(i)));
  EXPECT_TRUE(message({many.begin(), many.end()}).starts_with("labels: expected at most 224 tokens in all (the model reads 240,"))
      << message({many.begin(), many.end()});
}

TEST(FindSpans, ReadsLoneSurrogatesAsWords) {
  const auto model = load("deberta");
  const std::u16string lone = u"\xD800 a\xDFFF";
  const Call hostile{{lone}, {u"\xDC00"}};
  EXPECT_EQ(find(*model.value(), hostile, 0).spans.back().end, static_cast<std::int32_t>(lone.size()));
}

// The message of loading with gliner_config.json changed.
std::string load_error(const std::string& name, const std::string& from, const std::string& to) {
  const std::string folder = golden(kFolder + name);
  auto files = test::small_files(folder);
  for (NamedFile& file : files) {
    if (file.name != "gliner_config.json") continue;
    const std::size_t at = file.bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) file.bytes.replace(at, from.size(), to);
  }
  const auto model = test::load_model(files, folder, {.head = HeadKind::kSpans});
  return model.ok() ? "loaded" : model.error().message;
}

TEST(FindSpans, LoadingRefusesByName) {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {R"("max_width":4)", R"("max_width":0)", "gliner_config.json: max_width: expected a whole number from 1 to 1024, found 0"},
      {R"("max_len":60)", R"("max_len":-1)", "gliner_config.json: max_len: expected a whole number from 1 to 16384, found -1"},
      {R"("hidden_size":16)", R"("hidden_size":12)", "model.safetensors: "},
      {R"("hidden_size":16)", R"("hidden_size":17)",
       "gliner_config.json: hidden_size: expected an even number, for both directions"},
      {R"("hidden_size":16)", R"("hidden_size":1e99)", "gliner_config.json: hidden_size: "},
      {R"("num_rnn_layers":1)", R"("num_rnn_layers":0)", "model.safetensors: "},
      {R"("span_mode":"markerV0")", R"("span_mode":"conv_max")",
       "gliner_config.json: span_mode: expected one of \"markerV0\", \"token_level\""},
      {R"("span_mode":"markerV0")", R"("span_mode":"token_level")", "model.safetensors: "},
      {R"("words_splitter_type":"whitespace")", R"("words_splitter_type":"jieba")",
       "gliner_config.json: words_splitter_type: expected \"whitespace\""},
      {R"("subtoken_pooling":"first")", R"("subtoken_pooling":"first_last")",
       "gliner_config.json: subtoken_pooling: expected one of "},
      {R"("post_fusion_schema":"")", R"("post_fusion_schema":"l2l-l2t")", "gliner_config.json: post_fusion_schema: expected \"\""},
      {R"("fuse_layers":false)", R"("fuse_layers":true)", "gliner_config.json: fuse_layers: expected false"},
      {R"("max_width":4)", R"("max_width":4,"labels_encoder":"bge")", "gliner_config.json: labels_encoder_config: "},
      {R"("encoder_config":{)", R"("encoder_config":null,"x":{)",
       "gliner_config.json: encoder_config: expected the encoder's configuration, found"},
      {R"("model_type":"deberta-v2")", R"("model_type":"unheard")", "config.json: model_type: "},
  };
  for (const auto& [from, to, message] : cases) {
    const std::string found = load_error("deberta", from, to);
    EXPECT_TRUE(found.starts_with(message)) << to << ": " << found;
  }
  const std::string folder = golden(kFolder + "deberta");
  auto files = test::small_files(folder);
  std::erase_if(files, [](const NamedFile& file) { return file.name == "gliner_config.json"; });
  EXPECT_EQ(test::load_model(files, folder, {.head = HeadKind::kSpans}).error().message,
            "gliner_config.json: expected this file in the model, found none");
}

TEST(FindSpans, RefusesAnotherClassToken) {
  const Json config = read_json(kFolder + "deberta/gliner_config.json");
  const auto id = config.root()["class_token_index"].as_int().value();
  const std::string key = R"("class_token_index":)";
  EXPECT_TRUE(load_error("deberta", key + std::to_string(id), key + "-2").starts_with("gliner_config.json: class_token_index: "));
  EXPECT_TRUE(load_error("deberta", key + std::to_string(id), key + "99999")
                  .starts_with("gliner_config.json: class_token_index: expected an id below"));
  auto files = test::small_files(golden(kFolder + "deberta"));
  for (NamedFile& file : files) {
    if (file.name == "gliner_config.json")
      file.bytes.replace(file.bytes.find(key + std::to_string(id)), key.size() + std::to_string(id).size(), key + "7");
  }
  const auto model = test::load_model(files, golden(kFolder + "deberta"), {.head = HeadKind::kSpans});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::u16string_view texts[] = {u"Ada"};
  const auto found = find_spans(*model.value(), texts, {.labels = {u"person"}});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kModelFormat);
}

// Tokens that gliner_config.json has no ids for are added to the tokenizer, whether it has them or not (tests/web has gliner's
// answers).
TEST(FindSpans, AddsTheTokensThatHaveNoIds) {
  const std::string folder = golden(kFolder + "deberta");
  const auto expected = load("deberta");
  ASSERT_TRUE(expected.ok());
  const Call call{{u"Ada saw the old boat.", u"a"}, {u"person", u"place"}};
  const FindSpansResult spans = find(*expected.value(), call, 0.3f);
  ASSERT_FALSE(spans.spans.empty());
  const auto edit = [](std::vector<NamedFile>& files, std::string_view name, auto change) {
    for (NamedFile& file : files) {
      if (file.name == name) change(file.bytes);
    }
  };
  const auto cut = [](std::string& bytes, std::string_view from, std::size_t begin, std::size_t end, std::string_view to) {
    ASSERT_NE(begin, std::string::npos) << from;
    bytes.replace(begin, end - begin, to);
  };
  const auto replace = [&](std::string& bytes, std::string_view from, std::string_view to) {
    const std::size_t at = bytes.find(from);
    cut(bytes, from, at, at + from.size(), to);
  };
  const auto without_ids = [&](std::string& bytes) { replace(bytes, "\"class_token_index\":78", "\"class_token_index\":-1"); };
  const auto without_rows = [&](std::string& bytes) {
    replace(bytes, "\"class_token_index\":78", "\"class_token_index\":7");
    replace(bytes, "\"vocab_size\":80,\n", "\"vocab_size\":-1,\n");
  };
  const auto without_tokens = [&](std::string& bytes) {
    const std::size_t begin = bytes.rfind(',', bytes.rfind('{', bytes.find("[FLERT]")));
    cut(bytes, "[FLERT]", begin, bytes.find(']', bytes.find("<<SEP>>")), "");
  };
  for (int i = 0; i < 3; ++i) {
    auto files = test::small_files(folder);
    if (i < 2) edit(files, "gliner_config.json", without_ids);
    if (i == 2) edit(files, "gliner_config.json", without_rows);
    if (i > 0) edit(files, "tokenizer.json", without_tokens);
    const auto model = test::load_model(files, folder, {.head = HeadKind::kSpans});
    ASSERT_TRUE(model.ok()) << i << ": " << model.error().message;
    EXPECT_EQ(model.value()->span_head()->config().class_token, 78);
    const FindSpansResult found = find(*model.value(), call, 0.3f);
    ASSERT_EQ(found.spans.size(), spans.spans.size()) << i;
    for (std::size_t s = 0; s < found.spans.size(); ++s) EXPECT_EQ(found.spans[s].score, spans.spans[s].score) << i;
  }
}

bool same_spans(const FindSpansResult& a, const FindSpansResult& b) {
  return std::equal(a.spans.begin(), a.spans.end(), b.spans.begin(), b.spans.end(), same);
}

TEST(FindSpans, ABiEncoderScoresEachLabelForItself) {
  for (const char* name : {"modernbert", "deberta", "bert-token"}) {
    const auto model = load_bi(name);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const Call all{{u"Ada saw the old boat.", u"a", u""}, {u"person", u"place", u"x-y", std::u16string(200, u'z')}};
    const FindSpansResult together = find(*model.value(), all, 0.1f);
    ASSERT_FALSE(together.spans.empty());
    for (std::size_t label = 0; label < all.labels.size(); ++label) {
      std::vector<FoundSpan> own;
      for (FoundSpan span : together.spans) {
        if (span.label != static_cast<std::int32_t>(label)) continue;
        span.label = 0;
        own.push_back(span);
      }
      for (const bool kept : {true, false}) {
        const auto other = load_bi(name);
        ASSERT_TRUE(other.ok());
        const FindSpansResult alone = find(kept ? *model.value() : *other.value(), {all.texts, {all.labels[label]}}, 0.1f);
        EXPECT_TRUE(std::equal(own.begin(), own.end(), alone.spans.begin(), alone.spans.end(), same)) << name << ", " << label;
      }
    }
    Call reversed = all;
    std::reverse(reversed.labels.begin(), reversed.labels.end());
    const FindSpansResult turned = find(*model.value(), reversed, 0.1f);
    std::map<std::tuple<int, int, int, int>, float> scores;
    for (const FoundSpan& span : together.spans) scores[{span.text, span.begin, span.end, span.label}] = span.score;
    ASSERT_EQ(turned.spans.size(), together.spans.size());
    for (const FoundSpan& span : turned.spans) {
      const int label = static_cast<int>(all.labels.size()) - 1 - span.label;
      EXPECT_EQ((scores[{span.text, span.begin, span.end, label}]), span.score) << name;
    }
  }
}

TEST(FindSpans, ABiEncoderReadsEachLabelOnce) {
  const auto model = load_bi("deberta");
  ASSERT_TRUE(model.ok()) << model.error().message;
  LabelsEncoder& labels = *model.value()->labels_encoder();
  std::vector<std::u16string> many;
  for (int i = 0; i < 1000; ++i) many.push_back(u"label " + to_utf16(std::to_string(i)));
  const auto prepared = find_spans(*model.value(), {}, {.labels = {many.begin(), many.begin() + 600}});
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_TRUE(prepared.value().spans.empty());
  EXPECT_EQ(labels.num_read(), 600u);
  const Call call{{u"Ada saw the old boat."}, many};
  const FindSpansResult first = find(*model.value(), call, 0.1f);
  EXPECT_EQ(labels.num_read(), 1000u);
  EXPECT_TRUE(same_spans(find(*model.value(), call, 0.1f), first));
  EXPECT_EQ(labels.num_read(), 1000u);
  ASSERT_FALSE(first.spans.empty());
  EXPECT_TRUE(std::any_of(first.spans.begin(), first.spans.end(), [](const FoundSpan& span) { return span.label >= 900; }));
}

TEST(FindSpans, ABiEncoderKeepsAsManyLabelsAsItsLimitAllows) {
  const auto model = load_bi("modernbert");
  ASSERT_TRUE(model.ok()) << model.error().message;
  LabelsEncoder& labels = *model.value()->labels_encoder();
  const auto width = static_cast<std::size_t>(model.value()->span_head()->label_width());
  const std::size_t most = 100 * width * sizeof(float) + 1;
  labels.limit(most);
  std::vector<std::u16string> many;
  for (int i = 0; i < 250; ++i) many.push_back(u"label " + to_utf16(std::to_string(i)));
  const auto read = [&](std::size_t begin, std::size_t end) {
    const std::size_t before = labels.num_read();
    const std::vector<std::u16string_view> some(many.begin() + static_cast<std::ptrdiff_t>(begin),
                                                many.begin() + static_cast<std::ptrdiff_t>(end));
    EXPECT_TRUE(find_spans(*model.value(), {}, {.labels = some}).ok());
    EXPECT_LE(labels.kept(), 100u);
    return labels.num_read() - before;
  };
  EXPECT_EQ(read(0, 80), 80u);
  EXPECT_EQ(read(60, 90), 10u);   // 90 are kept
  EXPECT_EQ(read(70, 110), 20u);  // would be 110: those that this call lacks are dropped
  EXPECT_EQ(labels.kept(), 40u);
  EXPECT_EQ(read(70, 110), 0u);
  EXPECT_EQ(read(0, 1), 1u);
  const Call call{{u"Ada saw the old boat."}, many};  // more than are kept
  const FindSpansResult first = find(*model.value(), call, 0.1f);
  EXPECT_EQ(labels.kept(), 100u);
  EXPECT_TRUE(same_spans(find(*model.value(), call, 0.1f), first));
}

TEST(FindSpans, ABiEncoderRefusesLabelsWithoutTokens) {
  const auto model = load_bi("deberta");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto found = find_spans(*model.value(), {}, {.labels = {u"a", u" "}});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message, "labels: expected texts with at least one token, found ' '");
}

TEST(FindSpans, ABiEncoderReadsLongTextsInWindows) {
  const auto model = load_bi("deberta");
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::u16string text;
  for (int i = 0; i < 300; ++i) text += i % 7 ? u"boat " : u"Ada, ";
  const FindSpansResult found = find(*model.value(), {{text}, {u"person"}}, 0.0f);
  EXPECT_GT(found.windows[0], 4);
  // Each word begins as many spans as a span may have words, but at the end.
  const std::int64_t words = 300 + 43, width = model.value()->span_head()->config().max_width;
  EXPECT_EQ(static_cast<std::int64_t>(found.spans.size()), words * width - width * (width - 1) / 2);
}

TEST(FindSpans, ABiEncoderRunsWithSmallerWeights) {
  for (const WeightType dtype : {WeightType::kF16, WeightType::kQ8, WeightType::kQ4}) {
    const auto model = load_bi("deberta", dtype);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model.value()->labels_encoder()->transformer().weight_type(), dtype);
    EXPECT_FALSE(find(*model.value(), {{u"Ada"}, {u"person"}}, 0.0f).spans.empty());
  }
}

TEST(FindSpans, LoadingRefusesALabelsEncoderByName) {
  const auto message = [](const std::string& file, const std::string& from, const std::string& to) {
    auto files = bi_files("deberta");
    std::erase_if(files, [&](const NamedFile& each) { return each.name == file && to == "nothing"; });
    for (NamedFile& each : files) {
      if (each.name != file) continue;
      const std::size_t at = each.bytes.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      if (at != std::string::npos) each.bytes.replace(at, from.size(), to);
    }
    const auto model = test::load_model(files, golden("spans_bi/deberta"), {.head = HeadKind::kSpans});
    return model.ok() ? std::string("accepted") : model.error().message;
  };
  const std::string config = "gliner_config.json", tokenizer = "labels_tokenizer/tokenizer.json";
  EXPECT_EQ(message(config, "\"labels_encoder\":\"tiny-labels\"", "\"labels_encoder\":\"\""),
            "gliner_config.json: labels_encoder: expected the name of an encoder, found \"\"");
  EXPECT_TRUE(
      message(config, "\"labels_encoder_config\":", "\"other\":")
          .starts_with("gliner_config.json: labels_encoder_config: expected the configuration of the labels' encoder, found "))
      << message(config, "\"labels_encoder_config\":", "\"other\":");
  EXPECT_TRUE(message(config, "\"model_type\":\"bert\"", "\"model_type\":\"gpt2\"")
                  .starts_with("gliner_config.json: labels_encoder_config: "))
      << message(config, "\"model_type\":\"bert\"", "\"model_type\":\"gpt2\"");
  EXPECT_EQ(message(config, "\"model_type\":\"bert\"", "\"model_type\":\"berd\"").substr(0, 50),
            "labels_encoder_config: config.json: model_type: ex");
  EXPECT_TRUE(message(tokenizer, "{", "nothing").starts_with("labels_tokenizer: ")) << message(tokenizer, "{", "nothing");
}

// Text that no tokenizer has seen, in every place.
TEST(FindSpans, WindowsCoverAnyWordsOnce) {
  std::uint32_t state = 1;
  const auto next = [&](std::uint32_t most) { return (state = state * 1664525u + 1013904223u) / 65536u % (most + 1); };
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t most_tokens = 16 + next(100), most_words = 1 + next(40), max_width = 1 + next(15);
    std::vector<std::int64_t> tokens(next(200));
    for (std::int64_t& count : tokens) count = next(static_cast<std::uint32_t>(most_tokens / 4));
    const std::vector<WordWindow> windows = word_windows(tokens, most_tokens, most_words, max_width);
    std::int64_t owned = 0;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const WordWindow& window = windows[i];
      ASSERT_EQ(window.own_begin, owned);
      ASSERT_LT(window.own_begin, window.own_end);
      ASSERT_LE(window.begin, window.own_begin);
      ASSERT_LE(window.own_end, window.end);
      ASSERT_LE(window.end - window.begin, most_words);
      std::int64_t sum = 0;
      for (std::int64_t j = window.begin; j < window.end; ++j) sum += tokens[j];
      ASSERT_LE(sum, most_tokens);
      const std::int64_t room = (window.end - window.begin - 1) / 3;
      const bool is_last = i + 1 == windows.size();
      ASSERT_GE(window.end - window.own_end, is_last ? 0 : std::min(max_width - 1, room));
      owned = window.own_end;
    }
    ASSERT_EQ(owned, static_cast<std::int64_t>(tokens.size()));
  }
}

}  // namespace
}  // namespace wattn
