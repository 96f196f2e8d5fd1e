// Pooling: one vector per sequence from its token vectors, with the modes and formulas of sentence-transformers' Pooling module
// (sentence_transformers/sentence_transformer/modules/pooling.py, 6.2.0).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"

namespace wattn {

enum class PoolingMode : std::uint8_t {
  kCls,           // the first token
  kMax,           // maximum of each component
  kMean,          // sum / n
  kMeanSqrtLen,   // sum / sqrt(n)
  kWeightedMean,  // sum of (i + 1) x_i / sum of (i + 1), where i counts from the sequence's first token
  kLastToken,     // the last token
};

// From sentence-transformers' names ("mean", "mean_sqrt_len_tokens", ...) and transformers.js's ("first_token", "eos").
std::optional<PoolingMode> pooling_mode_from_name(std::string_view name);

// x: [tokens, hidden], one sequence, of which the first skip tokens (a prompt) are left out; no tokens pool to zeros.
// out: [modes.size() * hidden], the modes side by side.
void pool(const Kernels& kernels, std::span<const PoolingMode> modes, const float* x, std::int64_t tokens, std::int64_t hidden,
          std::int64_t skip, float* out);

// The same in parts, in rising order: rows [begin, begin + count) of a sequence of tokens rows, of which the first skip are left
// out. out holds sums until the last part has come.
struct PooledRows {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t skip = 0;
  std::int64_t tokens = 0;
};
void pool_part(const Kernels& kernels, std::span<const PoolingMode> modes, const float* x, const PooledRows& rows,
               std::int64_t hidden, float* out);

// dx: [tokens, hidden], added to; dy: [modes.size() * hidden]. The maximum's gradient goes to the first token that has it, as in
// torch.
void pool_backward(const Kernels& kernels, std::span<const PoolingMode> modes, const float* x, std::int64_t tokens,
                   std::int64_t hidden, std::int64_t skip, const float* dy, float* dx);

}  // namespace wattn
