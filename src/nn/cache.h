// Keys and values that attention modules have seen so far, for decoding one token at a time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/arena.h"
#include "core/result.h"
#include "ops/attention.h"

namespace wattn::nn {

class Module;

struct KeyValueCache {
  // Of one module: example i of the batch in slot i.
  struct Entry {
    Arena arena;
    KvCache kv{};
    std::int64_t tokens = 0;  // of each example

    bool empty() const { return kv.slots == 0; }
    // Makes room for so many tokens of each example; batch and shape: of the first call.
    Result<void> reserve(const AttentionShape& shape, std::int64_t batch, std::int64_t length);
    // Example i continues from what example order[i] had.
    Result<void> reorder(const std::vector<std::int64_t>& order, std::int64_t length);
  };
  std::map<const Module*, Entry> entries;
  std::int64_t length = 0;  // tokens that went through the whole model
  Result<void> reorder(const std::vector<std::int64_t>& order);
};

}  // namespace wattn::nn
