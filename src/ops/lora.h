// Changes of linear layers, which stay as they are. LoRA (arXiv 2106.09685): y = activation(x W^T + bias + (x A^T) B^T), with W in
// any number format, A and B in f32, and the factor alpha / r in B.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/linear.h"

namespace wattn {

// A layer in the place of another, an addition to some of its outputs, or a vector.
struct LoraChange {
  Linear layer;            // known by its weights
  Linear instead;          // in is 0: none
  Linear a;                // [rank, in]; out is 0: none
  Linear b;                // [outputs, rank]
  std::int64_t first = 0;  // of the outputs, or of the vector
  bool shared = false;     // the weights have another use, which stays as it is
  // The vector: own[i] belongs to values[(first + i) % of].
  float* values = nullptr;
  float* own = nullptr;  // [size]
  std::int64_t size = 0, of = 0;
};

// Additions to the rows of tables (lora_rows.cpp): row i of a table has a_i B more.
struct LoraTables {
  struct Rows {
    const void* table = nullptr;  // the Embedding's
    std::int64_t hidden = 0, rank = 0;
    std::vector<float> a;  // [rows, rank]
    std::vector<float> b;  // [rank, hidden], with the factor alpha / r
  };
  std::vector<Rows> rows{};
  std::uint64_t bytes = 0;
  // add_table_rows: a program that makes no tables does not have its code.
  void (*add)(const LoraTables& tables, const void* table, std::span<const std::int32_t> ids, float* out) = nullptr;
};
// out[i, :] += the additions to row ids[i] of the table.
void add_table_rows(const LoraTables& tables, const void* table, std::span<const std::int32_t> ids, float* out);

struct Lora {
  std::vector<LoraChange> changes{};
  std::shared_ptr<const LoraTables> tables{};  // or null
  const Lora* before = nullptr;                // whose changes hold too
  std::int64_t rank = 0;                       // the largest
  float* scratch = nullptr;                    // of lora_scratch() floats

  // The layer that is used instead of this one, or itself.
  Linear used_for(const Linear& layer) const;
};

// Additions to a layer that are learned, and are in its weights already: W' = W + B A.
struct LoraFactors {
  const void* weight = nullptr;  // the layer's
  Linear a;                      // [rank, in] of all additions, one after the other
  Linear b;                      // [out, rank] times alpha / r: each addition's rows and columns, zeros elsewhere
  Linear d_a, d_b;               // the gradients of both, which a backward pass adds to
};

// Floats of scratch for any number of tokens.
std::int64_t lora_scratch(std::int64_t rank);

// linear() with the changes of compute.lora.
void changed_linear(const Compute& compute, const Linear& layer, const float* x, std::int64_t tokens, Activation activation,
                    const LinearScratch& scratch, float* y);

// Adds B A to the layer's weights, which are rounded to their number format again.
void merge_lora(const LoraChange& change, const Linear& layer);

}  // namespace wattn
