// Slots: the cache of a model's growing sequences. It has their keys and values, the cross keys and values of their sources, the
// memory of passes over them, and the prefixes that are kept for later sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "engine/prefixes.h"
#include "models/transformer.h"

namespace wattn {

class Model;

struct SlotCapacity {
  std::int64_t slots = 0;    // sequences
  std::int64_t length = 0;   // tokens of each
  std::int64_t sources = 0;  // of an encoder-decoder
  std::int64_t source_length = 0;
  std::int64_t more_rows = 0;  // of logits at once, beside one for each sequence
};

class Slots {
 public:
  // model: the owner of these slots.
  explicit Slots(Model& model) : model_(model) {}

  // Bytes of cache and activations.
  std::uint64_t bytes(const SlotCapacity& capacity) const;
  // Most tokens of one pass; longer prompts are read in pieces.
  std::int64_t token_budget() const;

  // Allocates before the first run and discards earlier contents. Prefixes are dropped before it fails with an OutOfMemoryError,
  // which names the bytes.
  Result<void> reserve(const SlotCapacity& capacity);

  // Runs the encoder and projects its states to the cross keys and values of slot `source`. taps: of the encoder; cross_taps: of
  // the cross keys and values. The result, [tokens, hidden], is valid until the next call.
  Result<const float*> read_source(std::int64_t source, std::span<const std::int32_t> ids, Taps* taps, Taps* cross_taps);

  // Reads at most token_budget() tokens into their slots. The result, [tokens, hidden] after the final norm, is valid until the
  // next call. An InputError names an id, slot, source or position out of range.
  // layers: how many of the first ones run, if not all.
  Result<const float*> run(const Batch& batch, Taps* taps, std::size_t layers = SIZE_MAX);
  const KvCache& cache() const { return held_.cache; }
  // Bytes that reserve() allocated, and what frees them.
  std::uint64_t reserved() const { return arena_.bytes(); }
  void release();
  // Logits [rows.size(), vocab] of rows of run()'s result, valid until the next call. At most as many as were reserved.
  float* logits(const float* hidden, std::span<const std::int64_t> rows);
  // Logits [vocab] of a vector [hidden] to which the final norm is applied first.
  const float* logit_lens(const float* hidden);
  void copy(std::int64_t from, std::int64_t to, std::int64_t tokens);
  // Fills a slot with the only one of `from`, which has read that many tokens.
  void fill(std::int64_t slot, const KvCache& from, std::int64_t tokens);
  // Whether slots have recurrent states: then a sequence is read from its beginning to its end.
  bool recurs() const;

  // Prefixes, of decoders alone. A slot filled from one has the bits of a slot that read its tokens.

  // Bytes of prefixes, at most; -1: as many as one sequence of context_length() tokens takes, and kUsualStates recurrent states of
  // it, at most kUsualPrefixBytes.
  void limit_prefixes(std::int64_t most_bytes);
  static constexpr std::uint64_t kUsualPrefixBytes = 512ull << 20, kUsualStates = 8;
  Prefixes& prefixes() { return prefixes_; }
  const Prefixes& prefixes() const { return prefixes_; }
  // A version number of the slots' contents: reserve() and forget_prefixes() change it.
  std::uint64_t turn() const { return turn_; }
  // Fills an empty slot with the longest prefix of ids that is kept for the adapter in use. Returns its number of tokens.
  std::int64_t restore(std::int64_t slot, std::span<const std::int32_t> ids);
  // Keeps what a slot holds of ids, with the adapter that was in use at reserve(). Of recurrent states, those that have read ids
  // and nothing else.
  void keep(std::int64_t slot, std::span<const std::int32_t> ids);
  // Holds the kept prefix of ids, as Prefixes::hold() does.
  std::int64_t hold(int number, std::span<const std::int32_t> ids) { return prefixes_.hold(number, kind_, ids); }
  // The weights changed, or an adapter did. adapter: its number; 0: none; -1: all.
  void forget_prefixes(int adapter = -1);

 private:
  // What outlives a run.
  struct Held {
    KvCache cache;
    CrossKv cross_kv;
    float* states = nullptr;           // [source_length, hidden]
    float* hidden = nullptr;           // [token_budget, hidden]
    float* rows = nullptr;             // [slots + more_rows, hidden]
    float* logits = nullptr;           // [slots + more_rows, vocab]
    std::vector<std::int32_t> read{};  // [slots] tokens that recurrent states have read; empty: there are none
  };
  Held take(Arena& arena, const SlotCapacity& capacity) const;

  Model& model_;
  Arena arena_;
  Held held_;
  std::uint64_t held_bytes_ = 0;  // of arena_
  Prefixes prefixes_;
  int kind_ = 0;  // the adapter of what slots hold
  std::uint64_t turn_ = 0;
};

}  // namespace wattn
