// Adapter: the changes that a PEFT adapter makes to a model. They are low-rank additions to its linear layers and tables, factors
// of their outputs, and tensors that replace whole ones: a classification head, embeddings, biases. web/source/peft.ts reads its
// files.
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

// What an adapter has for one tensor of the checkpoint, a matrix or table [rows, columns] or a vector [columns]. Its values: the
// tensor, or A [rank, columns] and then B [rows, rank] times alpha / r; and after them what the parts say, in their order.
struct AdapterTensor {
  enum Part : std::int32_t {
    kTable = 1,      // an addition to a table
    kMagnitude = 2,  // of DoRA: [rows], of a table [columns]
    kFactor = 4,     // in place of A and B, [rows]: factors of y with its bias (IA3)
    kMore = 8,       // [rows], added to y
    kInputs = 16,    // in place of the tensor, the factors of its columns: [columns] (IA3)
    kRows = 32,      // the tensor is some rows: their numbers, rising: [rows]
    kBase = 64,      // the tensor is the base's own, to which a head may be tied
    kAlone = 128,    // some rows of a table, where other rows of the head change
  };

  std::int32_t rows = 0;  // 0: a vector
  std::int32_t columns = 0;
  std::int32_t rank = 0;  // 0: a whole tensor
  std::int32_t parts = 0;

  bool has(Part part) const { return (parts & part) != 0; }
  std::int64_t base_size() const;  // floats of the tensor, or of A and B
  std::int64_t size() const;       // with its parts
  // Whether it needs RareAdapters. output: AdaptedModel's.
  bool is_rare(const WeightTarget& target, const LinearWeights& output) const;
};

// The tensors of the checkpoint that an adapter changes.
struct AdapterTensors {
  std::vector<std::string> names;  // canonical (models/arch.h); whole ones first, vectors last
  std::vector<AdapterTensor> tensors;
  std::span<const float> values;         // of each, one after the other
  std::shared_ptr<LoraTables> tables{};  // more changes of tables, or null
};

// What adapters fit.
struct AdaptedModel {
  std::vector<WeightTarget> targets[3];     // of the stacks and the head
  LinearWeights output;                     // the layer whose number of outputs an adapter may change
  LinearWeights shared;                     // weights that have another use
  bool tied_head = false;                   // the head reads the table of the words
  const std::vector<std::string>& ignored;  // as for WeightLoader
};

class Adapter {
 public:
  ~Adapter();

  // A ModelFormatError names a tensor that does not fit.
  Result<void> load(const AdaptedModel& model, const AdapterTensors& tensors);

  // Changes that hold too, of an adapter that was merged.
  void set_before(const Adapter* before) { lora_.before = before ? &before->lora_ : nullptr; }
  const Lora& lora() const { return lora_; }
  std::uint64_t bytes() const;
  // Exchanges its vectors with the model's: the first call puts them in place, the second one takes them out.
  void exchange_vectors();
  // Merges its additions into the weights. Replaced layers, and additions to weights that have another use, remain.
  void merge();

  // RareAdapters::add.
  static Result<bool> add_rare(Adapter& adapter, const WeightTarget& target, const AdapterTensor& tensor, const float* values,
                               const AdaptedModel& model);

 private:
  Result<void> take(const AdaptedModel& model, const AdapterTensors& tensors);
  Result<bool> add(const WeightTarget& target, const AdapterTensor& tensor, const float* values, const AdaptedModel& model);
  bool add_vector(const WeightTarget& target, const AdapterTensor& tensor, const float* values);
  void add_pair(const WeightTarget& target, const AdapterTensor& tensor, const float* values, const LinearWeights& shared);
  void add_whole(const WeightTarget& target, const AdapterTensor& tensor, const float* values);
  // In rare_adapters.cpp:
  void add_part(const WeightTarget& target, const AdapterTensor& tensor, const float* values);
  void add_factors(const WeightTarget& target, const AdapterTensor& tensor, const float* values);
  bool add_to_layer(const WeightTarget& target, const AdapterTensor& tensor, const float* values);
  void add_rows(const LinearWeights& layer, const AdapterTensor& tensor, const float* values, const LinearWeights& shared);
  bool add_once(const LinearWeights& layer, const AdapterTensor& tensor, const float* values, const LinearWeights& shared);
  void add_up(const WeightTarget& target, std::int64_t rows, LoraTables::Rows& out) const;
  void add_table(const WeightTarget& target, const AdapterTensor& tensor, const float* values);
  bool add_table_or_rows(const WeightTarget& target, const AdapterTensor& tensor, const float* values, const LinearWeights& shared);
  static bool fits_rows(const WeightTarget& target, const AdapterTensor& tensor, const float* values, const AdaptedModel& model);
  // Whether the table has those rows already.
  static bool has_rows(const WeightTarget& target, const AdapterTensor& tensor, const float* values);
  // Row i of a table, as it is before this adapter.
  void table_row(const WeightTarget& target, std::int32_t i, float* row) const;
  LinearWeights& copy_of(const LinearWeights& layer);

  Arena memory_;
  Lora lora_;
  std::shared_ptr<LoraTables> tables_;  // lora_'s, or null
  std::span<const float> shared_rows_;  // some rows of the shared weights, while it loads; empty: none yet
};

// Applies changes that few adapters make (rare_adapters.cpp). Programs without it refuse them.
struct RareAdapters {
  // Takes memory, and fills it once it is there. Whether the tensor fits.
  Result<bool> (*add)(Adapter& adapter, const WeightTarget& target, const AdapterTensor& tensor, const float* values,
                      const AdaptedModel& model);
};
extern const RareAdapters kRareAdapters;

}  // namespace wattn
