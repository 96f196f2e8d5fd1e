// Changes to linear layers whose own weights stay as they are. LoRA (arXiv 2106.09685): y = activation(x W^T + bias + (x A^T)
// B^T), with W in any number format, A and B in f32, and the factor alpha / r in B. DoRA (arXiv 2402.09353): y_j = factor_j (x W^T
// + (x A^T) B^T)_j + bias_j, with factor_j = magnitude_j / |W_j + (B A)_j|.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/linear.h"

namespace wattn {

// A layer that replaces another, an addition to some of its outputs, or a vector.
struct LoraChange {
  LinearWeights layer;      // known by its weights
  LinearWeights instead;    // in is 0: none
  LinearWeights a;          // [rank, in]; out is 0: none
  LinearWeights b;          // [outputs, rank]
  float* factor = nullptr;  // [outputs] of DoRA, or null
  float* more = nullptr;    // [outputs] added to y, or null
  std::int64_t first = 0;   // of the outputs, or of the vector
  bool shared = false;      // the weights have another use, which stays as it is
  // The vector: own[i] belongs to values[(first + i) % of].
  float* values = nullptr;
  float* own = nullptr;  // [size]
  std::int64_t size = 0, of = 0;
};

// Additions to the rows of tables (lora_rows.cpp): row i of a table becomes factor (row_i + a_i B), or row_i + rows_i.
struct LoraTables {
  struct Rows {
    const void* table = nullptr;  // the Embedding's, or the weights of the head that is in its place
    std::int64_t hidden = 0, rank = 0;
    std::vector<float> a{};           // [rows, rank]
    std::vector<float> b{};           // [rank, hidden], with the factor alpha / r
    std::vector<float> factor{};      // [hidden] of DoRA, or empty
    std::vector<float> rows{};        // [ids.size() or all rows, hidden]; rank is 0
    std::vector<std::int32_t> ids{};  // of those rows, rising; empty: all

    std::uint64_t bytes() const { return (a.size() + b.size() + factor.size() + rows.size() + ids.size()) * sizeof(float); }
  };
  std::vector<Rows> rows{};
  // add_table_rows: a pointer, so that programs that never set it do not contain its code.
  void (*add)(const LoraTables& tables, const void* table, std::span<const std::int32_t> ids, float* out) = nullptr;
};
// out[i, :] becomes what the additions make of it, as row ids[i] of the table.
void add_table_rows(const LoraTables& tables, const void* table, std::span<const std::int32_t> ids, float* out);

// Receives the inputs of linear layers.
class InputWatch {
 public:
  virtual ~InputWatch() = default;
  // x: [tokens, layer.in], before the layer computes.
  virtual void on_inputs(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t tokens) = 0;
};

struct Lora {
  std::vector<LoraChange> changes{};
  std::shared_ptr<const LoraTables> tables{};  // or null
  const Lora* before = nullptr;                // whose changes hold too
  std::int64_t rank = 0;                       // the largest
  float* scratch = nullptr;                    // of lora_scratch() floats
  InputWatch* watch = nullptr;                 // or null

  // The layer that is used instead of this one, or itself.
  LinearWeights used_for(const LinearWeights& layer) const;
};

// add_table_rows() of all adapters, of an earlier one first. lora: or null.
void add_lora_rows(const Lora* lora, const void* table, std::span<const std::int32_t> ids, float* out);

// Trainable additions to a layer, already merged into its weights: W' = W + B A. With DoRA, W'_j = factor_j (W + B A)_j. B has the
// factors, which are constants of the derivative (arXiv 2402.09353, section 4.3).
struct LoraFactors {
  const void* weight = nullptr;  // the layer's
  LinearWeights a;               // [rank, in] of all additions, one after the other
  LinearWeights b;               // [out, rank] times alpha / r: each addition's rows and columns, zeros elsewhere
  LinearWeights d_a, d_b;        // the gradients of both, which a backward pass adds to
  float* d_outputs = nullptr;    // [out] with DoRA, or null: dy_j (W' x)_j of all tokens is added
};

// Floats of scratch for any number of tokens.
std::int64_t lora_scratch(std::int64_t rank);

// linear() with the changes of compute.lora.
void changed_linear(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t tokens, Activation activation,
                    const LinearScratch& scratch, float* y);

// The norms of rows: [b.out] of W_j + (B A)_j, with the rows of layer from change.first on.
std::vector<float> lora_row_norms(const LoraChange& change, const LinearWeights& layer);

// Merges the change into the layer's weights, which are rounded to their number format again.
void merge_lora(const LoraChange& change, const LinearWeights& layer);

}  // namespace wattn
