// Keys and values of attention modules from earlier calls, for decoding one token at a time.
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
  // The cache of one module; example i of the batch has slot i.
  struct Entry {
    Arena arena;
    KvCache kv{};
    std::int64_t tokens = 0;  // of each example

    bool empty() const { return kv.slots == 0; }
    // Makes room for length tokens of each example. shape is used by the first call.
    Result<void> reserve(const AttentionShape& shape, std::int64_t batch, std::int64_t length);
    // Example i continues from the former example order[i].
    Result<void> reorder(const std::vector<std::int64_t>& order, std::int64_t length);
  };
  std::map<const Module*, Entry> entries;
  std::int64_t length = 0;  // tokens read by the whole model
  Result<void> reorder(const std::vector<std::int64_t>& order);
};

}  // namespace wattn::nn
