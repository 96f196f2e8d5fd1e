// Head: what a task puts on top of the encoder: an optional dense layer with activation and norm, then the output layer.
// Which tensors and which activation a family of architectures has is data, in head_families.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/json.h"
#include "core/result.h"
#include "io/weight_loader.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"

namespace wattn {

enum class HeadKind : std::uint8_t {
  kNone,
  kSequence,  // logits [labels] of a text, from its first token or the mean of all
  kToken,     // logits [labels] of each token
  kAnswer,    // logits {start, end} of each token
  kMaskedLm,  // logits [vocab] of a token
};

// One head of one family. Tensor names are without ".weight" and ".bias".
struct HeadLayers {
  const char* dense = nullptr;                // [hidden, hidden], before the output; null: none
  Activation activation = Activation::kNone;  // after dense
  const char* activation_key = nullptr;       // of config.json, in place of activation where it is there
  const char* dense_bias_key = nullptr;       // of config.json: whether dense has a bias, false where it is not there
  const char* norm = nullptr;                 // LayerNorm after that; null: none
  const char* norm_bias_key = nullptr;        // the same of norm
  const char* pooling_key = nullptr;          // of config.json: what of a text a sequence head sees, "cls" or "mean"
  const char* output = nullptr;               // null: this family has no such head here
  // The output is [vocab, hidden] times the word embeddings; output names its bias alone, in full.
  bool tied = false;

  bool dense_bias = true;
  bool norm_bias = true;
  bool mean = false;  // a sequence head sees the mean of all tokens, not the first
};

struct HeadFamily {
  const char* model_type;  // of config.json
  HeadLayers sequence, token, answer, masked_lm;
};

// What a head is made of.
struct HeadShape {
  std::int64_t hidden = 0;  // of the encoder's output
  std::int64_t width = 0;   // of the dense layer: hidden, or the word embeddings' width for a tied output
  std::int64_t labels = 0;  // logits a row
  float norm_eps = 0.0f;
};

class Head {
 public:
  // The layers that config.json's architecture has for a kind; an UnsupportedError when it has none, or when
  // `architectures` says that the checkpoint was made for something else.
  static Result<HeadLayers> find_layers(HeadKind kind, JsonRef config);
  // How many labels a sequence or token head has: id2label's, else num_labels, else two.
  static Result<std::int64_t> num_labels(JsonRef config);

  // Takes the memory: zeros until the slots are filled.
  static Result<Head> with_layers(HeadKind kind, const HeadLayers& layers, const HeadShape& shape, const Kernels& kernels);

  // They write into this Head's memory, which stays where it is when the Head is moved.
  std::vector<WeightSlot> weight_slots() const;

  HeadKind kind() const { return kind_; }
  // A sequence head's row is the mean of the text's tokens.
  bool of_mean() const { return layers_.mean; }
  std::int64_t labels() const { return shape_.labels; }
  std::uint64_t weight_bytes() const { return weights_.bytes(); }

  // rows: [count, hidden] of the encoder's output; logits: [count, labels]. words: the encoder's word embeddings, which a
  // tied output is computed from.
  void run(const Compute& compute, const Embedding& words, const float* rows, std::int64_t count, float* logits) const;

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

// The families there are, head_families.cpp; null for a model_type that is none of them.
const HeadFamily* find_head_family(std::string_view model_type);

}  // namespace wattn
