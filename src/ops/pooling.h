// Sequence pooling: token vectors to one vector a sequence, with the modes and formulas of sentence-transformers'
// Pooling module (sentence_transformers/sentence_transformer/modules/pooling.py, 6.2.0).
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
  kMax,           // largest of each component
  kMean,          // sum / n
  kMeanSqrtLen,   // sum / sqrt(n)
  kWeightedMean,  // sum of (i + 1) x_i / sum of (i + 1), i from 0 at the sequence's own first token
  kLastToken,     // the last token
};

// By the name of sentence-transformers' pooling_mode ("mean", "mean_sqrt_len_tokens", ...) or transformers.js's
// ("first_token", "eos"); none for any other.
std::optional<PoolingMode> pooling_mode_from_name(std::string_view name);

// x: [tokens, hidden], one sequence, its first skip tokens (a prompt) left out; an empty rest pools to zeros.
// out: [modes.size() * hidden], modes side by side in the order given.
void pool(const Kernels& kernels, std::span<const PoolingMode> modes, const float* x, std::int64_t tokens, std::int64_t hidden,
          std::int64_t skip, float* out);

}  // namespace wattn
