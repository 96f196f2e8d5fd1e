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
#include "pass/run.h"

namespace wattn {

class Prefixes {
 public:
  static constexpr std::int64_t kBlockTokens = 32;

  // Bytes of a block.
  static std::uint64_t block_bytes(const Plan& plan);
  // most_bytes: less than a block's keeps nothing.
  void set_limit(const Plan& plan, std::uint64_t most_bytes);

  // kind: what the numbers depend on beside the tokens, such as the adapter.

  // Copies the longest kept prefix of ids to a slot. Returns its number of tokens.
  std::int64_t restore(int kind, std::span<const std::int32_t> ids, const KvCache& cache, std::int64_t slot);
  // Keeps a slot's tokens, which are ids, or as many of the first ones as fit.
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
  std::uint64_t bytes() const { return blocks_.size() * block_bytes_; }
  std::uint64_t most_bytes() const { return most_blocks_ * block_bytes_; }

 private:
  struct Block {
    int kind = 0;
    Block* parent = nullptr;        // null: the sequence begins here
    std::vector<std::int32_t> ids;  // [at most kBlockTokens]; only a block without children has fewer
    std::int64_t children = 0;
    std::int64_t holds = 0;
    std::uint64_t used = 0;  // when, as a count of calls
    Arena memory;
    KvCache cache;  // of one slot
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

  const Plan* plan_ = nullptr;
  std::uint64_t block_bytes_ = 0, most_blocks_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Hold> holds_;
};

}  // namespace wattn
