// Head: what a task puts on top of a model: an optional dense layer with activation and norm, then the output layer. Which tensors
// and which activation an architecture has is data, in its file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/fields.h"
#include "core/result.h"
#include "io/weight_loader.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"

namespace wattn {

enum class HeadKind : std::uint8_t {
  kNone,
  kSequence,   // logits [labels] of a text
  kToken,      // logits [labels] of each token
  kAnswer,     // logits {start, end} of each token
  kMaskedLm,   // logits [vocab] of a token
  kCausalLm,   // logits [vocab] of the next token: the transformer's own lm_head
  kSeq2SeqLm,  // the same of an encoder-decoder
};

// What of a text a sequence head reads.
enum class HeadInput : std::uint8_t {
  kFirst,  // its first token
  kMean,   // the mean of its tokens
  kEach,   // each of its tokens; the logits are averaged
  kLast,   // its last token
  kEos,    // the decoder's state at the last eos_token_id, the decoder having read the text shifted right (BART)
};

// One head of one architecture. Tensor names are without ".weight" and ".bias".
struct HeadLayers {
  const char* dense = nullptr;                // [hidden, hidden], before the output; null: none
  Activation activation = Activation::kNone;  // after dense
  const char* activation_key = nullptr;       // of config.json, in place of activation where it is present
  const char* dense_bias_key = nullptr;       // of config.json, in place of dense_bias where it is present
  const char* norm = nullptr;                 // LayerNorm after that; null: none
  const char* norm_bias_key = nullptr;        // the same of norm_bias
  const char* pooling_key = nullptr;  // of config.json, in place of input where it is present: "cls", "bos", "mean" or "late"
  const char* output = nullptr;       // null: the architecture has no such head here
  // The output is [vocab, hidden] times the word embeddings; output names its bias alone, in full.
  bool tied = false;
  bool tied_by_config = false;  // it is so where config.json says tie_word_embeddings; else output is a matrix of its own

  bool dense_bias = true;
  bool norm_bias = true;
  bool output_bias = true;
  HeadInput input = HeadInput::kFirst;  // of a sequence head
};

// The heads of one architecture.
struct Heads {
  HeadLayers sequence{}, token{}, answer{}, masked_lm{};
};

// What a head is made of.
struct HeadShape {
  std::int64_t hidden = 0;  // of the model's output
  std::int64_t width = 0;   // of the dense layer: hidden, or the word embeddings' width for a tied output
  std::int64_t labels = 0;  // logits a row
  float norm_eps = 0.0f;
  WeightType type = WeightType::kF32;  // of the output, at least 8 bits; all else is f32
};

class Head {
 public:
  // The layers that an architecture has for a kind (not the lm heads); an UnsupportedError when it has none, or when config.json's
  // `architectures` says that the checkpoint was made for something else.
  static Result<HeadLayers> find_layers(HeadKind kind, const Heads& heads, JsonRef config);
  // How many labels a sequence or token head has: id2label's, else num_labels, else two.
  static Result<std::int64_t> num_labels(JsonRef config);

  // Allocates the weights, zero-initialised; loading fills them through weight_slots().
  static Result<Head> with_layers(HeadKind kind, const HeadLayers& layers, const HeadShape& shape, const Kernels& kernels);

  // They write into this Head's memory, which stays where it is when the Head is moved.
  std::vector<WeightSlot> weight_slots() const;

  HeadKind kind() const { return kind_; }
  HeadInput input() const { return layers_.input; }
  std::int64_t labels() const { return shape_.labels; }
  std::uint64_t weight_bytes() const { return weights_.bytes(); }

  // rows: [count, hidden] of the model's output; logits: [count, labels]. words: the model's word embeddings, from which a tied
  // output is computed.
  Result<void> run(const Compute& compute, const Embedding& words, const float* rows, std::int64_t count, float* logits) const;

 private:
  void take_weights(Arena& arena, const Kernels& kernels);

  HeadKind kind_ = HeadKind::kNone;
  HeadLayers layers_;
  HeadShape shape_;
  Arena weights_;
  Linear dense_;
  LayerNorm norm_;
  Linear output_;
  float* bias_ = nullptr;  // [labels] of a tied output
};

}  // namespace wattn
