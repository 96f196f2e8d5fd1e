// Slots: the sequences that a model keeps while they grow: their keys and values, the cross keys and values of their sources, and
// the memory of passes over them.
#pragma once

#include <cstdint>
#include <span>

#include "core/arena.h"
#include "core/result.h"
#include "core/taps.h"
#include "models/transformer.h"

namespace wattn {

class Model;

// What is to be held at once.
struct SlotCapacity {
  std::int64_t slots = 0;    // sequences
  std::int64_t length = 0;   // tokens of each
  std::int64_t sources = 0;  // of an encoder-decoder
  std::int64_t source_length = 0;
};

class Slots {
 public:
  // Bytes of the cache and the activations for such a capacity.
  static std::uint64_t bytes(const Model& model, const SlotCapacity& capacity);
  // Tokens of one pass: longer prompts are read in pieces.
  static std::int64_t token_budget(const Model& model);

  // Makes room, before the first run; what was held is gone. An OutOfMemoryError names the bytes.
  Result<void> reserve(const Model& model, const SlotCapacity& capacity);

  // Has the encoder read a source and projects its states to the cross keys and values of slot `source`. taps see the encoder,
  // cross_taps the cross keys and values. The result, [tokens, hidden], is valid until the next call.
  Result<const float*> read_source(Model& model, std::int64_t source, std::span<const std::int32_t> ids, Taps* taps,
                                   Taps* cross_taps);

  // Reads at most token_budget() tokens into their slots; the result, [tokens, hidden] after the final norm, is valid until the
  // next call. Ids, slots, sources and positions are checked.
  Result<const float*> run(Model& model, const Batch& batch, Taps* taps);
  // Logits [rows.size(), vocab] of some rows of run()'s result, valid until the next call. At most as many rows as slots, or one.
  float* logits(Model& model, const float* hidden, std::span<const std::int64_t> rows);
  // Logits [vocab] of a vector [hidden] that has not passed the final norm.
  float* logit_lens(Model& model, const float* hidden);
  void copy(std::int64_t from, std::int64_t to, std::int64_t tokens) { copy_slot(cache_, from, to, tokens); }

 private:
  void take(Arena& arena, const Model& model, const SlotCapacity& capacity);

  Arena arena_;
  KvCache cache_;
  CrossKv cross_kv_;
  float* states_ = nullptr;  // [source_length, hidden]
  float* hidden_ = nullptr;  // [token_budget, hidden]
  float* rows_ = nullptr;    // [slots, hidden]
  float* logits_ = nullptr;  // [slots, vocab]
  std::uint64_t held_ = 0;   // bytes of arena_ that stay taken from run to run
};

}  // namespace wattn
