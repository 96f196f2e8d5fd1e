#include "ops/lora.h"

#include <algorithm>

namespace wattn {
namespace {

// Tokens and columns computed at a time; whole panels of columns.
constexpr std::int64_t kRows = 16, kColumns = 256;

// Adds (x A^T) B^T to y [tokens, out]. scratch: of lora_scratch(change.a.out) floats.
void add_lora(const Compute& compute, const LoraChange& change, const float* x, std::int64_t tokens, std::int64_t out,
              float* scratch, float* y) {
  const std::int64_t in = change.a.in, rank = change.a.out;
  const std::int64_t outputs = std::min(change.b.out, out - change.first);  // a layer may be used in part
  const auto multiply = [&](const float* a, std::int64_t k, const Linear& b, std::int64_t col, std::int64_t rows, std::int64_t n,
                            float* c) {
    compute.kernels.gemm_f32({.a = a,
                              .a_stride = k,
                              .b = static_cast<const float*>(b.weight) + col * k,
                              .c = c,
                              .c_stride = n,
                              .m = rows,
                              .n = n,
                              .k = k});
  };
  for_parts(compute, tokens, 1, kRows, [&](std::int64_t begin, std::int64_t end, int thread) {
    float* inner = scratch + thread * kRows * (rank + kColumns);  // [rows, rank]
    float* added = inner + kRows * rank;                          // [rows, columns]
    for (std::int64_t row = begin; row < end; row += kRows) {
      const std::int64_t rows = std::min(kRows, end - row);
      multiply(x + row * in, in, change.a, 0, rows, rank, inner);
      for (std::int64_t col = 0; col < outputs; col += kColumns) {
        const std::int64_t columns = std::min(kColumns, outputs - col);
        multiply(inner, rank, change.b, col, rows, columns, added);
        for (std::int64_t i = 0; i < rows; ++i) {
          compute.kernels.axpy(1.0f, added + i * columns, y + (row + i) * out + change.first + col, columns);
        }
      }
    }
  });
}

}  // namespace

Linear Lora::used_for(const Linear& layer) const {
  for (const Lora* lora = this; lora; lora = lora->before) {
    for (const LoraChange& change : lora->changes) {
      if (change.layer.weight == layer.weight && change.instead.in > 0) return change.instead;
    }
  }
  return layer;
}

std::int64_t lora_scratch(std::int64_t rank) { return ThreadTeam::kMostThreads * kRows * (rank + kColumns); }

void changed_linear(const Compute& compute, const Linear& layer, const float* x, std::int64_t tokens, Activation activation,
                    const LinearScratch& scratch, float* y) {
  const Linear used = compute.lora->used_for(layer);
  const Compute plain{compute.kernels, compute.team};
  linear(plain, used, x, tokens, Activation::kNone, scratch, y);
  for (const Lora* lora = compute.lora; lora; lora = lora->before) {
    for (const LoraChange& change : lora->changes) {
      if (change.layer.weight == layer.weight && change.a.out > 0) add_lora(plain, change, x, tokens, used.out, lora->scratch, y);
    }
  }
  if (activation == Activation::kNone) return;
  for_parts(plain, tokens, 1, kRows, [&](std::int64_t begin, std::int64_t end) {
    compute.kernels.activate(activation, y + begin * used.out, y + begin * used.out, (end - begin) * used.out);
  });
}

void merge_lora(const LoraChange& change, const Linear& layer) {
  const std::int64_t in = change.a.in, rank = change.a.out;
  std::vector<float> a(static_cast<std::size_t>(rank * in)), b(static_cast<std::size_t>(rank)), row(static_cast<std::size_t>(in));
  for (std::int64_t k = 0; k < rank; ++k) get_weight_row(change.a, k, a.data() + k * in);
  for (std::int64_t j = 0; j < change.b.out; ++j) {
    get_weight_row(change.b, j, b.data());
    get_weight_row(layer, change.first + j, row.data());
    for (std::int64_t k = 0; k < rank; ++k) exact_kernels().axpy(b[k], a.data() + k * in, row.data(), in);
    set_weight_row(layer, change.first + j, row.data());
  }
}

}  // namespace wattn
