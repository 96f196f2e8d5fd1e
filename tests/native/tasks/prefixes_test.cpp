// Cached prefixes: continuing one gives the same bits as computing from the start, whatever was kept, evicted or
// aborted before.
#include "engine/prefixes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "native/support/generation.h"
#include "tasks/forward.h"
#include "tasks/generate.h"
#include "tasks/saved_prefix.h"

namespace wattn {
namespace {

using test::generate;
using test::golden;
using test::Ids;
using test::load_model;
using test::read_json;
using test::to_ids;

constexpr std::int64_t kMuch = 1 << 24;
constexpr std::int64_t kBlock = Prefixes::kBlockTokens;
const std::string kRecurrent = "variants/decoders/qwen3-5-long";

std::unique_ptr<Model> load(const std::string& path, LoadOptions options = {}) {
  options.head = HeadKind::kCausalLm;
  auto loaded = load_model(golden(path), options);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return loaded.ok() ? std::move(loaded).value() : nullptr;
}

// ids of the tiny vocabularies, without their ends; the same for the same seed.
Ids random_ids(std::size_t count, unsigned seed) {
  std::minstd_rand random(seed + 1);
  Ids out(count);
  for (auto& id : out) id = 3 + static_cast<std::int32_t>(random() % 50);
  return out;
}

Ids operator+(Ids left, const Ids& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

GenerateRequest to_make(std::int64_t tokens) {
  GenerateRequest request;
  request.max_new_tokens = tokens;
  return request;
}

// Runs a generation to its end, or so many steps. Returns the tokens of each prompt that were not read.
Ids run(Model& model, const std::vector<Ids>& prompts, const GenerateRequest& request, int steps = INT32_MAX,
        std::vector<std::vector<Generated>>* results = nullptr) {
  const auto begun = Generation::begin(model, prompts, request);
  EXPECT_TRUE(begun.ok()) << begun.error().message;
  if (!begun.ok()) return {};
  Generation& generation = *begun.value();
  for (int i = 0; i < steps; ++i) {
    const auto more = generation.step();
    EXPECT_TRUE(more.ok()) << more.error().message;
    if (!more.ok() || !more.value()) break;
  }
  if (results) *results = generation.results();
  return generation.restored();
}

// The states of ids after `restored` tokens came from what is kept, against those of a whole pass.
void expect_bits(Model& model, const Ids& ids, std::int64_t restored, const std::vector<float>& whole) {
  const auto length = static_cast<std::int64_t>(ids.size());
  ASSERT_TRUE(model.slots().reserve({.slots = 2, .length = length + 5}).ok());
  ASSERT_EQ(model.slots().restore(1, std::span(ids).first(ids.size() - 1)), restored);
  Batch batch;
  batch.add_to_slot(1, static_cast<std::int32_t>(restored), std::span(ids).subspan(static_cast<std::size_t>(restored)));
  const auto states = model.slots().run(batch, nullptr);
  ASSERT_TRUE(states.ok()) << states.error().message;
  const std::int64_t hidden = model.generator().config().hidden_size;
  const std::vector<float> got(states.value(), states.value() + batch.tokens() * hidden);
  EXPECT_EQ(got, std::vector<float>(whole.end() - static_cast<std::ptrdiff_t>(got.size()), whole.end()));
}

std::vector<float> states_of(Model& model, const Ids& ids) {
  const auto seen = test::forward_ids(model, ids, {.output_logits = false});
  EXPECT_TRUE(seen.ok()) << seen.error().message;
  return seen.ok() ? seen.value().last_hidden_state : std::vector<float>();
}

TEST(Prefixes, ContinueWithTheBitsOfAWholePassInEveryDecoder) {
  for (const char* folder : {"decoders/", "variants/decoders/"}) {
    for (const std::string& name : test::case_names(folder)) {
      for (const LoadOptions& options : {LoadOptions{}, LoadOptions{.dtype = WeightType::kQ8}, LoadOptions{.q8_keys = true}}) {
        SCOPED_TRACE(folder + name);
        const auto model = load(folder + name, options);
        ASSERT_TRUE(model);
        const auto longest = static_cast<std::size_t>(std::min<std::int64_t>(70, model->context_length() - 2));
        const Ids ids = random_ids(longest, 5);
        const std::vector<float> whole = states_of(*model, ids);
        std::int64_t kept = 0;
        for (const std::size_t cut : {std::size_t{1}, std::size_t{7}, longest / 2 + 1, longest - 1, longest}) {
          run(*model, {Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(cut))}, to_make(1));
          kept = std::max(kept, static_cast<std::int64_t>(cut));
          expect_bits(*model, ids, std::min(kept, static_cast<std::int64_t>(longest) - 1), whole);
        }
      }
    }
  }
}

// Around the ends of blocks and panels, which have 8, and with a longer one kept.
TEST(Prefixes, MayEndAnywhere) {
  const auto model = load("long/decoders/llama", {.prefix_bytes = kMuch});
  ASSERT_TRUE(model);
  const Ids ids = random_ids(2 * kBlock, 1), other = random_ids(2 * kBlock, 2);
  const std::vector<float> whole = states_of(*model, ids);
  for (std::int64_t cut = 0; cut < 2 * kBlock; ++cut) {
    model->slots().forget_prefixes();
    const Ids common(ids.begin(), ids.begin() + cut);
    Ids rest = other;
    rest[0] = ids[static_cast<std::size_t>(cut)] == 40 ? 41 : 40;
    run(*model, {common + rest}, to_make(1));
    expect_bits(*model, ids, cut, whole);
    // Both are kept now, and share what they have in common.
    run(*model, {ids}, to_make(1));
    expect_bits(*model, ids, 2 * kBlock - 1, whole);
    EXPECT_EQ(run(*model, {common + rest}, to_make(1))[0], cut + 2 * kBlock - 1);
    EXPECT_EQ(model->slots().prefixes().sequences(), 2);
  }
}

void second_turn_reads_what_is_new(const std::string& path) {
  const auto model = load(path), anew = load(path, {.prefix_bytes = 0});
  ASSERT_TRUE(model && anew);
  GenerateRequest request = to_make(9);
  Ids chat = random_ids(30, 3);
  std::int64_t kept = 0;
  for (unsigned turn = 0; turn < 4; ++turn) {
    std::vector<std::vector<Generated>> made, expected;
    EXPECT_EQ(run(*model, {chat}, request, INT32_MAX, &made), Ids{static_cast<std::int32_t>(kept)}) << turn;
    EXPECT_EQ(run(*anew, {chat}, request, INT32_MAX, &expected), Ids{0});
    ASSERT_EQ(made[0][0].tokens, expected[0][0].tokens) << turn;
    kept = static_cast<std::int64_t>(chat.size() + made[0][0].tokens.size()) - 1;  // the last token was not read
    chat = chat + made[0][0].tokens + random_ids(5, turn);
  }
  EXPECT_EQ(anew->slots().prefixes().bytes(), 0U);
  EXPECT_EQ(run(*model, {chat}, request)[0], kept);
  if (model->slots().recurs()) return;
  // The same prompt again reads one token, and a beginning of it too.
  EXPECT_EQ(run(*model, {chat}, request)[0], static_cast<std::int64_t>(chat.size()) - 1);
  EXPECT_EQ(run(*model, {Ids(chat.begin(), chat.begin() + 20)}, request)[0], 19);
  EXPECT_EQ(run(*model, {{chat[0]}}, request)[0], 0);
}

TEST(Prefixes, TheSecondTurnReadsWhatIsNew) { second_turn_reads_what_is_new("decoders/llama"); }

TEST(RecurrentStates, TheSecondTurnReadsWhatIsNew) { second_turn_reads_what_is_new(kRecurrent); }

TEST(Prefixes, EachRowOfABatchFindsItsOwn) {
  const auto model = load("decoders/llama", {.prefix_bytes = kMuch}), anew = load("decoders/llama", {.prefix_bytes = 0});
  ASSERT_TRUE(model && anew);
  const std::vector<Ids> prompts{random_ids(40, 1), random_ids(33, 2), random_ids(9, 3), random_ids(40, 1)};
  run(*model, {prompts[1]}, to_make(2));
  GenerateRequest beams = to_make(6), drawn = beams;
  beams.options.num_beams = 3;
  drawn.options = {.do_sample = true, .temperature = 1.5, .num_return_sequences = 2, .seed = 3};
  for (const GenerateRequest& request : {to_make(6), beams, drawn}) {
    for (int again = 0; again < 2; ++again) {
      std::vector<std::vector<Generated>> made, expected;
      run(*model, prompts, request, INT32_MAX, &made);
      run(*anew, prompts, request, INT32_MAX, &expected);
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        ASSERT_EQ(made[i].size(), expected[i].size());
        for (std::size_t j = 0; j < made[i].size(); ++j) {
          EXPECT_EQ(made[i][j].tokens, expected[i][j].tokens);
          EXPECT_EQ(made[i][j].score, expected[i][j].score);  // equal bits of the logits
        }
      }
    }
  }
  EXPECT_EQ(run(*model, prompts, to_make(1)), (Ids{39, 32, 8, 39}));
}

// Only the prompt of several sequences is kept: which slot has which answer changes all the time.
TEST(Prefixes, BeamsKeepTheirPrompt) {
  const auto model = load("decoders/llama");
  ASSERT_TRUE(model);
  const Ids prompt = random_ids(40, 1);
  GenerateRequest beams = to_make(8);
  beams.options.num_beams = 3;
  const Ids answer = generate(*model, {prompt}, beams)[0][0].tokens;
  const Ids longer = prompt + answer + Ids{5};
  EXPECT_EQ(model->slots().prefixes().tokens(), 40);
  expect_bits(*model, longer, 40, states_of(*model, longer));
}

TEST(Prefixes, WhatAnAbortedCallHasReadIsKept) {
  const auto model = load("long/decoders/mistral");
  ASSERT_TRUE(model);
  const auto budget = static_cast<std::int32_t>(model->slots().token_budget());
  const auto length = std::min<std::int64_t>(budget, 90);
  const Ids prompt = random_ids(static_cast<std::size_t>(length), 1);
  EXPECT_EQ(run(*model, {prompt}, to_make(12), 0), Ids{0});
  EXPECT_EQ(model->slots().prefixes().bytes(), 0U);
  std::vector<std::vector<Generated>> made;
  run(*model, {prompt}, to_make(12), 4, &made);  // the prompt and three steps
  EXPECT_EQ(model->slots().prefixes().tokens(), length + 3);
  const Ids more = prompt + made[0][0].tokens + random_ids(4, 2);
  expect_bits(*model, more, length + 3, states_of(*model, more));
}

// What was in the slots is gone when they are used for something else.
TEST(Prefixes, AreNotKeptOfSlotsInOtherUse) {
  const auto model = load("decoders/llama");
  ASSERT_TRUE(model);
  const Ids prompt = random_ids(20, 1), other = random_ids(20, 2);
  {
    const auto begun = Generation::begin(*model, {prompt}, to_make(4));
    ASSERT_TRUE(begun.value()->step().ok());
    states_of(*model, other);
  }
  EXPECT_EQ(model->slots().prefixes().bytes(), 0U);
  {
    const auto begun = Generation::begin(*model, {prompt}, to_make(4));
    ASSERT_TRUE(begun.value()->step().ok());
    model->slots().forget_prefixes();  // the weights changed
  }
  EXPECT_EQ(model->slots().prefixes().bytes(), 0U);
}

TEST(Prefixes, TheLeastRecentlyUsedGoFirst) {
  const auto whole = load("decoders/llama");
  ASSERT_TRUE(whole);
  run(*whole, {random_ids(5, 1)}, to_make(1));
  const auto block = static_cast<std::int64_t>(whole->slots().prefixes().bytes());
  ASSERT_GT(block, 0);
  const auto model = load("decoders/llama", {.prefix_bytes = 4 * block + block / 2});
  ASSERT_TRUE(model);
  const Prefixes& prefixes = model->slots().prefixes();
  EXPECT_EQ(prefixes.most_bytes(), static_cast<std::uint64_t>(4 * block));
  const Ids a = random_ids(2 * kBlock, 1), b = random_ids(2 * kBlock, 2), c = random_ids(2 * kBlock, 3);
  const auto kept = [&](const Ids& ids) { return run(*model, {ids + Ids{1}}, to_make(1), 0)[0]; };
  run(*model, {a}, to_make(1));
  run(*model, {b}, to_make(1));
  EXPECT_EQ(kept(a), 2 * kBlock);  // a use, so b is older
  run(*model, {Ids(c.begin(), c.begin() + 3)}, to_make(1));
  EXPECT_EQ(prefixes.bytes(), static_cast<std::uint64_t>(4 * block));
  EXPECT_EQ(kept(b), kBlock);  // its end went first
  EXPECT_EQ(kept(a), 2 * kBlock);
  EXPECT_EQ(kept(c), 3);
  run(*model, {c}, to_make(1));
  EXPECT_EQ(kept(b), 0);
  EXPECT_EQ(kept(a), 2 * kBlock);
  const Ids after = c + Ids{1, 2, 3};
  expect_bits(*model, after, 2 * kBlock, states_of(*model, after));  // in memory that others had
  // More than there is room for: as much of the beginning as fits.
  const Ids longest = random_ids(static_cast<std::size_t>(model->context_length()) - 2, 4);
  if (std::cmp_greater(longest.size(), 4 * kBlock)) {
    run(*model, {longest}, to_make(1));
    EXPECT_EQ(kept(Ids(longest.begin(), longest.end() - 1)), 4 * kBlock);
  }
  EXPECT_EQ(prefixes.bytes(), static_cast<std::uint64_t>(4 * block));
}

TEST(Prefixes, WhatIsHeldStaysUntilItIsReleased) {
  const auto whole = load("decoders/llama");
  ASSERT_TRUE(whole);
  run(*whole, {random_ids(5, 1)}, to_make(1));
  const auto block = static_cast<std::int64_t>(whole->slots().prefixes().bytes());
  const auto model = load("decoders/llama", {.prefix_bytes = 3 * block});
  ASSERT_TRUE(model);
  Prefixes& prefixes = model->slots().prefixes();
  const Ids a = random_ids(kBlock + 9, 1), b = random_ids(2 * kBlock, 2);
  GenerateRequest holding = to_make(2);
  holding.holds = {17};
  run(*model, {a}, holding);
  const auto kept = [&](const Ids& ids) { return run(*model, {ids + Ids{1}}, to_make(1), 0)[0]; };
  run(*model, {b}, to_make(1));
  EXPECT_EQ(kept(a), kBlock + 9);
  EXPECT_EQ(kept(b), kBlock);
  prefixes.release(16);
  EXPECT_EQ(kept(a), kBlock + 9);
  prefixes.release(17);
  EXPECT_EQ(kept(a), 0);
  EXPECT_EQ(prefixes.bytes(), static_cast<std::uint64_t>(block));
  prefixes.release(17);
  // What another sequence goes on from stays.
  run(*model, {a}, holding);
  run(*model, {a + Ids(kBlock, 7)}, to_make(1));
  prefixes.release(17);
  EXPECT_EQ(kept(a), kBlock + 9);
  // An aborted call holds nothing.
  holding.holds = {18};
  run(*model, {a}, holding, 1);
  model->slots().forget_prefixes();
  EXPECT_EQ(prefixes.bytes(), 0U);
  prefixes.release(17);
}

TEST(Prefixes, AreThoseOfOneAdapter) {
  const auto model = load("decoders/llama", {.prefix_bytes = kMuch});
  ASSERT_TRUE(model);
  const TransformerConfig& config = model->generator().config();
  const auto width = static_cast<std::int32_t>(config.kv_heads() * config.head_size());
  const auto hidden = static_cast<std::int32_t>(config.hidden_size);
  std::vector<float> values(static_cast<std::size_t>(hidden + width));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.03f * static_cast<float>(i % 7);
  const auto add = [&] {
    AdapterTensors tensors{{"model.layers.0.self_attn.v_proj.weight"}, {{width, hidden, 1}}, values};
    const auto added = model->add_adapter(std::move(tensors));
    EXPECT_TRUE(added.ok()) << added.error().message;
    return added.ok() ? added.value() : 0;
  };
  const int first = add(), second = add();
  const Ids ids = random_ids(50, 1);
  const std::vector<float> plain = states_of(*model, ids);
  run(*model, {ids}, to_make(1));
  ASSERT_TRUE(model->use_adapter(first).ok());
  const std::vector<float> adapted = states_of(*model, ids);
  ASSERT_NE(adapted, plain);
  expect_bits(*model, ids, 0, adapted);
  run(*model, {ids}, to_make(1));
  expect_bits(*model, ids, 49, adapted);
  {  // one that ends under another adapter is kept under its own
    const auto begun = Generation::begin(*model, {ids + Ids{7, 8}}, to_make(4));
    ASSERT_TRUE(begun.value()->step().ok());
    ASSERT_TRUE(model->use_adapter(0).ok());
  }
  EXPECT_EQ(run(*model, {ids + Ids{7, 8}}, to_make(1), 0)[0], 50);
  ASSERT_TRUE(model->use_adapter(first).ok());
  EXPECT_EQ(run(*model, {ids + Ids{7, 8, 9}}, to_make(1), 0)[0], 52);
  ASSERT_TRUE(model->use_adapter(0).ok());
  expect_bits(*model, ids, 49, plain);
  model->delete_adapter(first);
  EXPECT_EQ(model->slots().prefixes().sequences(), 1);
  expect_bits(*model, ids, 49, plain);
  ASSERT_TRUE(model->merge_adapter(second).ok());
  EXPECT_EQ(model->slots().prefixes().bytes(), 0U);
  expect_bits(*model, ids, 0, states_of(*model, ids));
}

// Forced tokens, before the first step and after it, are a part of what was read.
TEST(Prefixes, HaveWhatAConstraintAppended) {
  const auto model = load("decoders/llama");
  ASSERT_TRUE(model);
  const Ids prompt = random_ids(20, 1), forced{9, 10, 11, 12}, later{20, 21};
  Ids made;
  {
    const auto begun = Generation::begin(*model, {prompt}, to_make(20));
    Generation& generation = *begun.value();
    const std::vector<std::int32_t> all(static_cast<std::size_t>(Search::mask_words(59)), -1);
    ASSERT_EQ(generation.constrain(0, all, forced), forced.size());
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(generation.step().ok());
    ASSERT_EQ(generation.constrain(0, all, later), later.size());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(generation.step().ok());
    made = generation.results()[0][0].tokens;
  }
  const Ids more = prompt + made + Ids{5};
  expect_bits(*model, more, static_cast<std::int64_t>(prompt.size() + made.size()) - 1, states_of(*model, more));
}

// Chats with random turns, aborts, batches and little room, each answer compared with one that was computed anew.
void thousand_turns_equal_sequential_ones(const std::string& path, std::initializer_list<std::int64_t> room,
                                          std::int64_t least_restored) {
  const auto whole = load(path);
  ASSERT_TRUE(whole);
  run(*whole, {random_ids(5, 1)}, to_make(1));
  const auto block = static_cast<std::int64_t>(whole->slots().prefixes().bytes());  // with its recurrent states
  for (const std::int64_t blocks : room) {
    const auto model = load(path, {.prefix_bytes = blocks * block});
    const auto anew = load(path, {.prefix_bytes = 0});
    ASSERT_TRUE(model && anew);
    std::minstd_rand random(static_cast<unsigned>(blocks));
    const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
    std::array<Ids, 5> chats;
    std::int64_t restored = 0;
    int held = 0;
    for (int turn = 0; turn < 500; ++turn) {
      std::vector<std::size_t> which{below(5)};
      if (below(4) == 0) which.push_back((which[0] + 1) % 5);
      std::vector<Ids> prompts;
      for (const std::size_t i : which) {
        if (chats[i].size() > 60 || chats[i].empty()) chats[i] = random_ids(20, below(3));
        if (below(5) == 0) chats[i].resize(chats[i].size() / 2 + 1);  // history is rewritten
        chats[i] = chats[i] + random_ids(1 + below(12), below(1000));
        prompts.push_back(chats[i]);
      }
      GenerateRequest request = to_make(1 + below(8));
      if (below(6) == 0) request.options.num_beams = 2;
      if (below(5) == 0) {
        model->slots().prefixes().release(held);
        for (std::size_t i = 0; i < which.size(); ++i) request.holds.push_back(held = turn * 2 + static_cast<int>(i) + 1);
      }
      const bool aborted = below(4) == 0;
      std::vector<std::vector<Generated>> made, expected;
      for (const std::int32_t tokens : run(*model, prompts, request, aborted ? static_cast<int>(below(6)) : INT32_MAX, &made))
        restored += tokens;
      ASSERT_LE(model->slots().prefixes().bytes(), static_cast<std::uint64_t>(blocks * block));
      if (aborted) continue;
      run(*anew, prompts, request, INT32_MAX, &expected);
      for (std::size_t i = 0; i < which.size(); ++i) {
        ASSERT_EQ(made[i][0].tokens, expected[i][0].tokens) << turn;
        ASSERT_EQ(made[i][0].score, expected[i][0].score) << turn;
        chats[which[i]] = chats[which[i]] + made[i][0].tokens;
      }
    }
    EXPECT_GT(restored, least_restored);
  }
}

TEST(Prefixes, AThousandTurnsEqualSequentialOnes) { thousand_turns_equal_sequential_ones("decoders/llama", {3, 9}, 2000); }

TEST(RecurrentStates, AThousandTurnsEqualSequentialOnes) { thousand_turns_equal_sequential_ones(kRecurrent, {7, 20}, 1000); }

// An encoder-decoder keeps nothing: its decoder reads few tokens before the first one.
TEST(Prefixes, AreOfDecodersAlone) {
  auto loaded = load_model(golden("seq2seq/bart"), {.head = HeadKind::kSeq2SeqLm, .prefix_bytes = 1 << 20});
  ASSERT_TRUE(loaded.ok());
  Model& model = *loaded.value();
  GenerateRequest request = to_make(3);
  request.decoder_start_token_id = 2;
  EXPECT_EQ(run(model, {{1, 5, 7}}, request), Ids{0});
  EXPECT_EQ(run(model, {{1, 5, 7}}, request), Ids{0});
  EXPECT_EQ(model.slots().prefixes().bytes(), 0U);
}

// A copy of the bytes, as they come from a file.
Arena copy_of(Arena& saved) {
  Arena out = Arena::with_bytes(saved.used(), "test").value();
  std::memcpy(out.take<std::byte>(static_cast<std::int64_t>(saved.used())), saved.taken().data(), saved.taken().size());
  return out;
}

std::string load_prefix(Model& model, const Ids& ids, Arena bytes) {
  const auto job = LoadPrefixJob::begin(model, ids, std::move(bytes));
  if (!job.ok()) return job.error().message;
  const auto run = run_all(*job.value());
  if (!run.ok()) return run.error().message;
  return std::to_string(job.value()->kept());
}

// Against keys and values in floats; with less memory.
TEST(KeysIn8Bits, ChangeLogitsLittle) {
  for (const char* folder : {"decoders/", "long/decoders/", "variants/decoders/"}) {
    for (const std::string& name : test::case_names(folder)) {
      SCOPED_TRACE(folder + name);
      const auto model = load(folder + name), q8 = load(folder + name, {.q8_keys = true});
      ASSERT_TRUE(model && q8);
      const Ids ids = random_ids(static_cast<std::size_t>(std::min<std::int64_t>(70, model->context_length() - 2)), 5);
      const auto exact = test::forward_ids(*model, ids), near = test::forward_ids(*q8, ids);
      ASSERT_TRUE(exact.ok() && near.ok());
      EXPECT_NE(near.value().logits, exact.value().logits);
      EXPECT_LE(test::relative_error(near.value().logits, exact.value().logits), 0.02);
      EXPECT_LT(q8->slots().prefixes().most_bytes(), model->slots().prefixes().most_bytes());
    }
  }
}

TEST(KeysIn8Bits, OfAnEncoderDecoderAreThoseOfItsDecoder) {
  auto loaded = load_model(golden("seq2seq/bart"), {.head = HeadKind::kSeq2SeqLm, .q8_keys = true});
  ASSERT_TRUE(loaded.ok());
  GenerateRequest request = to_make(8);
  request.decoder_start_token_id = 2;
  request.options.num_beams = 2;
  EXPECT_EQ(generate(*loaded.value(), {{1, 5, 7}}, request)[0][0].tokens.size(), 8U);
}

TEST(SavedPrefixes, GoOnInAnotherModelOfTheSameWeights) {
  for (const char* path : {"decoders/llama", "decoders/gemma3", "variants/decoders/lfm2", "variants/decoders/phi3-longrope",
                           "variants/decoders/qwen3-5", "variants/decoders/qwen3-5-long"}) {
    for (const WeightType type : {WeightType::kF32, WeightType::kQ4}) {
      SCOPED_TRACE(path);
      const auto model = load(path, {.dtype = type}), other = load(path, {.dtype = type});
      ASSERT_TRUE(model && other);
      const Ids ids = random_ids(static_cast<std::size_t>(std::min<std::int64_t>(45, model->context_length() - 4)), 1);
      EXPECT_FALSE(save_prefix(*model, ids).ok());
      run(*model, {ids}, to_make(1));
      auto saved = save_prefix(*model, ids);
      ASSERT_TRUE(saved.ok()) << saved.error().message;
      EXPECT_EQ(load_prefix(*other, ids, copy_of(saved.value())), std::to_string(ids.size()));
      const Ids more = ids + Ids{4, 5, 6};
      expect_bits(*other, more, static_cast<std::int64_t>(ids.size()), states_of(*model, more));
      // The same bytes again, from the model that loaded them.
      auto again = save_prefix(*other, ids);
      ASSERT_TRUE(again.ok());
      EXPECT_TRUE(std::ranges::equal(again.value().taken(), saved.value().taken()));
    }
  }
}

TEST(RecurrentStates, AreReadFromTheBeginningToTheEnd) {
  const auto model = load("variants/decoders/qwen3-5", {.prefix_bytes = kMuch});
  ASSERT_TRUE(model);
  Slots& slots = model->slots();
  const Ids ids = random_ids(20, 3);
  const std::vector<float> whole = states_of(*model, ids);
  ASSERT_TRUE(slots.reserve({.slots = 2, .length = 24}).ok());
  const std::int64_t hidden = model->generator().config().hidden_size;
  const auto read = [&](std::int32_t slot, std::size_t begin, std::size_t count) -> std::string {
    Batch batch;
    batch.add_to_slot(slot, static_cast<std::int32_t>(begin), std::span(ids).subspan(begin, count));
    const auto states = slots.run(batch, nullptr);
    if (!states.ok()) return states.error().message;
    const std::vector<float> got(states.value(), states.value() + static_cast<std::int64_t>(count) * hidden);
    const auto at = whole.begin() + static_cast<std::ptrdiff_t>(begin) * hidden;
    return std::equal(got.begin(), got.end(), at) ? "the same" : "others";
  };
  const auto refused = [](int next, int found) {
    return "this model has layers with a recurrent state: expected the token at position " + std::to_string(next) +
           " of a sequence next, found that at " + std::to_string(found);
  };
  EXPECT_EQ(read(0, 3, 1), refused(0, 3));  // nothing has been read
  EXPECT_EQ(read(0, 0, 7), "the same");
  EXPECT_EQ(read(0, 6, 2), refused(7, 6));
  EXPECT_EQ(read(0, 8, 2), refused(7, 8));
  EXPECT_EQ(read(1, 7, 1), refused(0, 7));
  slots.copy(0, 1, 7);
  EXPECT_EQ(read(0, 7, 5), "the same");
  EXPECT_EQ(read(1, 12, 1), refused(7, 12));
  EXPECT_EQ(read(1, 7, 13), "the same");
  EXPECT_EQ(read(0, 12, 8), "the same");
  EXPECT_EQ(read(0, 0, 4), "the same");  // another sequence
  ASSERT_TRUE(slots.reserve({.slots = 2, .length = 24}).ok());
  EXPECT_EQ(read(0, 4, 1), refused(0, 4));
}

// A prompt continues from the states of one that it begins with, whatever the answer was.
TEST(RecurrentStates, OfAPromptServeAnotherEnd) {
  const auto model = load(kRecurrent);
  ASSERT_TRUE(model);
  const Ids ids = random_ids(2 * kBlock + 12, 1), other = random_ids(30, 2);
  const auto first = [&](std::int64_t count) { return Ids(ids.begin(), ids.begin() + count); };
  // At the last block that ends kPromptEnd tokens before the prompt, and at the end of what was read.
  for (const std::int64_t length : {kBlock + 7, kBlock + 8, 2 * kBlock + 7, 2 * kBlock + 8, 2 * kBlock + 12}) {
    SCOPED_TRACE(length);
    model->slots().forget_prefixes();
    const std::int64_t kept = (length - Prefixes::kPromptEnd) / kBlock * kBlock;
    EXPECT_EQ(run(*model, {first(length)}, to_make(3)), Ids{0});
    const Ids same = first(length), changed = first(kept) + other;
    expect_bits(*model, same, kept, states_of(*model, same));
    expect_bits(*model, changed, kept, states_of(*model, changed));
    EXPECT_EQ(run(*model, {same}, to_make(3))[0], kept);
    const Ids less = kept > 0 ? first(kept - 1) + other : other;
    expect_bits(*model, less, 0, states_of(*model, less));
  }
  // Prompts of a batch are kept with their answers alone.
  model->slots().forget_prefixes();
  std::vector<std::vector<Generated>> made;
  const Ids long_one = first(2 * kBlock), short_one = other;
  run(*model, {long_one, short_one}, to_make(3), INT32_MAX, &made);
  expect_bits(*model, long_one, 0, states_of(*model, long_one));
  for (const auto& [prompt, results] : {std::pair(long_one, made[0]), std::pair(short_one, made[1])}) {
    const Ids more = prompt + results[0].tokens + Ids{5};
    expect_bits(*model, more, static_cast<std::int64_t>(prompt.size()) + 2, states_of(*model, more));
  }
}

TEST(RecurrentStates, AreKeptWhereACallEnded) {
  const auto model = load(kRecurrent);
  ASSERT_TRUE(model);
  const Ids prompt = random_ids(30, 1);
  std::vector<std::vector<Generated>> made;
  run(*model, {prompt}, to_make(12), 4, &made);  // the prompt and three steps
  const Ids more = prompt + made[0][0].tokens + random_ids(4, 2);
  expect_bits(*model, more, 33, states_of(*model, more));
  // Several sequences leave no state of the prompt at its end, once they have read more.
  model->slots().forget_prefixes();
  GenerateRequest beams = to_make(8);
  beams.options.num_beams = 3;
  const Ids longer = random_ids(kBlock + 20, 3);
  run(*model, {longer}, beams, 2);
  expect_bits(*model, longer + Ids{5}, kBlock + 20, states_of(*model, longer + Ids{5}));
  model->slots().forget_prefixes();
  run(*model, {longer}, beams);
  expect_bits(*model, longer + Ids{5}, kBlock, states_of(*model, longer + Ids{5}));
  // A step that has read a token, but not chosen the next one, leaves states that belong to other tokens.
  model->slots().forget_prefixes();
  GenerateRequest paused = to_make(8);
  paused.pauses = true;
  {
    const auto begun = Generation::begin(*model, {prompt}, paused);
    do {
      ASSERT_TRUE(begun.value()->step().ok());
    } while (begun.value()->results()[0][0].tokens.empty());
    ASSERT_TRUE(begun.value()->step().ok());
    ASSERT_EQ(begun.value()->phase(), GenerationPhase::kLogits);
  }
  EXPECT_EQ(model->slots().prefixes().bytes(), 0U);
}

// A shown prompt is kept where its rows begin: other continuations of it are asked for next.
TEST(RecurrentStates, AreThoseBeforeTheRowsThatAreShown) {
  const auto model = load(kRecurrent);
  ASSERT_TRUE(model);
  const Ids prompt = random_ids(23, 1);
  GenerateRequest request = to_make(1);
  request.rows_from = {22};
  EXPECT_EQ(run(*model, {prompt + Ids{4, 5, 6}}, request), Ids{0});
  request.rows_from = {22, 22};
  EXPECT_EQ(run(*model, {prompt + Ids{9}, prompt + Ids{8, 7}}, request), (Ids{22, 22}));
}

// States take much more memory than a block. They go with the blocks that have not been used for longest.
TEST(RecurrentStates, MakeRoomForOthers) {
  const auto whole = load(kRecurrent);
  ASSERT_TRUE(whole);
  const Plan& plan = whole->generator().plan();
  const auto block = static_cast<std::int64_t>(Prefixes::block_bytes(plan)),
             states = static_cast<std::int64_t>(Prefixes::state_blocks(plan)) * block;
  ASSERT_GT(states, 0);
  EXPECT_EQ(whole->slots().prefixes().most_bytes(),
            static_cast<std::uint64_t>((whole->context_length() + kBlock - 1) / kBlock * block + 8 * states));
  const std::int64_t room = 2 * (block + states);
  const auto model = load(kRecurrent, {.prefix_bytes = room});
  ASSERT_TRUE(model);
  const Prefixes& prefixes = model->slots().prefixes();
  EXPECT_EQ(prefixes.most_bytes(), static_cast<std::uint64_t>(room));
  const Ids a = random_ids(20, 1), b = random_ids(21, 2), c = random_ids(22, 3);
  const auto kept = [&](const Ids& ids) { return run(*model, {ids + Ids{1}}, to_make(1), 0)[0]; };
  run(*model, {a}, to_make(1));
  EXPECT_EQ(prefixes.bytes(), static_cast<std::uint64_t>(block + states));
  run(*model, {b}, to_make(1));
  EXPECT_EQ(prefixes.bytes(), static_cast<std::uint64_t>(2 * (block + states)));
  EXPECT_EQ(kept(a), 20);  // a use, so b is older
  run(*model, {c}, to_make(1));
  EXPECT_EQ(prefixes.bytes(), static_cast<std::uint64_t>(2 * (block + states)));
  EXPECT_EQ(kept(b), 0);
  EXPECT_EQ(kept(a), 20);
  EXPECT_EQ(kept(c), 22);
  // What does not fit leaves the others alone.
  run(*model, {random_ids(static_cast<std::size_t>((room / block + 1) * kBlock + Prefixes::kPromptEnd), 4)}, to_make(1));
  EXPECT_EQ(kept(a), 20);
  EXPECT_EQ(kept(c), 22);
  // What is held stays.
  GenerateRequest holding = to_make(1);
  holding.holds = {7};
  run(*model, {a}, holding);
  for (unsigned seed = 5; seed < 9; ++seed) run(*model, {random_ids(20, seed)}, to_make(1));
  EXPECT_EQ(kept(c), 0);
  EXPECT_EQ(kept(a), 20);
  model->slots().prefixes().release(7);
  EXPECT_EQ(kept(a), 0);
}

TEST(SavedPrefixes, WithOtherRecurrentStatesAreRefused) {
  const auto model = load(kRecurrent);
  ASSERT_TRUE(model);
  const Ids ids = random_ids(45, 1);
  run(*model, {ids}, to_make(1));
  auto saved = save_prefix(*model, ids);
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_EQ(load_prefix(*load(kRecurrent), ids, copy_of(saved.value())), "45");
  const State& state = model->generator().plan().keys_values;
  const auto states = static_cast<std::size_t>(state.state_layers * state.state_size) * sizeof(float);
  const std::size_t begin = (saved.value().taken().size() - states) / 64 * 64;
  for (const std::size_t at : {begin + 64, begin + 400}) {  // of the first layer
    Arena damaged = copy_of(saved.value());
    damaged.taken()[at] ^= std::byte{1};
    const auto other = load(kRecurrent);
    EXPECT_TRUE(load_prefix(*other, ids, std::move(damaged)).starts_with("prefix: expected the keys and values")) << at;
    EXPECT_EQ(other->slots().prefixes().bytes(), 0U);
  }
}

TEST(RecurrentStates, TakeMemoryOfEachSlot) {
  const auto model = load("variants/decoders/qwen3-5");
  ASSERT_TRUE(model);
  const auto& of = model->generator().config().gated_delta;
  const std::int64_t state = of.value_heads * of.key_dim * of.value_dim +
                             (of.kernel - 1) * (2 * of.key_heads * of.key_dim + of.value_heads * of.value_dim);
  const auto bytes = [&](std::int64_t slots) {
    return static_cast<std::int64_t>(model->slots().bytes({.slots = slots, .length = 8}));
  };
  EXPECT_GE(bytes(9) - bytes(1), 8 * 3 * state * static_cast<std::int64_t>(sizeof(float)));
}

TEST(SavedPrefixes, OfAnotherModelAreRefused) {
  const auto model = load("decoders/llama"), q8 = load("decoders/llama", {.dtype = WeightType::kQ8});
  const auto small = load("decoders/llama", {.prefix_bytes = 0}), short_one = load("decoders/llama", {.context_length = 20});
  ASSERT_TRUE(model && q8 && small && short_one);
  const Ids ids = random_ids(45, 1);
  run(*model, {ids}, to_make(1));
  auto saved = save_prefix(*model, ids);
  ASSERT_TRUE(saved.ok());
  const auto load_into = [&](Model& other, const Ids& its) { return load_prefix(other, its, copy_of(saved.value())); };
  const std::string differs = "prefix: expected the keys and values that this model computes";
  EXPECT_TRUE(load_into(*q8, ids).starts_with(differs)) << load_into(*q8, ids);
  EXPECT_EQ(q8->slots().prefixes().bytes(), 0U);
  EXPECT_EQ(load_into(*small, ids), "0");
  EXPECT_NE(load_into(*short_one, ids).find("context_length = 20"), std::string::npos);
  EXPECT_NE(load_into(*model, Ids(ids.begin(), ids.begin() + 30)).find("bytes for 30 tokens of this model"), std::string::npos);
  Ids bad = ids;
  bad[40] = 59;
  EXPECT_NE(load_into(*model, bad).find("vocab"), std::string::npos) << load_into(*model, bad);
  EXPECT_NE(load_into(*model, {}).find("found 0"), std::string::npos);
  // One token of many: the first layer shows it.
  Ids other = ids;
  other[44] = ids[44] == 9 ? 10 : 9;
  EXPECT_TRUE(load_into(*load("decoders/llama"), other).starts_with(differs));
  // A bit of the file: of the first layer anywhere, of the last one among the first tokens. The rest is for the file's own hash.
  const std::size_t half = saved.value().taken().size() / 2;  // where the second layer begins
  for (const std::size_t at : {std::size_t{0}, half - 200, half, 2 * half - 1400}) {
    Arena damaged = copy_of(saved.value());
    damaged.taken()[at] ^= std::byte{1};
    EXPECT_TRUE(load_prefix(*load("decoders/llama"), ids, std::move(damaged)).starts_with(differs)) << at;
  }
  const auto bare = load_model(golden("decoders/llama"));
  EXPECT_NE(load_into(*bare.value(), ids).find("language-model head"), std::string::npos);
  EXPECT_FALSE(save_prefix(*bare.value(), ids).ok());
}

}  // namespace
}  // namespace wattn
