// build: -Oz
#include "ops/lora.h"

#include <algorithm>
#include <cmath>

namespace wattn {
namespace {

// Tokens and columns computed at a time; whole panels of columns.
constexpr std::int64_t kRows = 16, kColumns = 256;

// y [rows of out] = factor (y - bias) + bias + more.
void finish_outputs(const LoraChange& change, const float* bias, std::int64_t rows, std::int64_t outputs, std::int64_t out,
                    float* y) {
  for (std::int64_t i = 0; i < rows; ++i, y += out) {
    for (std::int64_t j = 0; j < outputs; ++j) {
      const float own = bias ? bias[change.first + j] : 0.0f;
      if (change.factor) y[j] = change.factor[j] * (y[j] - own) + own;
      if (change.more) y[j] += change.more[j];
    }
  }
}

// Adds (x A^T) B^T to y [tokens, used.out], and finishes its outputs. scratch: of lora_scratch(change.a.out) floats.
void add_lora(const Compute& compute, const LoraChange& change, const LinearWeights& used, const float* x, std::int64_t tokens,
              float* scratch, float* y) {
  const std::int64_t in = change.a.in, rank = change.a.out, out = used.out;
  const float* bias = used.bias;
  const std::int64_t outputs = std::min(change.b.out, out - change.first);  // a layer may be used in part
  const auto multiply = [&](const float* a, std::int64_t k, const LinearWeights& b, std::int64_t col, std::int64_t rows,
                            std::int64_t n, float* c) {
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
      if (change.factor || change.more) finish_outputs(change, bias, rows, outputs, out, y + row * out + change.first);
    }
  });
}

// Row j of W + B A.
void changed_row(const LoraChange& change, const std::vector<float>& a, const LinearWeights& layer, std::int64_t j,
                 std::vector<float>& b, float* row) {
  get_weight_row(change.b, j, b.data());
  get_weight_row(layer, change.first + j, row);
  for (std::int64_t k = 0; k < change.a.out; ++k) exact_kernels().axpy(b[k], a.data() + k * change.a.in, row, change.a.in);
}

std::vector<float> rows_of(const LinearWeights& linear) {
  std::vector<float> out(static_cast<std::size_t>(linear.out * linear.in));
  for (std::int64_t k = 0; k < linear.out; ++k) get_weight_row(linear, k, out.data() + k * linear.in);
  return out;
}

}  // namespace

LinearWeights Lora::used_for(const LinearWeights& layer) const {
  for (const Lora* lora = this; lora; lora = lora->before) {
    for (const LoraChange& change : lora->changes) {
      if (change.layer.weight == layer.weight && change.instead.in > 0) return change.instead;
    }
  }
  return layer;
}

void add_lora_rows(const Lora* lora, const void* table, std::span<const std::int32_t> ids, float* out) {
  if (!lora) return;
  add_lora_rows(lora->before, table, ids, out);
  if (lora->tables) lora->tables->add(*lora->tables, table, ids, out);
}

std::int64_t lora_scratch(std::int64_t rank) { return ThreadTeam::kMostThreads * kRows * (rank + kColumns); }

void changed_linear(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t tokens, Activation activation,
                    const LinearScratch& scratch, float* y) {
  const LinearWeights used = compute.lora->used_for(layer);
  const Compute plain{compute.kernels, compute.team};
  if (compute.lora->watch) compute.lora->watch->on_inputs(plain, layer, x, tokens);
  linear(plain, used, x, tokens, Activation::kNone, scratch, y);
  for (const Lora* lora = compute.lora; lora; lora = lora->before) {
    for (const LoraChange& change : lora->changes) {
      if (change.layer.weight == layer.weight && change.a.out > 0) add_lora(plain, change, used, x, tokens, lora->scratch, y);
    }
  }
  if (activation == Activation::kNone) return;
  for_parts(plain, tokens, 1, kRows, [&](std::int64_t begin, std::int64_t end) {
    compute.kernels.activate(activation, y + begin * used.out, y + begin * used.out, (end - begin) * used.out);
  });
}

std::vector<float> lora_row_norms(const LoraChange& change, const LinearWeights& layer) {
  const std::vector<float> a = rows_of(change.a);
  std::vector<float> b(static_cast<std::size_t>(change.a.out)), row(static_cast<std::size_t>(change.a.in)), out;
  for (std::int64_t j = 0; j < change.b.out; ++j) {
    changed_row(change, a, layer, j, b, row.data());
    out.push_back(std::sqrt(exact_kernels().dot(row.data(), row.data(), change.a.in)));
  }
  return out;
}

void merge_lora(const LoraChange& change, const LinearWeights& layer) {
  const std::vector<float> a = rows_of(change.a);
  std::vector<float> b(static_cast<std::size_t>(change.a.out)), row(static_cast<std::size_t>(change.a.in));
  for (std::int64_t j = 0; j < change.b.out; ++j) {
    changed_row(change, a, layer, j, b, row.data());
    for (float& weight : row) weight *= change.factor ? change.factor[j] : 1.0f;
    set_weight_row(layer, change.first + j, row.data());
    if (change.more) layer.bias[change.first + j] += change.more[j];
  }
}

}  // namespace wattn
