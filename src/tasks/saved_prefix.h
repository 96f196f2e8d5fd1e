// Prefixes as bytes: what a model has computed of some tokens, to be stored and loaded by the same model elsewhere. The caller
// stores the tokens beside them. The bytes are a KvCache of one slot, as little-endian floats: keys and values in the kernels'
// layout, then the products of short convolutions, then recurrent states. That layout is the same in every build. What is behind
// the tokens is zeros.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/arena.h"
#include "engine/model.h"
#include "tasks/job.h"

namespace wattn {

// Needs a decoder with a language-model head. An InputError unless all of ids are kept (engine/prefixes.h).
Result<Arena> save_prefix(Model& model, std::span<const std::int32_t> ids);

// Keeps what save_prefix() gave for ids, if it is what this model would compute. It reads the first tokens again with all layers,
// which shows the layers' weights. It reads all tokens with the first layer, which shows their embeddings. A ModelFormatError if a
// bit differs, and nothing is kept. A Model supports one such job or one Generation at a time.
class LoadPrefixJob final : public Job {
 public:
  static Result<std::unique_ptr<LoadPrefixJob>> begin(Model& model, std::vector<std::int32_t> ids, Arena bytes);
  Result<bool> step() override;
  // After the last step: the tokens that are kept, fewer where there was no room.
  std::int64_t kept() const { return kept_; }
  const Prefixes& prefixes() const { return model_.slots().prefixes(); }

 private:
  LoadPrefixJob(Model& model, std::vector<std::int32_t> ids, Arena bytes)
      : model_(model), ids_(std::move(ids)), bytes_(std::move(bytes)) {}
  bool is_same() const;
  bool has_same_states() const;

  Model& model_;
  std::vector<std::int32_t> ids_;
  Arena bytes_;
  KvCache given_;  // in bytes_
  std::uint64_t turn_ = 0;
  std::int64_t read_ = 0, kept_ = 0;
};

}  // namespace wattn
