#include "engine/slots.h"

#include <algorithm>
#include <utility>

#include "core/part.h"
#include "engine/model.h"
#include "pass/run.h"

namespace wattn {
namespace {

constexpr std::int64_t kTokenBudget = 512;

Result<void> check_slots(std::span<const std::int32_t> slots, std::int64_t batch, std::int64_t limit, const char* what) {
  if (static_cast<std::int64_t>(slots.size()) != batch) {
    return input_error(std::string(what) + ": expected one for each of " + std::to_string(batch) + " sequences, found " +
                       std::to_string(slots.size()));
  }
  const auto bad = std::find_if(slots.begin(), slots.end(), [&](std::int32_t slot) { return slot < 0 || slot >= limit; });
  if (bad == slots.end()) return {};
  return input_error(std::string(what) + ": expected numbers below " + std::to_string(limit) + ", found " + std::to_string(*bad));
}

}  // namespace

std::int64_t Slots::token_budget() const { return std::min(kTokenBudget, model_.context_length()); }

Slots::Held Slots::take(Arena& arena, const SlotCapacity& capacity) const {
  const Transformer& generator = model_.generator();
  const std::int64_t hidden = generator.config().hidden_size;
  Held held;
  held.cache = take_kv_cache(arena, generator.plan(), capacity.slots, capacity.length);
  held.hidden = arena.take<float>(token_budget() * hidden);
  if (model_.has_lm_head()) {
    const std::int64_t rows = capacity.slots + capacity.more_rows;
    held.rows = arena.take<float>(rows * hidden);
    held.logits = arena.take<float>(rows * generator.config().vocab_size);
  }
  if (model_.decoder()) {
    held.cross_kv = take_cross_kv(arena, generator.plan(), capacity.sources, capacity.source_length);
    held.states = arena.take<float>(capacity.source_length * hidden);
  }
  return held;
}

std::uint64_t Slots::bytes(const SlotCapacity& capacity) const {
  const Transformer& generator = model_.generator();
  const int threads = model_.team().most_threads();
  Arena arena;
  const Held held = take(arena, capacity);
  const std::int64_t keys = std::max(held.cache.length, held.cross_kv.cache.length);
  std::uint64_t pass = forward_bytes(generator.plan(), {.tokens = token_budget(), .keys = keys, .threads = threads});
  if (model_.has_lm_head()) pass = std::max(pass, lm_head_bytes(generator.plan(), capacity.slots + capacity.more_rows, threads));
  if (model_.decoder()) {
    const std::int64_t source = capacity.source_length;
    const PassSizes whole{.tokens = source, .keys = source, .own_keys = source, .threads = threads};
    pass =
        std::max({pass, forward_bytes(model_.transformer().plan(), whole), read_source_bytes(generator.plan(), source, threads)});
  }
  return arena.used() + pass;
}

Result<void> Slots::reserve(const SlotCapacity& capacity) {
  const std::uint64_t needed = bytes(capacity);
  ++turn_;
  kind_ = model_.adapter_in_use();
  if (needed > arena_.bytes()) {
    arena_ = Arena();  // freed first, as both may not fit
    const std::string what =
        "the cache of " + std::to_string(capacity.slots) + " sequences of " + std::to_string(capacity.length) + " tokens";
    auto arena = Arena::with_bytes(needed, what);
    if (!arena.ok() && prefixes_.bytes() > 0) {
      prefixes_.forget();
      arena = Arena::with_bytes(needed, what);
    }
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
  }
  arena_.reset();
  held_ = take(arena_, capacity);
  held_bytes_ = arena_.used();
  if (recurs()) held_.read.assign(static_cast<std::size_t>(capacity.slots), 0);
  return {};
}

void Slots::release() {
  ++turn_;
  arena_ = Arena();
  held_ = Held();
  held_bytes_ = 0;
}

void Slots::limit_prefixes(std::int64_t most_bytes) {
  if (!model_.has_lm_head() || model_.decoder()) return;
  const Plan& plan = model_.generator().plan();
  const auto blocks = (model_.context_length() + Prefixes::kBlockTokens - 1) / Prefixes::kBlockTokens;
  const std::uint64_t sequence = static_cast<std::uint64_t>(blocks) + kUsualStates * Prefixes::state_blocks(plan);
  const std::uint64_t usual = std::min(sequence * Prefixes::block_bytes(plan), kUsualPrefixBytes);
  prefixes_.set_limit(plan, most_bytes < 0 ? usual : static_cast<std::uint64_t>(most_bytes));
}

bool Slots::recurs() const { return model_.generator().plan().keys_values.state_layers > 0; }

void Slots::copy(std::int64_t from, std::int64_t to, std::int64_t tokens) {
  copy_slot(held_.cache, from, to, tokens);
  if (!held_.read.empty()) held_.read[static_cast<std::size_t>(to)] = held_.read[static_cast<std::size_t>(from)];
}

void Slots::fill(std::int64_t slot, const KvCache& from, std::int64_t tokens) {
  copy_tokens({from}, {held_.cache, slot}, tokens);
  if (!held_.read.empty()) held_.read[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(tokens);
}

std::int64_t Slots::restore(std::int64_t slot, std::span<const std::int32_t> ids) {
  const std::int64_t tokens = prefixes_.restore(kind_, ids, held_.cache, slot);
  if (!held_.read.empty()) held_.read[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(tokens);
  return tokens;
}

void Slots::keep(std::int64_t slot, std::span<const std::int32_t> ids) {
  if (!held_.read.empty() && std::cmp_not_equal(held_.read[static_cast<std::size_t>(slot)], ids.size())) return;
  prefixes_.keep(kind_, ids, held_.cache, slot);
}

void Slots::forget_prefixes(int adapter) {
  ++turn_;
  adapter < 0 ? prefixes_.forget() : prefixes_.forget(adapter);
}

Result<const float*> Slots::read_source(std::int64_t source, std::span<const std::int32_t> ids, Taps* taps, Taps* cross_taps) {
  if (ids.empty()) return input_error("source: expected at least one token, found none");
  Batch batch;
  batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
  if (auto e = model_.transformer().check(batch); !e.ok()) return e.error();
  const KvCache& cache = held_.cross_kv.cache;
  if (source < 0 || source >= cache.slots || batch.tokens() > cache.length) {
    return input_error("source: expected at most " + std::to_string(cache.length) + " tokens, found " +
                       std::to_string(batch.tokens()));
  }
  arena_.rewind(held_bytes_);
  const Transformer &encoder = model_.transformer(), &decoder = model_.generator();
  forward(encoder.plan(), encoder.compute(model_.team()), batch, {}, arena_, held_.states, taps);
  arena_.rewind(held_bytes_);
  wattn::read_source(decoder.plan(), decoder.compute(model_.team()), held_.states, batch.tokens(), source, held_.cross_kv, arena_,
                     cross_taps);
  return static_cast<const float*>(held_.states);
}

Result<const float*> Slots::run(const Batch& batch, Taps* taps, std::size_t layers) {
  const Transformer& generator = model_.generator();
  if (batch.tokens() > token_budget()) {
    return input_error("input_ids: expected at most " + std::to_string(token_budget()) + " tokens in one run, found " +
                       std::to_string(batch.tokens()));
  }
  if (auto e = generator.check(batch); !e.ok()) return e.error();
  const std::int64_t limit = std::min(held_.cache.length, model_.context_length());
  for (const std::int32_t position : batch.position_ids) {
    if (position >= 0 && position < limit) continue;
    return input_error("expected at most " + std::to_string(limit) + " tokens (context_length), found one at position " +
                       std::to_string(position));
  }
  if (auto e = check_slots(batch.slots, batch.batch(), held_.cache.slots, "slots"); !e.ok()) return e.error();
  if (model_.decoder()) {
    if (auto e = check_slots(batch.sources, batch.batch(), held_.cross_kv.cache.slots, "sources"); !e.ok()) return e.error();
  }
  if (!held_.read.empty()) {
    if (auto e = Part<Prefixes::Recurrent>::get()->note_read(batch, held_.read); !e.ok()) return e.error();
  }
  arena_.rewind(held_bytes_);
  const PassStates states{&held_.cache, model_.decoder() ? &held_.cross_kv : nullptr};
  forward(generator.plan(), generator.compute(model_.team()), batch, states, arena_, held_.hidden, taps, layers);
  return static_cast<const float*>(held_.hidden);
}

float* Slots::logits(const float* hidden, std::span<const std::int64_t> rows) {
  const std::int64_t width = model_.generator().config().hidden_size;
  for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(hidden + rows[i] * width, width, held_.rows + i * width);
  arena_.rewind(held_bytes_);
  const Transformer& generator = model_.generator();
  lm_head(generator.plan(), generator.compute(model_.team()), held_.rows, static_cast<std::int64_t>(rows.size()), arena_,
          held_.logits);
  return held_.logits;
}

const float* Slots::logit_lens(const float* hidden) {
  const Transformer& generator = model_.generator();
  const Compute compute = generator.compute(model_.team());
  std::copy_n(hidden, generator.config().hidden_size, held_.rows);
  final_norm(generator.plan(), compute, held_.rows, 1);
  arena_.rewind(held_bytes_);
  lm_head(generator.plan(), compute, held_.rows, 1, arena_, held_.logits);
  return held_.logits;
}

}  // namespace wattn
