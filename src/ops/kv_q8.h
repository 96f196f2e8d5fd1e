// Keys and values of a cache in 8 bits (Q8Rows). A scale is the largest of its 32 numbers over 127. Numbers are rounded to the
// nearest, halves away from zero.
#pragma once

#include "core/part.h"
#include "ops/attention.h"

namespace wattn {

struct HeadTokens {
  const KvHead& head;
  std::int64_t begin = 0;
};

struct Q8Cache {
  // As store_kv() for one head.
  void (*store)(const AttentionShape& shape, std::int64_t kv_head, const KvRows& rows, std::int64_t position, const KvHead& to);
  // The first tokens of a head in 8 bits as floats. They may be more, up to whole panels of 8.
  void (*unpack)(const AttentionShape& shape, const KvHead& from, std::int64_t tokens, const KvHead& to);
  // As copy_tokens() of one head.
  void (*copy)(const AttentionShape& shape, const HeadTokens& from, const HeadTokens& to, std::int64_t tokens);
};
extern const Q8Cache kQ8Cache;

}  // namespace wattn
