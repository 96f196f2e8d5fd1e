// LabelHead: GLiClass's layers on top of an encoder, which score labels that a call names; arXiv 2508.07662 and the package
// gliclass (gliclass/model.py, 0.1.21), architecture_type "uni-encoder". The encoder reads "<<LABEL>>one<<LABEL>>two<<SEP>>text",
// or the text first: a label's row is pooled from its tokens, the text's row from all tokens or from those of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/json.h"
#include "core/result.h"
#include "io/weight_loader.h"
#include "ops/lstm.h"

namespace wattn {

// From config.json, whose model_type is "GLiClass".
struct LabelConfig {
  enum class Scorer : std::uint8_t {
    kDot,          // "simple"
    kWeightedDot,  // "weighted-dot"
    kMlp,          // "mlp"
  };
  enum class Pooling : std::uint8_t { kFirst, kLast, kMean, kSum, kMax, kRms, kAbsMean, kAbsMax };

  std::int64_t hidden = 0;                         // of the projections' inner layer; 0: the encoder's
  std::int64_t vocab = 0;                          // rows of the encoder's table; 0: as many as the encoder says
  std::int32_t class_token = -1, text_token = -1;  // the ids of <<LABEL>> and <<SEP>>; -1: the first ids after the vocabulary
  bool prompt_first = false;                       // labels come before the text
  bool average_labels = false;                     // a label's row is the mean of its tokens; else that of its first one
  bool embed_class_token = true;                   // <<LABEL>> is one of its tokens
  bool from_text_token = false;                    // the text's row is pooled from <<SEP>> to the end; else from all tokens
  bool has_lstm = false;                           // over the rows before they are pooled
  bool normalize = false;                          // both rows; the scores are scaled
  Pooling pooling = Pooling::kFirst;
  Scorer scorer = Scorer::kDot;
  Activation activation = Activation::kGelu;  // of the projections
};
Result<LabelConfig> read_label_config(JsonRef config);

class LabelHead {
 public:
  // Most tokens of a text with its labels, unless a call says otherwise: what the package's pipeline reads.
  static constexpr std::int64_t kUsualLength = 1024;

  explicit LabelHead(LabelConfig config) : config_(config) {}
  // Allocates the weights, zero-initialised; loading fills them through weight_targets(). in: the encoder's hidden_size; vocab:
  // rows of its table.
  Result<void> allocate(std::int64_t in, std::int64_t vocab, const Kernels& kernels);
  const LabelConfig& config() const { return config_; }
  // They write into this LabelHead, which must stay where it is.
  std::vector<WeightTarget> weight_targets() const;
  std::uint64_t weight_bytes() const { return weights_.bytes(); }
  std::int64_t in() const { return in_; }

  // Appends a logit for each of the labels to logits. ids: of one sequence; hidden: its states, [ids, in]. False, and nothing is
  // appended, if they name fewer labels, because a text that is too long was cut there.
  bool run(const Compute& compute, std::span<const std::int32_t> ids, const float* hidden, std::int64_t num_labels,
           std::vector<float>& logits) const;

 private:
  // Linear, activation, Linear.
  struct Mlp {
    LinearWeights up, down;
  };
  void take_weights(Arena& arena, const Kernels& kernels);
  std::vector<float> project(const Compute& compute, const Mlp& mlp, const std::vector<float>& rows) const;
  std::vector<float> label_rows(std::span<const std::int32_t> ids, const float* hidden, std::int64_t num_labels) const;
  std::vector<float> text_row(const Compute& compute, std::span<const std::int32_t> ids, const float* hidden) const;
  std::vector<float> score(const Compute& compute, const std::vector<float>& text, const std::vector<float>& labels) const;

  LabelConfig config_;
  std::int64_t in_ = 0;
  Arena weights_;
  Mlp text_, labels_;
  Lstm forward_, backward_;
  LinearWeights of_text_, of_label_;   // [2 * in, in] of kWeightedDot
  std::vector<LinearWeights> layers_;  // of the scorer, with ReLU between them
  float* logit_scale_ = nullptr;
};

}  // namespace wattn
