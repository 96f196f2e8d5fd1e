// Adapter: what an adapter of PEFT changes in a model: additions of low rank to its linear layers, and whole tensors in place of
// the model's (a classification head, biases). web/source/peft.ts reads its files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "io/weight_loader.h"
#include "ops/lora.h"

namespace wattn {

// The tensors of the checkpoint that an adapter changes.
struct AdapterTensors {
  std::vector<std::string> names;  // canonical (models/arch.h), those of vectors last
  std::span<const std::int32_t>
      sizes;                      // of each: rows, or 0 for a vector; columns; rank of the addition, or 0 for the whole tensor
  const float* values = nullptr;  // of each: the tensor, or A [rank, columns] and then B [rows, rank] times alpha / r
  std::shared_ptr<const LoraTables> tables{};  // or null
};

// What adapters fit.
struct AdaptedModel {
  std::vector<WeightSlot> slots[3];         // of the stacks and the head
  Linear output;                            // the layer whose number of outputs an adapter may change
  Linear shared;                            // weights that have another use
  const std::vector<std::string>& ignored;  // as for WeightLoader
};

class Adapter {
 public:
  ~Adapter();

  // A ModelFormatError names a tensor that does not fit.
  Result<void> load(const AdaptedModel& model, const AdapterTensors& tensors);

  // Changes that hold too, of an adapter that was merged.
  void set_before(const Adapter* before) { lora_.before = before ? &before->lora_ : nullptr; }
  void set_tables(std::shared_ptr<const LoraTables> tables) { lora_.tables = std::move(tables); }
  const Lora& lora() const { return lora_; }
  std::uint64_t bytes() const { return memory_.bytes() + (lora_.tables ? lora_.tables->bytes : 0); }
  // Exchanges its vectors with the model's: the first call puts them in place, the second one takes them out.
  void exchange_vectors();
  // Adds its additions to the weights. What remains are layers in place of others, and additions to weights that have another use.
  void merge();

 private:
  Result<void> take(const AdaptedModel& model, const AdapterTensors& tensors);
  bool add(const WeightSlot& slot, const std::int32_t* sizes, const float* values, const Linear& shared);

  Arena memory_;
  Lora lora_;
};

}  // namespace wattn
