// SpanHead: GLiNER's layers on top of an encoder, which score spans of words against labels; arXiv 2311.08526 and the package
// gliner (gliner/modeling, 0.2.29). The encoder reads "<<ENT>> label <<ENT>> label <<SEP>> word word ..": a label's row is that of
// its <<ENT>>, a word's row is pooled from its tokens. In a bi-encoder the text stands alone, and another encoder reads each label
// (engine/labels_encoder.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/json.h"
#include "core/result.h"
#include "io/weight_loader.h"
#include "models/schema_labels.h"
#include "ops/lstm.h"
#include "ops/pooling.h"

namespace wattn {

// From gliner_config.json, or from config.json of GLiNER2.
struct SpanConfig {
  std::int64_t hidden = 0;      // of the head; a projection leads to it if the encoder's is another
  std::int64_t max_width = 0;   // words of a span, unless by_token
  std::int64_t max_words = 0;   // that the encoder reads at once (max_len)
  std::int64_t rnn_layers = 0;  // of a bidirectional LSTM over the words
  bool by_token = false;        // span_mode token_level: scores where entities begin, end and go on; else of each span (markerV0)
  bool embed_ent_token = true;  // a label's row is its <<ENT>>; else the token after it
  PoolingMode pooling = PoolingMode::kCls;  // of a word's tokens
  std::int32_t class_token = 0;             // the id of <<ENT>>
  std::int64_t vocab = 0;                   // rows of the encoder's table; -1, or a class_token of -1: ent_token and sep_token are
                                            // added to the tokenizer when the model is loaded, and a row for each
  std::string ent_token, sep_token;
  bool bi_encoder = false;     // labels have an encoder of their own, and those tokens are unused
  std::int64_t labels_in = 0;  // of a bi-encoder: hidden_size of that encoder; a projection leads from there
  // GLiNER2's: labels stand in a schema, "( [P] entities ( [E] label [E] label ) ) [SEP_TEXT] word word ..", without the
  // tokenizer's special tokens. Words are lower-case, addresses are words, and a text ends with a full stop. The parts of a schema
  // have "[SEP_STRUCT]" between them. For fields of a structure, the ends of a relation and classes, "[C]", "[R]" and "[L]" take
  // the place of "[E]". The name of the structure, relation or task takes that of "entities".
  CountingLayer counting = CountingLayer::kNone;
  bool is_schema() const { return counting != CountingLayer::kNone; }
};
bool has_schema(JsonRef config);  // whether it is GLiNER2's
Result<SpanConfig> read_span_config(JsonRef config);

// Words first to last of the words that were read.
struct ScoredSpan {
  std::int32_t first = 0, last = 0;
  std::int32_t label = 0;
  float score = 0;  // from 0 to 1
};

class SpanHead {
 public:
  // Allocates the weights, zero-initialised; loading fills them through weight_targets(). in: the encoder's hidden_size.
  static Result<std::unique_ptr<SpanHead>> with_config(SpanConfig config, std::int64_t in, const Kernels& kernels);
  // They write into this SpanHead, which must stay where it is.
  std::vector<WeightTarget> weight_targets() const;
  const SpanConfig& config() const { return config_; }
  std::int64_t in() const { return in_; }
  std::uint64_t weight_bytes() const { return weights_.bytes(); }

  // The encoder's states, [tokens, in], as what words and labels are pooled from: [tokens, hidden].
  std::vector<float> project(const Compute& compute, const float* states, std::int64_t tokens) const;

  // Vectors of a bi-encoder's labels, [labels, labels_in], as what label_rows() reads: [labels, hidden].
  std::vector<float> project_labels(const Compute& compute, const float* vectors, std::int64_t labels) const;
  // What find() reads of labels, [labels, hidden] or with a schema those of instances(): [labels, label_width()]. It does not
  // depend on the words.
  std::vector<float> label_rows(const Compute& compute, const float* labels, std::int64_t count) const;
  std::int64_t label_width() const { return config_.by_token ? 5 * config_.hidden : 4 * config_.hidden + 1; }

  struct Request {
    const float* words;       // [num_words, hidden]
    std::int64_t num_words;   // at least 1
    const float* labels;      // [num_labels, label_width()]
    std::int64_t num_labels;  // at least 1
    std::int64_t alone;       // so many words at the beginning are a span each, and no others begin there; at most begin
    std::int64_t begin, end;  // only spans that begin at these words
    float threshold;
    std::size_t most;  // spans
    std::string what;  // the text, for messages
  };
  // With a schema: the rows that stand for the labels of a part in each of its instances, [instances, count, hidden]. Empty if the
  // model expects no instance by the row of "[P]", parent [hidden]. labels: [count, hidden].
  Result<std::vector<float>> instances(const Compute& compute, const float* parent, const float* labels, std::int64_t count,
                                       std::int64_t most) const;
  // With a schema: a logit for each class by its row, [count, hidden].
  std::vector<float> classify(const Compute& compute, const float* rows, std::int64_t count) const;

  // Appends the spans whose score is above the threshold, by their first word, then as the package orders them. A ModelFormatError
  // if a score is not finite, an InputError if spans has more than `most`.
  Result<void> find(const Compute& compute, const Request& request, std::vector<ScoredSpan>& spans) const;

 private:
  // Linear, ReLU, Linear.
  struct Mlp {
    LinearWeights up, down;
  };
  void take_weights(Arena& arena, const Kernels& kernels);
  std::vector<float> run_mlp(const Compute& compute, const Mlp& mlp, const float* rows, std::int64_t count, Activation last) const;
  std::vector<float> run_rnn(const Compute& compute, const float* words, std::int64_t count) const;
  Result<void> find_by_span(const Compute& compute, const Request& request, const std::vector<float>& words,
                            std::vector<ScoredSpan>& spans) const;
  Result<void> find_by_token(const Compute& compute, const Request& request, const std::vector<float>& words,
                             std::vector<ScoredSpan>& spans) const;

  SpanConfig config_;
  std::int64_t in_ = 0;
  Arena weights_;
  LinearWeights projection_;         // [hidden, in], if they differ
  LinearWeights labels_projection_;  // [hidden, labels_in], the same of a bi-encoder's labels
  std::vector<Lstm> rnn_;            // [2 * rnn_layers] forward and backward of each layer
  // markerV0. The first layer over a span reads relu(start) and relu(end) side by side. So it is the sum of a layer over each word
  // as a start and one as an end. The last layer and the product with a label are linear, so they become one row of weights per
  // label.
  Mlp prompt_, start_, end_;
  SchemaLabels schema_;         // of a schema, in place of prompt_
  Mlp classes_;                 // of a schema: [2 * hidden, hidden], [1, 2 * hidden]
  LinearWeights from_start_;    // [4 * hidden, hidden], with the bias
  LinearWeights from_end_;      // the same without a bias
  LinearWeights onto_labels_;   // [4 * hidden, hidden], the last layer's transposed matrix
  float* last_bias_ = nullptr;  // [hidden]
  // token_level, the same way: a layer over [token, label, token * label].
  LinearWeights token_, label_;                     // [2 * hidden, hidden]
  LinearWeights of_token_, of_label_, of_product_;  // [4 * hidden, hidden], the first with the bias
  LinearWeights scores_;                            // [3, 4 * hidden]: begins, ends, goes on
};

}  // namespace wattn
