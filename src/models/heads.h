// Head: the layers of a task on top of a model: optionally a dense layer with activation and norm, then the output layer. Each
// architecture's file describes its heads as data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/fields.h"
#include "core/result.h"
#include "io/weight_loader.h"
#include "ops/batch.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/op.h"

namespace wattn {

enum class HeadKind : std::uint8_t {
  kNone,
  kSequence,   // logits [labels] of a sequence
  kToken,      // logits [labels] of each token
  kAnswer,     // logits {start, end} of each token
  kMaskedLm,   // logits [vocab] of a token
  kCausalLm,   // logits [vocab] of the next token: the transformer's own lm_head
  kSeq2SeqLm,  // the same of an encoder-decoder
  kSpans,      // scores of spans of words (models/span_head.h)
  kLabels,     // logits of labels that a call names (models/label_head.h)
};

// What a sequence head reads.
enum class HeadInput : std::uint8_t {
  kFirst,  // the first token
  kMean,   // the mean of all tokens
  kEach,   // each token; the logits are averaged
  kLast,   // the last token
  kEos,    // the decoder's state at the last eos_token_id of the text, which it reads shifted right (BART)
};

// One head of one architecture. Tensor names omit ".weight" and ".bias".
struct HeadLayers {
  const char* dense = nullptr;                // [hidden, hidden], before the output; null: none
  Activation activation = Activation::kNone;  // after dense
  const char* activation_key = nullptr;       // config.json's key that overrides activation
  const char* dense_key = nullptr;            // config.json's key that, if false, leaves dense and activation out
  const char* dense_bias_key = nullptr;       // config.json's key that overrides dense_bias
  const char* norm = nullptr;                 // LayerNorm after the activation; null: none
  const char* norm_bias_key = nullptr;        // config.json's key that overrides norm_bias
  const char* pooling_key = nullptr;          // config.json's key that overrides input: "cls", "bos", "mean" or "late"
  const char* output = nullptr;               // null: the architecture has no such head
  bool tied = false;                          // the output's weight is the word embeddings; output is the full name of its bias
  const char* rest = nullptr;   // [hidden - embeddings, vocab]: what a tied output reads beside the embeddings' columns
  bool tied_by_config = false;  // tied only if config.json's tie_word_embeddings is true
  bool untied = false;          // tied, but for a config.json that says it is not

  GlobalTokens global_tokens = GlobalTokens::kNone;  // of the encoder below it

  bool dense_bias = true;
  bool norm_bias = true;
  bool output_bias = true;
  HeadInput input = HeadInput::kFirst;  // of a sequence head
};

struct Heads {
  HeadLayers sequence{}, token{}, answer{}, masked_lm{};
};

struct HeadShape {
  std::int64_t hidden = 0;  // of the model's output
  std::int64_t width = 0;   // of the dense layer: hidden, or the word embeddings' width for a tied output
  std::int64_t labels = 0;  // logits per row
  float norm_eps = 0.0f;
  WeightType type = WeightType::kF32;  // of the output, at least 8 bits; the rest is f32
};

// Which rows of a sequence's states a head reads.
struct HeadReading {
  HeadInput input = HeadInput::kEach;        // of a sequence head; kEach for other heads
  std::int32_t pad = -1;                     // kLast: the last token that is not this one, the first if all are
  std::optional<std::int32_t> only_id = {};  // kEach: only tokens with this id
};

// Calls f(token) for each token that is read, unless the mean of all is.
template <class F>
void for_each_head_token(const HeadReading& reading, std::span<const std::int32_t> ids, const F& f) {
  if (ids.empty()) return;
  switch (reading.input) {
    case HeadInput::kEach:
      for (std::size_t t = 0; t < ids.size(); ++t) {
        if (!reading.only_id || ids[t] == *reading.only_id) f(static_cast<std::int64_t>(t));
      }
      return;
    case HeadInput::kLast: {
      const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](std::int32_t id) { return id != reading.pad; });
      return f(last == ids.rend() ? 0 : ids.rend() - last - 1);
    }
    default:
      return f(std::int64_t{0});
  }
}

// Appends the rows that a head reads of each sequence, and their numbers. hidden: [tokens, width].
void head_rows(const Kernels& kernels, const HeadReading& reading, const Batch& batch, const float* hidden, std::int64_t width,
               std::vector<float>& rows, std::vector<std::int32_t>& counts);

// Replaces each sequence's rows of logits, from begin on, by their mean. counts: of rows, becoming 1 where there are any.
void average_logits(const Kernels& kernels, std::size_t begin, std::int64_t labels, std::span<std::int32_t> counts,
                    std::vector<float>& logits);

class Head {
 public:
  // An architecture's layers of a kind (not an lm head); an UnsupportedError when it has none, or, unless any_class, when
  // config.json's `architectures` names only other kinds.
  static Result<HeadLayers> find_layers(HeadKind kind, const Heads& heads, JsonRef config, bool any_class = false);
  // Labels of a sequence or token head: the size of id2label, else num_labels, else 2.
  static Result<std::int64_t> num_labels(JsonRef config);

  // Allocates the weights, zero-initialised; loading fills them through weight_targets().
  static Result<Head> with_layers(const HeadLayers& layers, const HeadShape& shape, const Kernels& kernels);

  // They write into this Head's memory, whose address survives moving the Head.
  // word_embeddings: their tensor's name without ".weight", for a tied output.
  std::vector<WeightTarget> weight_targets(const std::string& word_embeddings) const;

  HeadInput input() const { return layers_.input; }
  std::int64_t labels() const { return shape_.labels; }
  // What the output reads.
  std::int64_t width() const { return layers_.dense && !layers_.rest ? shape_.width : shape_.hidden; }
  const HeadLayers& layers() const { return layers_; }
  const HeadShape& shape() const { return shape_; }
  const LinearWeights& dense() const { return dense_; }
  const LayerNorm& norm() const { return norm_; }
  const LinearWeights& output() const { return output_; }  // empty if it is tied
  const LinearWeights& rest() const { return rest_; }
  float* bias() const { return bias_; }  // of an output over the vocabulary that may be tied
  // All weights of a head in f32, in the kernels' layout, with zeros between them.
  std::span<float> weights_f32() const {
    const auto bytes = weights_.taken();
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  std::uint64_t weight_bytes() const { return weights_.bytes() + own_weights_.bytes(); }

  // After loading, from those targets: a checkpoint whose output differs from the word embeddings, or that says so, keeps its own
  // (own_output.cpp). Programs without it tie every such output.
  Result<void> choose_output(std::span<const WeightTarget> targets);
  void keep_own_output(std::vector<WeightTarget>& targets) const;
  // run_output() of a tied output with a rest.
  Result<void> run_rest(const Compute& compute, const EmbeddingTable& words, const float* rows, std::int64_t count,
                        float* logits) const;

  // rows: [count, hidden] of the model's output; logits: [count, labels]. words: the model's word embeddings, for a tied output.
  Result<void> run(const Compute& compute, const EmbeddingTable& words, const float* rows, std::int64_t count, float* logits) const;
  // Its last matrix alone; rows: [count, width()].
  Result<void> run_output(const Compute& compute, const EmbeddingTable& words, const float* rows, std::int64_t count,
                          float* logits) const;

 private:
  struct OwnOutput;  // that a checkpoint has beside the word embeddings
  void take_weights(Arena& arena, const Kernels& kernels);

  HeadLayers layers_;
  HeadShape shape_;
  Arena weights_;
  LinearWeights dense_;
  LayerNorm norm_;
  LinearWeights output_, rest_;
  float* bias_ = nullptr;  // [labels] of a tied output
  const Kernels* kernels_ = nullptr;
  mutable std::shared_ptr<OwnOutput> own_;  // null unless loading
  Arena own_weights_;
  std::string own_name_;  // of its tensor, without ".weight"
};

// Outputs over the vocabulary that are not, or not only, the word embeddings (own_output.cpp).
struct OwnOutputs {
  void (Head::*keep)(std::vector<WeightTarget>& targets) const;
  Result<void> (Head::*choose)(std::span<const WeightTarget> targets);
  Result<void> (Head::*run_rest)(const Compute& compute, const EmbeddingTable& words, const float* rows, std::int64_t count,
                                 float* logits) const;
  // The derivative of both parts of such an output. output: as for one matrix, with the words' weight. gradients: as in
  // HeadGradient.
  void (*rest_backward)(const Compute& compute, const Head& head, const LinearGradient& output, const Head* gradients,
                        float* scratch);
};
extern const OwnOutputs kOwnOutputs;

}  // namespace wattn
