// attention() against its formula in double precision, past two blocks of queries, and bit for bit with and without slots.
#include "ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "native/ops/attention_problem.h"
#include "native/support/team.h"

namespace wattn::test {
namespace {

void expect_near(const std::vector<float>& got, const std::vector<double>& exact, const std::vector<double>& bound,
                 std::int64_t width, const std::string& what) {
  ASSERT_EQ(got.size(), exact.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (got[i] == exact[i]) continue;  // infinities
    ASSERT_NEAR(got[i], exact[i], bound[i]) << what << ", row " << at / width << ", column " << at % width;
  }
}

// Calls use(scratch of each thread) with uninitialised memory.
template <class F>
void with_scratch(const AttentionShape& shape, std::int64_t max_seq, const F& use) {
  constexpr int kThreads = 4;
  const auto take = [&](Arena& arena) {
    std::vector<AttentionScratch> out;
    for (int i = 0; i < kThreads; ++i) out.push_back(take_attention_scratch(arena, shape, max_seq, kMostTokens, 16));
    return out;
  };
  Arena measure;
  take(measure);
  Arena arena = Arena::with_bytes(measure.used(), "test").value();
  use(take(arena));
}

std::vector<float> run(const Problem& p, const AttentionInput& input, const Compute& compute, const AttentionTap& tap = {}) {
  std::vector<float> context(static_cast<std::size_t>(input.seq_start.back() * p.shape.context_width()),
                             std::numeric_limits<float>::quiet_NaN());
  with_scratch(p.shape, input.cache && !input.cache->q8 ? 0 : kMostTokens,
               [&](const auto& scratch) { attention(compute, p.shape, p.terms, input, scratch, context.data(), tap); });
  return context;
}

// Slots in another order than the sequences, with NaN where nothing was stored.
struct Slots {
  Arena arena;
  KvCache cache;
  Counts slots;
  explicit Slots(const Problem& p, bool q8 = false) {
    const auto take = [&](Arena& from) { return take_kv_cache(from, p.shape, 2, p.batch() + 1, 101, q8); };
    take(arena);
    arena = Arena::with_bytes(arena.used(), "test").value();
    cache = take(arena);
    std::fill_n(cache.data, cache.slots * cache.slot_size(), std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t i = 0; i < p.batch(); ++i) slots.push_back(static_cast<std::int32_t>(p.batch() - i));
  }
  void move_there_and_back(std::int64_t slot, std::int64_t tokens) const {
    copy_slot(cache, slot, 0, tokens);
    std::fill_n(cache.at(slot, 0, 0).keys, cache.slot_size(), std::numeric_limits<float>::quiet_NaN());
    copy_slot(cache, 0, slot, tokens);
  }
  AttentionInput input(AttentionInput from) const {
    from.cache = &cache;
    from.layer = 1;
    from.slots = slots;
    return from;
  }
};

TEST(Attention, MatchesItsFormulaInEveryVariant) {
  for (const Case& c : kCases) {
    const Problem p(c);
    const Expected expected = exact(p);
    for (const Kernels* kernels : kernel_variants()) {
      ThreadTeam alone;
      expect_near(run(p, p.input(), {*kernels, alone}), expected.context, expected.bound, p.shape.context_width(),
                  std::string(c.name) + ", " + kernels->name);
    }
  }
}

TEST(Attention, MatchesItsFormulaWithSeparateKeys) {
  const Counts queries = {3, 60, 1, 49, 100}, keys = {9, 101, 48, 20, 0}, positions = {6, 41, 20, 0, 0};
  for (const Case& c : kCases) {
    const Problem p(c, queries, keys, positions);
    const Expected expected = exact(p);
    ThreadTeam alone;
    expect_near(run(p, p.input(), {exact_kernels(), alone}), expected.context, expected.bound, p.shape.context_width(), c.name);
  }
}

TEST(Attention, MatchesItsFormulaOverASourceInASlot) {
  const Counts queries = {3, 101, 1, 49, 2}, keys = {9, 101, 48, 20, 0};
  for (const Case& c : kCases) {
    if (c.relative || c.causal || c.bias || c.before >= 0) continue;
    const Problem p(c, queries, keys);
    const Slots slots(p);
    Counts lengths(static_cast<std::size_t>(slots.cache.slots));
    for (std::int64_t i = 0; i < p.batch(); ++i) {
      lengths[slots.slots[i]] = keys[i];
      store_kv(slots.cache, slots.slots[i], 1, 0,
               {p.kv.data() + p.key_start[i] * p.kv_stride, p.values() + p.key_start[i] * p.kv_stride, p.kv_stride, keys[i]});
    }
    AttentionInput input = slots.input(p.input());
    input.keys = input.values = nullptr;
    input.key_start = {};
    input.lengths = lengths;
    const Expected expected = exact(p);
    ThreadTeam alone;
    expect_near(run(p, input, {exact_kernels(), alone}), expected.context, expected.bound, p.shape.context_width(), c.name);
  }
}

TEST(Attention, HasTheSameBitsInSlots) {
  for (const Case& c : kCases) {
    if (c.relative) continue;
    const Problem p(c);
    const Slots slots(p);
    ThreadTeam alone;
    const Compute compute{exact_kernels(), alone};
    EXPECT_EQ(run(p, slots.input(p.input()), compute), run(p, p.input(), compute)) << c.name;
  }
}

// Rounds groups of 32 numbers to whole numbers from -127 to 127 times their scale.
void round_row(float* row, std::int64_t width) {
  for (std::int64_t begin = 0; begin < width; begin += 32) {
    const std::int64_t end = std::min<std::int64_t>(width, begin + 32);
    float most = 0;
    for (std::int64_t i = begin; i < end; ++i) most = std::max(most, std::abs(row[i]));
    const float scale = most / 127.0f;
    for (std::int64_t i = begin; i < end; ++i) {
      const float rounded = most > 0 ? std::round(row[i] * (127.0f / most)) * scale : 0.0f;
      EXPECT_LE(std::abs(rounded - row[i]), 0.501f * scale);
      row[i] = rounded;
    }
  }
}

// With keys and values in 8 bits: as of rounded ones, whole and in pieces, and after a slot was copied.
TEST(Attention, In8BitsHasTheBitsOfRoundedKeysAndValues) {
  for (const AttentionShape& shape : {AttentionShape{4, 2, 8, 5}, AttentionShape{2, 1, 40, 33}, AttentionShape{2, 2, 64}}) {
    const Case c{.name = "8 bits", .shape = shape, .causal = true};
    const Problem p(c);
    Problem rounded(c);
    const std::int64_t value_dim = shape.value_size();
    for (std::int64_t token = 0; token < p.key_start.back(); ++token) {
      for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
        float* const row = rounded.kv.data() + token * p.kv_stride;
        round_row(row + head * shape.head_dim, shape.head_dim);
        round_row(row + (p.values() - p.kv.data()) + head * value_dim, value_dim);
      }
    }
    ThreadTeam alone;
    const Compute compute{exact_kernels(), alone};
    const std::vector<float> expected = run(rounded, rounded.input(), compute);
    const Slots whole(p, true), pieces(p, true);
    EXPECT_EQ(run(p, whole.input(p.input()), compute), expected) << shape.head_dim;
    const std::int64_t width = shape.context_width();
    for (std::int64_t i = 0; i < p.batch(); ++i) {
      const std::int32_t middle = p.seq_start[i] + p.lengths[i] * 2 / 3;
      for (const Counts& piece : {Counts{p.seq_start[i], middle}, Counts{middle, p.seq_start[i + 1]}}) {
        if (piece[0] == middle) pieces.move_there_and_back(pieces.slots[i], middle - p.seq_start[i]);
        const Counts seq_start{0, piece[1] - piece[0]};
        AttentionInput input = pieces.input(p.input());
        input.queries += piece[0] * input.query_stride;
        input.keys += piece[0] * input.kv_stride;
        input.values += piece[0] * input.kv_stride;
        input.seq_start = seq_start;
        input.key_start = {};
        input.slots = input.slots.subspan(static_cast<std::size_t>(i), 1);
        Counts positions(static_cast<std::size_t>(seq_start[1]));
        std::iota(positions.begin(), positions.end(), piece[0] - p.seq_start[i]);
        input.position_ids = positions;
        const std::vector<float> got = run(p, input, compute);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + piece[0] * width))
            << shape.head_dim << ", sequence " << i;
      }
    }
  }
}

// After 59 tokens each slot is copied, cleared and copied back.
TEST(Attention, HasTheSameBitsInPieces) {
  for (const Case& c : kCases) {
    if (c.relative || !c.causal || c.add > 0 || c.dropout > 0) continue;  // a mask fits the queries of one call
    const Problem p(c);
    const Slots slots(p);
    ThreadTeam alone;
    const Compute compute{exact_kernels(), alone};
    const std::vector<float> whole = run(p, p.input(), compute);
    const std::int64_t width = p.shape.context_width();
    std::int32_t done = 0;
    for (const std::int32_t piece : {7, 1, 1, 48, 2, 1, 30, 11}) {
      for (std::int64_t i = 0; i < p.batch(); ++i) {
        const std::int32_t first = p.seq_start[i] + std::min(done, p.lengths[i]);
        const Counts seq_start = {0, std::min(piece, p.seq_start[i + 1] - first)};
        if (done == 59) slots.move_there_and_back(slots.slots[i], first - p.seq_start[i]);
        AttentionInput input = slots.input(p.input());
        input.queries += first * p.query_stride;
        input.keys += first * p.kv_stride;
        input.values += first * p.kv_stride;
        input.seq_start = seq_start;
        input.slots = {&slots.slots[i], 1};
        input.position_ids = input.position_ids.subspan(first);
        const std::vector<float> part = run(p, input, compute);
        ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first * width))
            << c.name << ", sequence " << i << ", " << done;
      }
      done += piece;
    }
  }
}

// Collects what attention() shows to taps.
struct Recorder : Taps {
  std::map<std::string, std::vector<std::vector<float>>> seen;
  void on_tensor(const TapPoint& point, const TensorView& tensor) override {
    EXPECT_EQ(point.layer, 3);
    EXPECT_EQ(static_cast<std::size_t>(point.sequence), seen[std::string(point.name)].size());
    const std::int64_t size = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<>());
    seen[std::string(point.name)].emplace_back(tensor.data, tensor.data + size);
  }
};

TEST(Attention, ShowsScoresAndProbabilities) {
  for (const Case& c : kCases) {
    const Problem p(c);
    const Expected expected = exact(p);
    ThreadTeam alone;
    const Compute compute{exact_kernels(), alone};
    Recorder own, in_slots;
    EXPECT_EQ(run(p, p.input(), compute, {&own, 3, "self"}), run(p, p.input(), compute)) << c.name;
    ASSERT_EQ(own.seen.size(), 2u);
    for (std::size_t i = 0; i < kLengths.size(); ++i) {
      expect_near(own.seen["self.scores"][i], expected.scores[i], expected.scores_bound[i], kLengths[i], c.name);
      expect_near(own.seen["self.probs"][i], expected.probs[i], expected.probs_bound[i], kLengths[i], c.name);
    }
    if (c.relative) continue;
    run(p, Slots(p).input(p.input()), compute, {&in_slots, 3, "self"});
    ASSERT_EQ(in_slots.seen.size(), 1u);
    EXPECT_EQ(in_slots.seen["self.probs"], own.seen["self.probs"]) << c.name;
  }
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
TEST(Attention, HasTheSameBitsWithThreads) {
  ThreadTeam alone;
  TeamOfFour four;
  ThreadTeam& team = four.team;
  for (const Case& c : kCases) {
    const ThreadTeam::Awake awake(team);
    const Problem p(c);
    const std::vector<float> expected = run(p, p.input(), {exact_kernels(), alone});
    EXPECT_EQ(run(p, p.input(), {exact_kernels(), team}), expected) << c.name;
    if (c.relative) continue;
    EXPECT_EQ(run(p, Slots(p).input(p.input()), {exact_kernels(), team}), expected) << c.name;
  }
}
#endif

}  // namespace
}  // namespace wattn::test
