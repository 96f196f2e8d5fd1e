// Requested outputs and patches against torch (tests/goldens/insides); forward_test.cpp tests encoders.
#include "tasks/stack_outputs.h"

#include <gtest/gtest.h>

#include <map>

#include "native/support/generation.h"
#include "native/support/goldens.h"
#include "pass/run.h"
#include "tasks/forward.h"

namespace wattn {
namespace {

using test::expect_near;
using test::forward_ids;
using test::golden;
using test::Ids;
using test::read_file;
using test::to_ids;

struct Goldens {
  Json json = test::read_json("insides/cases.json");
  std::vector<float> floats = test::read_floats(golden("insides/expected.f32"));
};

std::unique_ptr<Model> load(const std::string& name) {
  auto loaded = test::load_model(golden(name), {.head = name.starts_with("seq2seq") ? HeadKind::kSeq2SeqLm : HeadKind::kCausalLm});
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return loaded.ok() ? std::move(loaded).value() : nullptr;
}

ForwardOutputs run(Model& model, JsonRef one, const ForwardRequest& request) {
  const bool reads_source = model.decoder() != nullptr;
  auto result = forward_ids(model, to_ids(one[reads_source ? "decoder_input_ids" : "input_ids"]), request,
                            reads_source ? to_ids(one["input_ids"]) : Ids());
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(result).value() : ForwardOutputs();
}

// Calls check(goldens, case, name, model) for every decoder and encoder-decoder.
template <class Check>
void for_each_case(const Check& check) {
  const Goldens goldens;
  for (std::size_t i = 0; i < goldens.json.root()["cases"].size(); ++i) {
    const JsonRef one = goldens.json.root()["cases"][i];
    const std::string name(one["case"].as_string().value());
    const auto model = load(name);
    ASSERT_TRUE(model) << name;
    check(goldens, one, name, *model);
  }
}

void add_qkv(const std::string& prefix, const std::string& kind, const std::vector<std::vector<float>> (&qkv)[3],
             std::map<std::string, std::vector<float>>& out) {
  const char* names[] = {"query", "key", "value"};
  for (int i = 0; i < 3; ++i) {
    for (std::size_t layer = 0; layer < qkv[i].size(); ++layer) {
      std::string name = prefix + "layer." + std::to_string(layer);
      out[name.append(".").append(kind).append(".").append(names[i])] = qkv[i][layer];
    }
  }
}

TEST(StackOutputs, QueriesKeysAndValuesMatchTorch) {
  for_each_case([](const Goldens& goldens, JsonRef one, const std::string& name, Model& model) {
    const auto result = run(model, one, {.output_qkv = true});
    std::map<std::string, std::vector<float>> got;
    const std::string decoder = model.decoder() ? "decoder." : "";
    add_qkv(decoder, "attention", result.qkv, got);
    add_qkv(decoder, "cross_attention", result.cross_qkv, got);
    add_qkv("encoder.", "attention", result.encoder.qkv, got);
    EXPECT_EQ(got.size(), one["qkv"].size()) << name;
    for (const auto& [tap, about] : one["qkv"].members()) {
      expect_near(got[std::string(tap)], about, goldens.floats, test::bound(one["qkv"], tap), name + " " + std::string(tap));
    }
  });
}

// The numbers of tools/goldens/insides.py.
std::vector<float> patch_values(JsonRef shape) {
  std::vector<float> out(static_cast<std::size_t>(shape[0].as_int().value() * shape[1].as_int().value()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(static_cast<int>(7 * i % 23) - 11) / 8;
  return out;
}

ForwardRequest to_options(JsonRef change) {
  ForwardRequest options;
  const auto read_mask = [&](const char* name, std::vector<float>& out) {
    const JsonRef mask = change["masks"][name];
    for (std::size_t layer = 0; layer < mask.size(); ++layer) {
      for (std::size_t head = 0; head < mask[layer].size(); ++head)
        out.push_back(static_cast<float>(mask[layer][head].as_number().value()));
    }
  };
  read_mask("attention", options.head_mask);
  read_mask("decoder.attention", options.head_mask);
  read_mask("decoder.cross_attention", options.cross_head_mask);
  read_mask("encoder.attention", options.encoder_head_mask);
  for (const auto& [tap, shape] : change["patches"].members()) options.patches.push_back({std::string(tap), patch_values(shape)});
  return options;
}

TEST(StackOutputs, ScaledHeadsAndPatchesGiveTheLogitsOfTorch) {
  for_each_case([](const Goldens& goldens, JsonRef one, const std::string& name, Model& model) {
    const std::int64_t vocab = model.generator().config().vocab_size;
    for (std::size_t j = 0; j < one["changes"].size(); ++j) {
      const JsonRef change = one["changes"][j];
      const auto result = run(model, one, to_options(change));
      double torch = 0, largest = 0;  // of the worst of the case's changes
      for (std::size_t k = 0; k < one["changes"].size(); ++k) {
        torch = std::max(torch, one["changes"][k]["logits"]["f32_diff"].as_number().value());
        largest = std::max(largest, one["changes"][k]["logits"]["max_abs"].as_number().value());
      }
      const auto last = std::span<const float>(result.logits).last(static_cast<std::size_t>(2 * vocab));
      expect_near(last, change["logits"], goldens.floats, 4 * std::max(torch, largest * 0x1p-23), name + " " + change.to_text());
    }
  });
}

// ids: -1 where rounding decides.
void expect_lens(const StackOutputs& got, JsonRef lens, const std::vector<float>& floats, const std::string& name) {
  const Ids ids = to_ids(lens["ids"]);
  ASSERT_EQ(got.lens_ids.size(), ids.size()) << name;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ids[i] < 0 ? ids[i] : got.lens_ids[i], ids[i]) << name << " " << i;
  }
  const double bound = 4 * std::max(lens["f32_diff"].as_number().value(), lens["max_abs"].as_number().value() * 0x1p-23);
  expect_near(got.lens_logits, lens, floats, bound, name);
}

TEST(StackOutputs, TheLogitLensIsFinalNormAndHeadOfEachLayer) {
  for_each_case([](const Goldens& goldens, JsonRef one, const std::string& name, Model& model) {
    const auto result = run(model, one, {.logit_lens = 3});
    expect_lens(result, one["lens"], goldens.floats, name);
    EXPECT_TRUE(result.hidden_states.empty());
  });
}

// An encoder of the goldens with a head, in two shards.
Result<std::unique_ptr<Model>> load_masked(const std::string& folder, const std::string& head, HeadKind kind) {
  std::string config = read_file(folder + "/config.json");
  config.replace(config.find("\"architectures\""), 15, "\"were\"");  // without, any head is accepted
  const std::vector<NamedFile> files{
      {"config.json", config},
      {"tokenizer.json", read_file(golden("bert-tiny/model/tokenizer.json"))},
      {"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"},
      {"model.safetensors.index.json", R"({"weight_map": {"a": "body.safetensors", "b": "head.safetensors"}})"}};
  return test::load_with(
      files, [&](const std::string& name) { return read_file(name == "head.safetensors" ? head : folder + "/model.safetensors"); },
      {.head = kind});
}

Batch to_batch(const Ids& ids, int times) {
  Batch batch;
  for (int i = 0; i < times; ++i) batch.add_sequence(ids, Ids(ids.size()));
  return batch;
}

TEST(StackOutputs, TheLogitLensOfMaskedModelsIsTheirHeadOverEachLayer) {
  const Goldens goldens;
  for (std::size_t i = 0; i < goldens.json.root()["masked"].size(); ++i) {
    const JsonRef one = goldens.json.root()["masked"][i];
    const std::string name(one["case"].as_string().value());
    const auto model = load_masked(golden(std::string(one["model"].as_string().value())),
                                   golden("insides/" + name + "/head.safetensors"), HeadKind::kMaskedLm);
    ASSERT_TRUE(model.ok()) << name << ": " << model.error().message;
    const Ids ids = to_ids(one["input_ids"]);
    const auto result = forward(*model.value(), to_batch(ids, 1), {.logit_lens = 3});
    ASSERT_TRUE(result.ok()) << result.error().message;
    expect_lens(result.value(), one["lens"], goldens.floats, name);
    EXPECT_TRUE(result.value().hidden_states.empty());
    // Also rows beyond those of the head's first run.
    const auto many = forward(*model.value(), to_batch(ids, 7), {.output_hidden_states = true, .logit_lens = 3});
    ASSERT_TRUE(many.ok());
    const std::size_t alone = ids.size() * 3;
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const auto first = result.value().lens_logits.begin() + static_cast<std::ptrdiff_t>(layer * alone);
      const auto last = many.value().lens_logits.begin() + static_cast<std::ptrdiff_t>((layer * 7 + 6) * alone);
      EXPECT_TRUE(std::equal(first, first + static_cast<std::ptrdiff_t>(alone), last)) << name;
    }
    EXPECT_EQ(many.value().hidden_states.back(), many.value().last_hidden_state);
  }
}

// More tokens than two passes hold, which only rotary positions allow without a table.
TEST(StackOutputs, PiecesArePatchedAndReturnedAsOnePass) {
  auto files = test::small_files(golden("decoders/qwen3"));
  for (NamedFile& file : files) {
    const std::size_t at = file.bytes.find("\"max_position_embeddings\":96");
    if (file.name == "config.json") file.bytes.replace(at, 28, "\"max_position_embeddings\":700");
  }
  const auto model = test::load_model(files, golden("decoders/qwen3"), {.head = HeadKind::kCausalLm});
  ASSERT_TRUE(model.ok()) << model.error().message;
  Ids ids;
  for (int i = 0; i < 600; ++i) ids.push_back(i * 7 % 59);
  ForwardRequest options{.output_hidden_states = true, .output_attentions = true, .output_qkv = true, .output_logits = false};
  const auto seen = forward_ids(*model.value(), ids, options);
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  ASSERT_LT(model.value()->slots().token_budget(), 600);
  for (const auto& layer : seen.value().attentions) {
    for (std::int64_t row = 0; row < 4 * 600; ++row) {
      double sum = 0;
      for (std::int64_t j = 0; j < 600; ++j) sum += layer[static_cast<std::size_t>(row * 600 + j)];
      ASSERT_NEAR(sum, 1, 600 * 0x1p-24) << row;  // so many roundings
      ASSERT_TRUE(row % 600 == 599 || layer[static_cast<std::size_t>(row * 600 + 599)] == 0) << row;
    }
  }
  options.patches = {{"layer.0.output", seen.value().hidden_states[1]}, {"layer.1.attention.key", seen.value().qkv[1][1]}};
  EXPECT_EQ(forward_ids(*model.value(), ids, options).value().last_hidden_state, seen.value().last_hidden_state);
  options.patches[0].values[590 * 24] += 1;
  const auto changed = forward_ids(*model.value(), ids, options).value().last_hidden_state;
  const auto before = std::mismatch(changed.begin(), changed.end(), seen.value().last_hidden_state.begin()).first;
  EXPECT_EQ((before - changed.begin()) / 24, 590);
}

TEST(StackOutputs, MismatchedRequestsAreRejectedByName) {
  const Ids ids{1, 7, 19};
  const auto error = [&](Model& model, const ForwardRequest& request) {
    const auto result = forward_ids(model, ids, request, model.decoder() ? Ids{5, 6, 7, 8, 1} : Ids());
    return result.ok() ? std::string("ok") : result.error().message;
  };
  const auto llama = load("decoders/llama");
  ASSERT_TRUE(llama);
  EXPECT_EQ(error(*llama, {.head_mask = {1, 2, 3}}), "head_mask: expected [2, 4] numbers, found 3");
  EXPECT_EQ(error(*llama, {.patches = {{"layer.1.attention.key", {1}}}}),
            "patch: 'layer.1.attention.key': expected 12 numbers for each of 3 tokens, found 1 in all");
  EXPECT_EQ(error(*llama, {.patches = {{"final_norm.output", std::vector<float>(72)}}}), "ok");
  for (const char* tap :
       {"layer.2.output", "layer.0.attention.probs", "decoder.layer.0.output", "layer.0.cross_attention.query", ""}) {
    EXPECT_TRUE(error(*llama, {.patches = {{tap, {}}}}).ends_with(std::string("found '") + tap + "'")) << tap;
  }
  // A layer with a short convolution, and one with experts.
  const auto lfm2 = load("variants/decoders/lfm2");
  const std::string folder = golden("hub_layouts/nomic-moe/");
  const std::vector<NamedFile> files{{"config.json", test::read_file(folder + "config.json")},
                                     {"tokenizer.json", test::read_file(golden("seq2seq/t5/tokenizer.json"))},
                                     {"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}};
  const auto experts = test::load_with(files, [&](const std::string& name) { return test::read_file(folder + name); });
  ASSERT_TRUE(lfm2 && experts.ok()) << (experts.ok() ? "" : experts.error().message);
  for (const char* tap : {"layer.0.attention.query", "layer.2.attention.value", "layer.3.attention.context"}) {
    EXPECT_TRUE(error(*lfm2, {.patches = {{tap, {}}}}).ends_with(std::string("found '") + tap + "'")) << tap;
  }
  EXPECT_EQ(error(*lfm2, {.patches = {{"layer.0.attention.output", std::vector<float>(72)}}}), "ok");
  EXPECT_TRUE(error(*experts.value(), {.patches = {{"layer.1.intermediate", {}}}}).ends_with("found 'layer.1.intermediate'"));
  EXPECT_EQ(error(*llama, {.logit_lens = 60}), "logit_lens: expected a whole number from 0 to vocab_size 59, found 60");
  const auto bart = load("seq2seq/bart");
  ASSERT_TRUE(bart);
  EXPECT_EQ(error(*bart, {.head_mask = {1}}), "decoder_head_mask: expected [3, 2] numbers, found 1");
  EXPECT_EQ(error(*bart, {.cross_head_mask = {1}}), "cross_attn_head_mask: expected [3, 2] numbers, found 1");
  EXPECT_EQ(error(*bart, {.encoder_head_mask = {1}}), "head_mask: expected [2, 3] numbers, found 1");
  EXPECT_EQ(error(*bart, {.patches = {{"layer.0.output", {}}}}),
            "patch: expected names that begin with encoder. or decoder., found 'layer.0.output'");
  EXPECT_EQ(error(*bart, {.patches = {{"decoder.layer.2.cross_attention.value", {1}}}}),
            "patch: 'decoder.layer.2.cross_attention.value': expected 24 numbers for each of 5 tokens, found 1 in all");
  EXPECT_EQ(error(*bart, {.patches = {{"encoder.layer.0.output", std::vector<float>(120)}}}), "ok");
  for (const char* tap : {"encoder.layer.0.cross_attention.query", "encoder.final_norm.output", "decoder.layer.3.output"}) {
    EXPECT_TRUE(error(*bart, {.patches = {{tap, {}}}}).ends_with(std::string("found '") + tap + "'")) << tap;
  }
  const auto bare = load_masked(golden("architectures/roberta"), golden("insides/roberta/head.safetensors"), HeadKind::kNone);
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  const auto without = forward(*bare.value(), to_batch(ids, 1), {.logit_lens = 1});
  EXPECT_EQ(without.error().message,
            "logit_lens: expected a model with a head over the vocabulary (ForMaskedLM), found one without");
}

TEST(StackOutputs, WithoutARequestThereAreNoTaps) {
  const auto bart = load("seq2seq/bart");
  ASSERT_TRUE(bart);
  const TransformerConfig& config = bart->decoder()->config();
  const std::vector<float> mask(6, 1);
  const std::vector<Patch> patches{{"decoder.layer.0.output", {}}};
  StackOutputs seen;
  EXPECT_EQ(StackTaps({}, config, 3, seen).taps(), nullptr);
  EXPECT_NE(StackTaps({.hidden_states = true}, config, 3, seen).taps(), nullptr);
  EXPECT_NE(StackTaps({.attentions = true}, config, 3, seen).taps(), nullptr);
  EXPECT_NE(StackTaps({.qkv = true}, config, 3, seen).taps(), nullptr);
  EXPECT_NE(StackTaps({.head_mask = mask}, config, 3, seen).taps(), nullptr);
  EXPECT_NE(StackTaps({.cross_head_mask = mask}, config, 3, seen).taps(), nullptr);
  EXPECT_NE(StackTaps({.patches = patches}, config, 3, seen).taps(), nullptr);
}

std::int64_t kernel_calls = 0;

TEST(StackOutputs, TapsRunNoMoreKernelsAndUseNoMoreArena) {
  static Kernels counting = exact_kernels();
  counting.gemm_f32 = [](const GemmF32& gemm) { ++kernel_calls, exact_kernels().gemm_f32(gemm); };
  counting.softmax_rows = [](float* x, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    ++kernel_calls, exact_kernels().softmax_rows(x, rows, cols, stride);
  };
  TransformerConfig config;
  config.causal = true;
  config.norm = NormKind::kRms;
  config.norm_placement = NormPlacement::kPre;
  config.embeddings_norm = false;
  config.feed_forward = FeedForward::kGated;
  config.positions = Positions::kNone;
  config.relative_positions = RelativePositions::kRotary;
  config.vocab_size = 11;
  config.hidden_size = 8;
  config.num_hidden_layers = config.num_attention_heads = 2;
  config.num_key_value_heads = 1;
  config.head_dim = 4;
  config.intermediate_size = 12;
  config.max_position_embeddings = 16;
  const auto decoder = Transformer::with_config(config, 16, counting, WeightType::kF32);
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  ThreadTeam team;
  Batch batch;
  batch.add_to_slot(0, 0, Ids{1, 2, 3, 4, 5});
  std::vector<float> hidden(5 * 8);
  const auto calls_of = [&](Taps* taps) {
    Arena measure;
    take_kv_cache(measure, decoder.value().plan(), 1, 16);
    const std::uint64_t bytes = measure.used() + forward_bytes(decoder.value().plan(), {.tokens = 5, .keys = 16});
    Arena arena = std::move(Arena::with_bytes(bytes, "a test").value());
    const KvCache cache = take_kv_cache(arena, decoder.value().plan(), 1, 16);
    kernel_calls = 0;
    forward(decoder.value().plan(), decoder.value().compute(team), batch, {.cache = &cache}, arena, hidden.data(), taps);
    EXPECT_EQ(arena.used(), bytes);
    return kernel_calls;
  };
  StackOutputs seen;
  StackTaps all({.hidden_states = true, .attentions = true, .qkv = true}, config, 5, seen);
  const std::int64_t alone = calls_of(nullptr);
  EXPECT_GT(alone, 2 * 5);  // products and a softmax in each layer
  EXPECT_EQ(calls_of(&all), alone);
}

TEST(StackOutputs, EqualLogitsAreOrderedByToken) {
  const std::vector<float> logits{2, 5, -1, 5, 2, 7, 5, 2};
  std::vector<std::int32_t> order;
  StackOutputs out;
  add_best_tokens(logits, 6, order, out);
  EXPECT_EQ(out.lens_ids, (std::vector<std::int32_t>{5, 1, 3, 6, 0, 4}));
  EXPECT_EQ(out.lens_logits, (std::vector<float>{7, 5, 5, 5, 2, 2}));
}

}  // namespace
}  // namespace wattn
