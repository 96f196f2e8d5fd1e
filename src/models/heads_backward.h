// The backward pass of a Head. It reads the rows that the head read and computes its inner activations again, which costs little
// beside the model below it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/heads.h"
#include "ops/batch.h"
#include "ops/dropout.h"

namespace wattn {

// Initialises a head's weights as transformers does: matrices normal with a deviation of 0.02, norms 1, biases 0. A seed gives the
// same numbers everywhere. A tied output, which belongs to the model, is left alone.
void init_head(const Head& head, std::uint64_t seed);

// Where a head applies dropout: to the rows and, after a dense layer, to the input of its output layer.
struct HeadDropout {
  Dropout rows{}, output{};
};
// The places where transformers applies it, with this rate. Heads over the vocabulary have none.
HeadDropout head_dropout(const Head& head, float rate, std::uint64_t seed, std::uint64_t step);

// Head::run() in training, with the same bits if nothing is dropped.
Result<void> training_run(const Compute& compute, const Head& head, const EmbeddingTable& words, const float* rows,
                          std::int64_t count, const HeadDropout& dropout, float* logits);

struct HeadGradient {
  const float* rows = nullptr;  // [count, hidden], what run() read
  std::int64_t count = 0;
  const float* d_logits = nullptr;  // [count, labels]
  float* d_rows = nullptr;          // [count, hidden] written; null: not wanted, like the next two
  const Head* gradients = nullptr;  // a head with the same layers in f32, each of whose weights is added to
  HeadDropout dropout{};            // as in training_run()
  float* d_words = nullptr;         // [labels, width] of a tied output: the gradient of the word embeddings, added to
};

// A dense layer of a head, or sentence-transformers' Dense module: activation(x W^T + b).
struct DenseGradient {
  const LinearWeights& layer;
  Activation activation = Activation::kNone;
  const float* x = nullptr;  // [count, in]
  std::int64_t count = 0;
  const float* dy = nullptr;               // [count, out]
  float* dx = nullptr;                     // [count, in] written; null: not wanted, like the next one
  const LinearWeights* d_layer = nullptr;  // in f32, added to
};
// The bytes of its arena are those of dense_backward_bytes().
void dense_backward(const Compute& compute, const DenseGradient& gradient, Arena& arena);
std::uint64_t dense_backward_bytes(const LinearWeights& layer, std::int64_t most_rows, int threads);

// Bytes that head_backward() takes from its arena for so many rows. words: as in run().
std::uint64_t head_backward_bytes(const Head& head, const EmbeddingTable& words, std::int64_t most_rows, int threads);

// The derivative of Head::run(), or of training_run().
void head_backward(const Compute& compute, const Head& head, const EmbeddingTable& words, const HeadGradient& gradient,
                   Arena& arena);

// Adds to d_hidden, [tokens, hidden], the gradients of the rows that head_rows() read. Returns their number.
std::int64_t head_rows_backward(const Kernels& kernels, const HeadReading& reading, const Batch& batch, const float* d_rows,
                                std::int64_t width, float* d_hidden);

// Gradients of the logits in each sequence's rows, from those of their mean. counts: rows of each sequence; d_mean: [sequences that
// have rows, labels]; d_logits: [rows, labels], written.
void average_logits_backward(const Kernels& kernels, std::span<const std::int32_t> counts, std::int64_t labels, const float* d_mean,
                             float* d_logits);

}  // namespace wattn
