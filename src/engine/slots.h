// Slots: the cache of a model's growing sequences: their keys and values, the cross keys and values of their sources, and the
// memory of passes over them.
#pragma once

#include <cstdint>
#include <span>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "models/transformer.h"

namespace wattn {

class Model;

struct SlotCapacity {
  std::int64_t slots = 0;    // sequences
  std::int64_t length = 0;   // tokens of each
  std::int64_t sources = 0;  // of an encoder-decoder
  std::int64_t source_length = 0;
};

class Slots {
 public:
  // model: the owner of these slots.
  explicit Slots(Model& model) : model_(model) {}

  // Bytes of cache and activations.
  std::uint64_t bytes(const SlotCapacity& capacity) const;
  // Most tokens of one pass; longer prompts are read in pieces.
  std::int64_t token_budget() const;

  // Allocates, before the first run, discarding earlier contents. An OutOfMemoryError names the bytes.
  Result<void> reserve(const SlotCapacity& capacity);

  // Runs the encoder and projects its states to the cross keys and values of slot `source`. taps: of the encoder; cross_taps: of
  // the cross keys and values. The result, [tokens, hidden], is valid until the next call.
  Result<const float*> read_source(std::int64_t source, std::span<const std::int32_t> ids, Taps* taps, Taps* cross_taps);

  // Reads at most token_budget() tokens into their slots. The result, [tokens, hidden] after the final norm, is valid until the
  // next call. An InputError names an id, slot, source or position out of range.
  Result<const float*> run(const Batch& batch, Taps* taps);
  // Logits [rows.size(), vocab] of rows of run()'s result, valid until the next call. At most as many rows as slots.
  float* logits(const float* hidden, std::span<const std::int64_t> rows);
  // Logits [vocab] of a vector [hidden] to which the final norm is applied first.
  const float* logit_lens(const float* hidden);
  void copy(std::int64_t from, std::int64_t to, std::int64_t tokens) { copy_slot(held_.cache, from, to, tokens); }

 private:
  // What outlives a run.
  struct Held {
    KvCache cache;
    CrossKv cross_kv;
    float* states = nullptr;  // [source_length, hidden]
    float* hidden = nullptr;  // [token_budget, hidden]
    float* rows = nullptr;    // [slots, hidden]
    float* logits = nullptr;  // [slots, vocab]
  };
  Held take(Arena& arena, const SlotCapacity& capacity) const;

  Model& model_;
  Arena arena_;
  Held held_;
  std::uint64_t held_bytes_ = 0;  // of arena_
};

}  // namespace wattn
