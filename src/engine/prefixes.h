// Prefixes: the keys and values (and the products of short convolutions) of sequences that were read, kept for later sequences
// that begin with the same tokens. They form a tree of blocks of 32 tokens, so sequences share the blocks of their common
// beginning. A sequence that differs inside a block has its own blocks from there on. The kept bytes are limited; beyond the limit
// the least recently used blocks are dropped, ends of sequences first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "pass/run.h"

namespace wattn {

class Prefixes {
 public:
  static constexpr std::int64_t kBlockTokens = 32;

  // Bytes of a block, without recurrent states.
  static std::uint64_t block_bytes(const Plan& plan);
  // The recurrent states of a slot take the memory of so many blocks; 0: the model has none.
  static std::uint64_t state_blocks(const Plan& plan);
  // most_bytes: less than a block's keeps nothing.
  void set_limit(const Plan& plan, std::uint64_t most_bytes);

  // kind: what the numbers depend on beside the tokens, such as the adapter.

  // Copies the longest kept prefix of ids to a slot. Returns its number of tokens.
  std::int64_t restore(int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot);
  // Keeps a slot's tokens, which are ids, or as many of the first ones as fit; with recurrent states all or none.
  void keep(int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot);

  // Holds the kept prefix of ids, at most `most` tokens, until release(). Returns its number of tokens.
  std::int64_t hold(int number, int kind, std::span<const std::int32_t> ids);
  // Ends a hold, and drops what nothing else has used. Does nothing for a number without a hold.
  void release(int number);

  // Drops the prefixes of one kind, or all of them.
  void forget(int kind);
  void forget();

  std::int64_t sequences() const;  // ends of what is kept
  std::int64_t tokens() const;
  std::uint64_t bytes() const { return (blocks_.size() + states_) * block_bytes_; }
  std::uint64_t most_bytes() const { return most_blocks_ * block_bytes_; }

  // The same where a model has recurrent states, which cannot go back to an earlier token: a part (recurrent_prefixes.cpp). A block
  // may have those at its end, where keep() was called. A sequence continues only from such a block, which is never extended.
  struct Recurrent {
    std::int64_t (*restore)(Prefixes& of, int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot);
    void (*keep)(Prefixes& of, int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot);
    std::int64_t (*hold)(Prefixes& of, int number, int kind, std::span<const std::int32_t> ids);
    // After how many tokens of a prompt its states are kept, beside those of the end. rows_from: of GenerateRequest.
    std::int64_t (*keeps_at)(std::int64_t tokens, std::span<const std::int32_t> rows_from);
    // read: [slots] the tokens that the states of each have read, to which it adds those of a batch. States have read each token
    // before the next ones, and no others: otherwise an UnsupportedError.
    Result<void> (*note_read)(const Batch& batch, std::span<std::int32_t> read);
  };
  static const Recurrent kRecurrent;
  // What a chat template writes behind a prompt and leaves out of later ones is shorter.
  static constexpr std::int64_t kPromptEnd = 8;

 private:
  struct Block {
    int kind = 0;
    Block* parent = nullptr;        // null: the sequence begins here
    std::vector<std::int32_t> ids;  // [at most kBlockTokens]; only a block without children has fewer
    std::int64_t children = 0;
    std::int64_t holds = 0;
    std::uint64_t used = 0;  // when, as a count of calls
    Arena memory, states;
    KvCache cache;                   // of one slot
    std::uint64_t state_blocks = 0;  // that its recurrent states take; 0: it has none
  };
  struct Match {
    Block* block = nullptr;
    std::int64_t tokens = 0;  // that its ids have in common
  };
  struct Hold {
    int number = 0;
    Block* block = nullptr;
  };

  Match find(int kind, const Block* parent, std::span<const std::int32_t> ids) const;
  // Visits the blocks of the longest kept prefix of ids. Returns its number of tokens.
  template <class Visit>
  std::int64_t walk(int kind, std::span<const std::int32_t> ids, const Visit& visit);
  // A new block below parent, in new memory or in that of a block that is dropped for it; null if there is none.
  Block* add(int kind, Block* parent);
  std::unique_ptr<Block> take_out(Block* block);

  // These belong to kRecurrent.
  static std::int64_t restore_states(Prefixes& of, int kind, std::span<const std::int32_t> ids, const KvCache& cache,
                                     std::int64_t slot);
  static void keep_states(Prefixes& of, int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot);
  static std::int64_t hold_states(Prefixes& of, int number, int kind, std::span<const std::int32_t> ids);
  // The block below parent that ids begin with; with_states: of those that have states.
  Match find_whole(int kind, const Block* parent, std::span<const std::int32_t> ids, bool with_states) const;
  // The blocks of the longest beginning of ids whose states are kept.
  std::vector<Match> path_to_states(int kind, std::span<const std::int32_t> ids);
  bool add_states(Block& block);

  const Plan* plan_ = nullptr;
  std::uint64_t block_bytes_ = 0, most_blocks_ = 0;
  std::uint64_t state_blocks_ = 0, states_ = 0;  // of one slot's states, and of all that blocks have
  std::uint64_t clock_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Hold> holds_;
};

}  // namespace wattn
