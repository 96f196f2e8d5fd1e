// A forward pass over whole sequences (no cache) that records what the backward pass reads, and the backward pass. The tape has the
// input of every layer, and the values inside a layer where they are kept. The others are computed again from the layer's input, a
// layer at a time, with the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/op_gradient.h"
#include "plan/plan.h"

namespace wattn {

// Which weights get gradients. The others are left alone, and so is the work that only they need.
struct BackwardScope {
  std::int64_t first_layer = 0;      // no layer before it, and not the embeddings unless it is 0
  bool embeddings = true;            // tables, their norm and projection, and the tables of positions that all layers share
  bool embedding_biases = false;     // without embeddings: those of `biases` that belong to the embeddings
  bool layers = true;                // false: no weights of layers, besides the matrices of LoRA, these biases and `weights`
  const WordTable* words = nullptr;  // where the word embeddings' gradients go, if two stacks share them; null: as the others
  RowTable* word_rows = nullptr;     // where they go instead, if no head shares them; has the rows of the batch
  std::span<const BiasGradient> biases{};
  std::span<const WeightGradient> weights{};  // that get gradients whatever the others do, of any section but the head
  bool input = false;  // leaves the gradient of what the first layer reads in d_hidden; the embeddings have no gradients then
};

// What the cross attention of a decoder reads: an encoder's states, packed like a batch's sequences, one source for each.
struct CrossSources {
  const float* states = nullptr;              // [source tokens, hidden]
  std::span<const std::int32_t> seq_start{};  // [batch + 1]
  float* d_states = nullptr;                  // their gradient, added to by backward(); null: not wanted

  std::int64_t tokens() const { return seq_start.empty() ? 0 : seq_start.back(); }
  std::int64_t longest() const {
    std::int64_t most = 0;
    for (std::size_t i = 1; i < seq_start.size(); ++i) most = std::max<std::int64_t>(most, seq_start[i] - seq_start[i - 1]);
    return most;
  }
};
// Limits of batches, and of the sources of a decoder with cross attention.
struct TrainingLimits {
  std::int64_t tokens = 0, max_seq = 0;
  std::int64_t source_tokens = 0, longest_source = 0;
  int threads = 1;
};

struct TapeOptions {
  // How many of the last layers keep their values. Computing the others again costs two thirds of a forward pass.
  std::int64_t kept_layers = 0;
  // What is dropped follows from the seed and the step (ops/dropout.h). The bits are those of forward() when all rates are 0.
  DropoutRates dropout{};
  std::uint64_t seed = 0, step = 0;
  std::span<const LoraFactors> lora{};
  // The gradients that backward() will add to; a part of the tape may use their memory. A layer's values are kept in the memory of
  // the gradients of earlier layers, which are written later. backward() then sets the gradients of layers to zero first. null:
  // gradients may not be used in this way, for instance because they already hold something.
  const Plan* spare = nullptr;
  const float* input = nullptr;  // [tokens, hidden] that the first layer reads in place of the embeddings; null: the embeddings
};

// Plans are those of Transformer::training_plan().

// Floats of a tape for so many tokens, without the part that lies elsewhere.
std::int64_t tape_size(const Plan& plan, std::int64_t tokens, const TapeOptions& options = {});

// Bytes that training_forward() and backward() each take from their arena for batches within these limits.
std::uint64_t backward_bytes(const Plan& plan, const TrainingLimits& limits, const TapeOptions& options = {},
                             const BackwardScope& scope = {});

// forward() without slots, with the same bits unless something is dropped. tape: of tape_size() floats, written.
void training_forward(const Plan& plan, const Compute& compute, const Batch& batch, float* tape, float* hidden, Arena& arena,
                      const TapeOptions& options = {}, const CrossSources& sources = {});

// Adds the gradients of the weights to those of `gradients`, the plan of a model with the same configuration, in f32. Each of its
// weights is the gradient of the weight in the same place. null if the scope has no weights. Tables that are computed, such as
// rotary angles, are left as they are. Those of LoRA's matrices are added to options.lora. A bias by distance has the gradient of
// each distance (sum_t5_buckets() makes those of buckets).
// tape: written by training_forward() over the same batch with the same options; backward() may overwrite what it has read.
// d_hidden: [tokens, hidden], the gradient of its result, which is overwritten.
void backward(const Plan& plan, const Compute& compute, const Batch& batch, float* tape, float* d_hidden, Arena& arena,
              const Plan* gradients, const BackwardScope& scope = {}, const TapeOptions& options = {},
              const CrossSources& sources = {});

struct LmHeadGradient {
  const float* hidden = nullptr;  // [rows, hidden] as lm_head() left it
  std::int64_t rows = 0;
  float* d_logits = nullptr;               // [rows, vocab], overwritten if logits have a cap
  float* d_hidden = nullptr;               // [rows, hidden] written, of what lm_head() was given; null: not wanted
  const Plan* gradients = nullptr;         // as in backward(); null: not wanted
  const float* logits = nullptr;           // [rows, vocab] as lm_head() gave them; read if they have a cap
  std::span<const BiasGradient> biases{};  // where gradients is null, like the next ones
  std::span<const WeightGradient> weights{};
};
// The derivative of lm_head(); a head that is tied to the word embeddings adds to their gradient.
void lm_head_backward(const Plan& plan, const Compute& compute, const LmHeadGradient& gradient, Arena& arena);
std::uint64_t lm_head_backward_bytes(const Plan& plan, std::int64_t most_rows, int threads);

}  // namespace wattn
