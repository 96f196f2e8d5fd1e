// WeightLoader: reads one or more checkpoint files (GGUF if the name ends in .gguf, else safetensors) in chunks of any size. It
// passes every tensor row by row, widened to f32, to the target that the model made for it. It buffers one row at most.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "io/gguf.h"
#include "io/safetensors.h"

namespace wattn {

// How memory holds the rows of a matrix in 8 bits.
enum class HeldBlocks : std::uint8_t {
  kNone,     // it does not, or in another order than the file
  kGroups,   // a scale for each group of weights
  kRows,     // a scale for each row
  kRepeats,  // only held(): the tensor has the values of another one, and can be left out
};

// The destination of one tensor. A row is the last dimension; a tensor of rank 1 is one row.
struct WeightTarget {
  std::string name;  // as in the checkpoint
  Shape shape;       // expected
  bool required = true;
  std::function<void(std::int64_t row, const float* values)> write_row{};  // values: [shape.back()]; empty: only compared
  // A tensor that this one repeats (a head tied to the word embeddings). Files that have both must have the same values in them.
  std::string twin{};
  bool may_differ = false;     // from its twin
  float offset = 0;            // added to the file's values
  bool adapted = false;        // adapters have it if the files lack it
  bool may_lack_rows = false;  // at the end: an adapter has them
  bool integers = false;       // I8, I32 and I64 are accepted too
  std::int64_t below = 0;      // values are whole numbers from 0 to below - 1; 0: any
  // Where the values are in memory, for adapters (models/adapter.h). Row or value i is number (first + i) % of there, or that of
  // place_of, if there is one.
  const void* layer = nullptr;  // the LinearWeights of a matrix or of its bias
  bool transposed = false;      // the file has that matrix as [in, out]
  // A table to which rows can be added, as LoraTables::Rows knows it: an EmbeddingTable, or the LinearWeights of a head in its
  // place.
  const void *table = nullptr, *embedding = nullptr, *head = nullptr;
  bool summed = false;      // whether a pass adds the table's rows to others
  float* values = nullptr;  // of a vector
  std::int64_t first = 0, of = 0;
  std::function<std::int64_t(std::int64_t i)> place_of{};
  std::int64_t place(std::int64_t i) const { return place_of ? place_of(i) : (first + i) % of; }
  // Takes a row of W8 blocks as they are. Empty, or false: write_row takes it widened.
  std::function<bool(std::int64_t row, const char* blocks)> write_blocks{};
  HeldBlocks blocks = HeldBlocks::kNone;  // which blocks write_blocks takes
  bool filled = false;
  bool compared = false;     // it has a twin or is one
  std::uint64_t digest = 0;  // of its values, if compared
  bool differs = false;      // set by finish()
};

class WeightLoader {
 public:
  // canonical: maps a name in the file to the targets' spelling. ignored: canonical names, or prefixes ending in '*', of tensors
  // that may be present and are skipped.
  WeightLoader(std::vector<WeightTarget> targets, std::vector<std::string> ignored,
               std::function<std::string(std::string_view)> canonical);

  // Starts a file of file_bytes bytes; the file before it must be complete.
  Result<void> begin_file(std::string file, std::uint64_t file_bytes);
  // The next bytes of the file.
  Result<void> push(std::string_view bytes);
  // After the last file: every required target must have been filled.
  Result<void> finish();

  const std::vector<WeightTarget>& targets() const { return targets_; }
  // How a tensor, by its name in a file, is held; kNone if there is no target for it.
  HeldBlocks blocks_of(std::string_view name) const;
  // After finish(): 255 for each file, then a HeldBlocks for each of its tensors, in the file's order. Empty if W8 blocks were
  // widened, so that memory does not have the numbers of the file that they were made from.
  std::vector<std::uint8_t> held() const;
  // At the end.
  std::vector<std::string> take_ignored() { return std::move(ignored_); }

 private:
  // Both try to read a header from pending_. If it is incomplete, they set wanted_ to the size that pending_ must reach.
  Result<void> open_safetensors();
  Result<void> open_gguf();
  Result<void> begin_tensors(std::vector<TensorInfo> tensors, std::uint64_t header_bytes);
  Result<void> match_tensors();
  Result<void> check_complete() const;  // whether the whole file has arrived
  Result<void> take_row(const TensorInfo& tensor, WeightTarget& target, std::int64_t row, const char* bytes);

  std::vector<WeightTarget> targets_;
  std::vector<std::string> ignored_;
  std::function<std::string(std::string_view)> canonical_;
  std::unordered_map<std::string, std::size_t> target_by_name_;

  std::string file_;
  bool is_gguf_ = false;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t taken_ = 0;         // bytes of the file consumed so far
  std::uint64_t wanted_ = 0;        // size of pending_ at which to try the header again; 0 once it is read
  std::uint64_t header_bytes_ = 0;  // before the tensors; 0 until known
  std::vector<TensorInfo> tensors_;
  std::vector<int> tensor_targets_;  // [tensors] index into targets_, -1 for ignored
  std::vector<int> all_targets_;     // those of all files so far, each after kFileBegins
  bool widened_blocks_ = false;      // a target did not take W8 blocks as they are
  std::size_t tensor_ = 0;           // index of the tensor being read
  std::int64_t row_ = 0;             // of that tensor
  std::uint64_t gap_ = 0;            // bytes to skip before it (GGUF aligns its tensors)
  std::string pending_;              // the beginning of an incomplete header, prefix or row
  std::vector<float> values_;        // one row widened
};

// Whether name equals one of the patterns, or begins with one that ends in '*'.
bool matches_any(std::string_view name, const std::vector<std::string>& patterns);

}  // namespace wattn
