// A forward pass of a Transformer over whole sequences (no cache) that records what the backward pass reads,
// and the backward pass. The tape has the input of every layer, and the activations inside a layer where they are kept; the others
// are computed again from the layer's input, a layer at a time, with the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/json.h"
#include "core/row_table.h"
#include "models/transformer.h"
#include "ops/lora.h"

namespace wattn {

// A bias (of a matrix or a norm), and its gradient, which is added to.
struct BiasGradient {
  const float* bias = nullptr;
  float* gradient = nullptr;
};

// Which weights get gradients. The others are left alone, and so is the work that only they need.
struct BackwardScope {
  std::int64_t first_layer = 0;   // no layer before it, and not the embeddings unless it is 0
  bool embeddings = true;         // tables, their norm and projection, and the tables of positions that all layers share
  bool layers = true;             // false: no weights of layers, besides the matrices of LoRA and these biases
  Transformer* words = nullptr;   // where the word embeddings' gradients go, if two stacks share them; null: as the others
  RowTable* word_rows = nullptr;  // where they go instead, if no head shares them; has the rows of the batch
  std::span<const BiasGradient> biases{};
};

// What the cross attention of a decoder reads: an encoder's states, packed like a batch's sequences, one source for each.
struct CrossSources {
  const float* states = nullptr;              // [source tokens, hidden]
  std::span<const std::int32_t> seq_start{};  // [batch + 1]
  float* d_states = nullptr;                  // their gradient, added to by backward()

  std::int64_t tokens() const { return seq_start.empty() ? 0 : seq_start.back(); }
  std::int64_t longest() const {
    std::int64_t most = 0;
    for (std::size_t i = 1; i < seq_start.size(); ++i) most = std::max<std::int64_t>(most, seq_start[i] - seq_start[i - 1]);
    return most;
  }
};
// Limits of the sources of a decoder with cross attention.
struct SourceLimits {
  std::int64_t tokens = 0, max_seq = 0;
};

// Rates of dropout where transformers has it; 0: none.
struct DropoutRates {
  float embeddings = 0;     // their sum, after its norm
  float probabilities = 0;  // of attention
  float attention = 0;      // the output of attention, before the residual
  float activation = 0;     // what the last matrix of the feed-forward reads
  float feed_forward = 0;   // the output of the feed-forward, before the residual
  float output = 0;         // the last layer's output, after the final norm
  float head = 0;           // what the last matrix of a head reads (heads_backward.h)
  float lora = 0;           // what LoRA's A reads; A's of one layer drop the same
};
// As a model's config.json has them under the names of its architecture; 0 where it has none.
DropoutRates read_dropout_rates(JsonRef config);

struct TapeOptions {
  // The activations of so many of the last layers are kept. The others need two thirds of a forward pass more.
  std::int64_t kept_layers = 0;
  // What is dropped follows from the seed and the step (ops/dropout.h). The bits are those of forward() when all rates are 0.
  DropoutRates dropout{};
  std::uint64_t seed = 0, step = 0;
  std::span<const LoraFactors> lora{};
  // The gradients that backward() will add to, whose memory a part of the tape may take: what belongs to a layer lies where the
  // gradients of layers before it are, which come later. backward() then sets the gradients of layers to zero first. null: no
  // gradients may be used so, for instance because they have something.
  const Transformer* spare = nullptr;
};

// Floats of a tape for so many tokens, without the part that lies elsewhere.
std::int64_t tape_size(const TransformerConfig& config, std::int64_t tokens, const TapeOptions& options = {});

// Bytes that training_forward() and backward() each take from their arena for batches within these limits.
std::uint64_t backward_bytes(const Transformer& model, std::int64_t max_tokens, std::int64_t max_seq, int threads,
                             const SourceLimits& sources = {}, const TapeOptions& options = {});

// Transformer::forward() without slots, with the same bits unless something is dropped. tape: of tape_size() floats, written.
void training_forward(const Transformer& model, ThreadTeam& team, const Batch& batch, float* tape, float* hidden, Arena& arena,
                      const TapeOptions& options = {}, const CrossSources& sources = {});

// Adds the gradients of the weights to those of `gradients`: a Transformer of the same configuration, in f32, each of whose weights
// is the gradient of the model's weight in the same place; null if the scope has no weights. Tables that are computed, such as
// rotary angles, are left as they are. Those of LoRA's matrices are added to options.lora.
// tape: written by training_forward() over the same batch with the same options; backward() may overwrite what it has read.
// d_hidden: [tokens, hidden], the gradient of its result, which is overwritten.
void backward(const Transformer& model, ThreadTeam& team, const Batch& batch, float* tape, float* d_hidden, Arena& arena,
              Transformer* gradients, const BackwardScope& scope = {}, const TapeOptions& options = {},
              const CrossSources& sources = {});

struct LmHeadGradient {
  const float* hidden = nullptr;  // [rows, hidden] as Transformer::lm_head() left it
  std::int64_t rows = 0;
  float* d_logits = nullptr;         // [rows, vocab], overwritten if logits have a cap
  float* d_hidden = nullptr;         // [rows, hidden] written, of what lm_head() was given; null: not wanted
  Transformer* gradients = nullptr;  // as in backward(); null: not wanted
  const float* logits = nullptr;     // [rows, vocab] as lm_head() gave them; read if they have a cap
};
// The derivative of Transformer::lm_head(); a head that is tied to the word embeddings adds to their gradient.
void lm_head_backward(const Transformer& model, ThreadTeam& team, const LmHeadGradient& gradient, Arena& arena);
std::uint64_t lm_head_backward_bytes(const Transformer& model, std::int64_t most_rows, int threads);

}  // namespace wattn
